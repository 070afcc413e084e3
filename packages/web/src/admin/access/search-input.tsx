import { TextInput, type TextInputProps } from '@mantine/core';
import { type ReactNode, useEffect, useEffectEvent, useState } from 'react';
import { Icon } from '../../ui/icon.tsx';

interface SearchInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  readonly text: string;
  readonly go: (text: string) => void;
}

const pauseMilliseconds = 300;

/** Looks for what is typed once the typing pauses. */
export function SearchInput({ text, go, ...rest }: SearchInputProps): ReactNode {
  const [typed, setTyped] = useState(text);
  const send = useEffectEvent(go);
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
