import { Kbd } from '@mantine/core';
import type { ReactNode } from 'react';

const isApple = /Mac|iP(hone|ad)/.test(navigator.platform);

/** Shows a key combination for the current platform: `mod` is the command or control key. Phones have no keys. */
export function ShortcutKbd({ keys }: { keys: string }): ReactNode {
  const text = keys.replace('mod+', isApple ? '⌘' : 'Ctrl ');
  return (
    <Kbd size="xs" aria-hidden="true" visibleFrom="sm">
      {text}
    </Kbd>
  );
}
