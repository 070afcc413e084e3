import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { PendingButton } from '../ui/pending-button.tsx';
import { FormProblem } from './problem.tsx';

interface DialogFormProps {
  /** The mutation that the form runs when it is submitted. */
  readonly write: { readonly mutate: () => void; readonly isPending: boolean; readonly error: Error | null };
  /** The label of the submit button. */
  readonly submitLabel: string;
  readonly cancel: () => void;
  /** False while required input is missing. */
  readonly isReady?: boolean;
  readonly children: ReactNode;
}

/** The form of a dialog: its fields, its error, and the buttons to submit and cancel. */
export function DialogForm({ write, submitLabel, cancel, isReady = true, children }: DialogFormProps): ReactNode {
  const t = useTexts().common;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    write.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {children}
        <FormProblem error={write.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={cancel}>
            {t.cancel}
          </Button>
          <PendingButton type="submit" pending={write.isPending} disabled={!isReady}>
            {submitLabel}
          </PendingButton>
        </Group>
      </Stack>
    </form>
  );
}
