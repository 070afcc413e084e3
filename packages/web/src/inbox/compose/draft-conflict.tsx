import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import classes from './composer.module.css';
import type { DraftSession } from './draft-session.ts';
import type { Conflict } from './draft-state.ts';

/** Shows both versions of a draft that was changed elsewhere, until the user has chosen. */
export function DraftConflict({ conflict, session }: { conflict: Conflict; session: DraftSession }): ReactNode {
  const t = useInboxTexts().compose.conflict;
  const isDeleted = conflict.kind === 'gone';
  return (
    <Alert
      color="yellow"
      variant="light"
      role="alert"
      icon={<Icon name="warning" />}
      title={isDeleted ? t.gone : t.title}
    >
      <Stack gap="xs">
        <Text size="sm">{isDeleted ? t.goneText : t.text}</Text>
        {!isDeleted && (
          <section aria-label={t.theirs} className={classes.theirs}>
            <b>{conflict.theirs.subject}</b>
            <pre>{conflict.theirs.text}</pre>
          </section>
        )}
        <Group gap="xs">
          <Button size="compact-sm" onClick={() => void session.resolveConflict('mine')}>
            {isDeleted ? t.saveAsNew : t.keepMine}
          </Button>
          {!isDeleted && (
            <>
              <Button size="compact-sm" variant="default" onClick={() => void session.resolveConflict('both')}>
                {t.keepBoth}
              </Button>
              <Button size="compact-sm" variant="default" onClick={() => void session.resolveConflict('theirs')}>
                {t.takeTheirs}
              </Button>
            </>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}
