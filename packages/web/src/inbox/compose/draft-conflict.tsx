import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import classes from './composer.module.css';
import type { Conflict, DraftSession } from './draft-session.ts';

/** The draft has gone on elsewhere: both texts stand here until its writer has chosen. */
export function DraftConflict({ conflict, session }: { conflict: Conflict; session: DraftSession }): ReactNode {
  const t = useInboxTexts().compose.conflict;
  const gone = conflict.kind === 'gone';
  return (
    <Alert color="yellow" variant="light" role="alert" icon={<Icon name="warning" />} title={gone ? t.gone : t.title}>
      <Stack gap="xs">
        <Text size="sm">{gone ? t.goneText : t.text}</Text>
        {!gone && (
          <section aria-label={t.theirs} className={classes.theirs}>
            <b>{conflict.theirs.subject}</b>
            <pre>{conflict.theirs.text}</pre>
          </section>
        )}
        <Group gap="xs">
          <Button size="compact-sm" onClick={() => void session.settle('mine')}>
            {gone ? t.saveAnew : t.keepMine}
          </Button>
          {!gone && (
            <>
              <Button size="compact-sm" variant="default" onClick={() => void session.settle('both')}>
                {t.keepBoth}
              </Button>
              <Button size="compact-sm" variant="default" onClick={() => void session.settle('theirs')}>
                {t.takeTheirs}
              </Button>
            </>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}
