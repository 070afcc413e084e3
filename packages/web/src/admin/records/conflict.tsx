/** Two people at one field: what each of them means to say, and whose stays. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import type { Field } from '@tablinum/client';
import type { ReactNode } from 'react';
import { titleOf } from '../../data/schema.ts';
import { Facts } from '../../ui/facts.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { shownText } from './value-text.ts';

export interface Conflict {
  readonly field: Field;
  readonly mine: unknown;
  readonly theirs: unknown;
  readonly saveMine: () => void;
}

export function ConflictDialog({ conflict, close }: { conflict: Conflict | null; close: () => void }): ReactNode {
  const t = useTexts().data.records;
  return (
    <Modal opened={conflict !== null} onClose={close} title={t.conflict.title}>
      {conflict && (
        <Stack>
          <Text>{t.conflict.text(titleOf(conflict.field))}</Text>
          <Facts
            facts={[
              [t.conflict.mine, shownText(conflict.field, conflict.mine) || t.empty],
              [t.conflict.theirs, shownText(conflict.field, conflict.theirs) || t.empty],
            ]}
          />
          <Group justify="flex-end">
            <Button
              variant="default"
              onClick={() => {
                conflict.saveMine();
                close();
              }}
            >
              {t.conflict.saveMine}
            </Button>
            <Button data-autofocus onClick={close}>
              {t.conflict.keepTheirs}
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
