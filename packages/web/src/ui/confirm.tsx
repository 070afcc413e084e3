/** Asks for a confirmation before an action that cannot be undone: `if (await confirm({…}))`. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { useTexts } from './i18n/texts.tsx';
import { useStore, ValueStore } from './store.ts';

interface Question {
  readonly title: string;
  readonly text: ReactNode;
  /** The label of the button: the action, not "OK". */
  readonly confirmLabel: string;
  /** A text that must be typed first, for the most dangerous actions. */
  readonly typed?: string;
  /** The action deletes something. */
  readonly danger?: boolean;
}

interface PendingQuestion extends Question {
  readonly settle: (yes: boolean) => void;
}

const pendingQuestion = new ValueStore<PendingQuestion | null>(null);

export function confirm(question: Question): Promise<boolean> {
  pendingQuestion.state?.settle(false);
  return new Promise((resolve) => {
    const settle = (yes: boolean): void => {
      pendingQuestion.set(null);
      resolve(yes);
    };
    pendingQuestion.set({ ...question, settle });
  });
}

/** The dialog of {@link confirm}. It is rendered once, next to the pages. */
export function ConfirmHost(): ReactNode {
  const question = useStore(pendingQuestion);
  // A question to one user is not shown to the next one.
  useEffect(() => () => pendingQuestion.state?.settle(false), []);
  return (
    <Modal opened={question !== null} onClose={() => question?.settle(false)} title={question?.title} size="md">
      {question && <ConfirmForm question={question} />}
    </Modal>
  );
}

function ConfirmForm({ question }: { question: PendingQuestion }): ReactNode {
  const t = useTexts().common;
  const [typed, setTyped] = useState('');
  const isReady = question.typed === undefined || typed === question.typed;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) question.settle(true);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {typeof question.text === 'string' ? <Text>{question.text}</Text> : question.text}
        {question.typed !== undefined && (
          <TextInput
            label={t.confirmTyping(question.typed)}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={() => question.settle(false)}>
            {t.cancel}
          </Button>
          <Button type="submit" {...(question.danger && { color: 'red.9' })} disabled={!isReady}>
            {question.confirmLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
