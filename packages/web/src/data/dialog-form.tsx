import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { FormProblem } from './problem.tsx';

interface DialogFormProps {
  /** What the form does when it is sent. */
  readonly write: { readonly mutate: () => void; readonly isPending: boolean; readonly error: Error | null };
  /** The word for it. */
  readonly submitLabel: string;
  readonly cancel: () => void;
  /** False where something is still to be given. */
  readonly isReady?: boolean;
  readonly children: ReactNode;
}

/** The form in a dialog: its fields, what was refused, and both ways out. */
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
          <Button type="submit" loading={write.isPending} disabled={!isReady}>
            {submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
