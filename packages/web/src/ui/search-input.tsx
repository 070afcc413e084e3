import { TextInput, type TextInputProps } from '@mantine/core';
import { type ReactNode, useEffect, useEffectEvent, useState } from 'react';
import { Icon } from './icon.tsx';

interface SearchInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  /** The current search text, usually from the URL. */
  readonly text: string;
  readonly go: (text: string) => void;
}

const pauseMilliseconds = 300;

/** A search input that searches when the user stops typing. Results do not change the text while the user is typing. */
export function SearchInput({ text, go, ...rest }: SearchInputProps): ReactNode {
  const [typed, setTyped] = useState(text);
  const [previousText, setPreviousText] = useState(text);
  const [submittedText, setSubmittedText] = useState(text);
  if (text !== previousText) {
    setPreviousText(text);
    if (text !== submittedText) setTyped(text); // the text was changed from outside
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
