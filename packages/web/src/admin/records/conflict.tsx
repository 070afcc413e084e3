/** Shows both values of a field that two people changed. The dialog stays open until one is chosen. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import type { Field, RecordValues } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { DescriptionList } from '../../ui/description-list.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { CellValue } from './cell-value.tsx';

export interface Conflict {
  readonly field: Field;
  /** The record with the value that was entered here, and as the server has stored it. */
  readonly mine: RecordValues;
  readonly theirs: RecordValues;
  readonly saveMine: () => void;
}

interface ConflictDialogProps {
  readonly conflict: Conflict | null;
  readonly close: () => void;
}

export function ConflictDialog({ conflict, close }: ConflictDialogProps): ReactNode {
  const t = useTexts().data.records.conflict;
  return (
    <Modal
      opened={conflict !== null}
      onClose={close}
      title={t.title}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      {conflict && (
        <Stack>
          <Text>{t.text(getTitle(conflict.field))}</Text>
          <DescriptionList
            items={[
              [t.mine, <CellValue key="mine" field={conflict.field} values={conflict.mine} whole />],
              [t.theirs, <CellValue key="theirs" field={conflict.field} values={conflict.theirs} whole />],
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
              {t.saveMine}
            </Button>
            <Button data-autofocus onClick={close}>
              {t.keepTheirs}
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
