/** Asks before what cannot be taken back: `if (await confirm({…}))`. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { useTexts } from './i18n/texts.tsx';

interface Question {
  readonly title: string;
  readonly text: ReactNode;
  /** What the button says: the act, not "OK". */
  readonly act: string;
  /** Has to be typed first, for what many would miss. */
  readonly typed?: string;
  /** The act destroys something. */
  readonly danger?: boolean;
}

interface Asked extends Question {
  readonly answer: (yes: boolean) => void;
}

let asked: Asked | null = null;
const listeners = new Set<() => void>();

function change(next: Asked | null): void {
  asked = next;
  for (const listener of listeners) listener();
}

export function confirm(question: Question): Promise<boolean> {
  asked?.answer(false);
  return new Promise((resolve) => {
    const answer = (yes: boolean): void => {
      change(null);
      resolve(yes);
    };
    change({ ...question, answer });
  });
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Stands once, beside the pages. */
export function ConfirmHost(): ReactNode {
  const question = useSyncExternalStore(subscribe, () => asked);
  // Whoever signs in next is not asked what the one before was.
  useEffect(() => () => asked?.answer(false), []);
  return (
    <Modal opened={question !== null} onClose={() => question?.answer(false)} title={question?.title} size="md">
      {question && <Answer question={question} />}
    </Modal>
  );
}

function Answer({ question }: { question: Asked }): ReactNode {
  const t = useTexts().common;
  const [typed, setTyped] = useState('');
  const ready = question.typed === undefined || typed === question.typed;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (ready) question.answer(true);
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
          <Button variant="default" onClick={() => question.answer(false)}>
            {t.cancel}
          </Button>
          <Button type="submit" {...(question.danger && { color: 'red.9' })} disabled={!ready}>
            {question.act}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
