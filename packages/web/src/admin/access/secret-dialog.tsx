/** Shows a secret that the server returns only once. It is kept in memory until the dialog is closed. */
import { Alert, Button, Code, Group, Modal, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyField } from '../../ui/copy-field.tsx';
import { Icon } from '../../ui/icon.tsx';

interface SecretDialogProps {
  readonly title: string;
  readonly text: string;
  readonly label: string;
  /** The secret; null while the dialog is closed. */
  readonly secret: string | null;
  readonly usage?: { readonly text: string; readonly code: string };
  readonly doneLabel: string;
  readonly done: () => void;
}

export function SecretDialog({ title, text, label, secret, usage, doneLabel, done }: SecretDialogProps): ReactNode {
  return (
    <Modal
      opened={secret !== null}
      onClose={done}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
          {text}
        </Alert>
        <CopyField label={label} value={secret ?? ''} />
        {usage && (
          <div>
            <Text size="sm">{usage.text}</Text>
            <Code block>{usage.code}</Code>
          </div>
        )}
        <Group justify="flex-end">
          <Button onClick={done}>{doneLabel}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
