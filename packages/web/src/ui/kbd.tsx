import { Kbd } from '@mantine/core';
import type { ReactNode } from 'react';

const isApple = /Mac|iP(hone|ad)/.test(navigator.platform);

/** A key combination as the machine's keyboard names it: `mod` is the command or control key. */
export function ShortcutKbd({ keys }: { keys: string }): ReactNode {
  const text = keys.replace('mod+', isApple ? '⌘' : 'Ctrl ');
  return (
    <Kbd size="xs" aria-hidden="true">
      {text}
    </Kbd>
  );
}
