import { TextInput, type TextInputProps } from '@mantine/core';
import { type ReactNode, useEffect, useEffectEvent, useState } from 'react';
import { Icon } from './icon.tsx';

interface SearchInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  /** What is looked for now; from the address, as a rule. */
  readonly text: string;
  readonly go: (text: string) => void;
}

const pauseMilliseconds = 300;

/**
 * Looks for what is typed once the typing pauses. What comes back of it does not stand in the way of further typing.
 */
export function SearchInput({ text, go, ...rest }: SearchInputProps): ReactNode {
  const [typed, setTyped] = useState(text);
  const [previousText, setPreviousText] = useState(text);
  const [submittedText, setSubmittedText] = useState(text);
  if (text !== previousText) {
    setPreviousText(text);
    if (text !== submittedText) setTyped(text); // cleared or changed elsewhere
  }
  const send = useEffectEvent((next: string) => {
    setSubmittedText(next);
    go(next);
  });
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => send(typed), pauseMilliseconds);
    return () => clearTimeout(timer);
  }, [typed, text]);
  return (
    <TextInput
      type="search"
      leftSection={<Icon name="search" />}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      {...rest}
    />
  );
}
