import { Kbd } from '@mantine/core';
import type { ReactNode } from 'react';

const apple = /Mac|iP(hone|ad)/.test(navigator.platform);

/** A key combination as the machine's keyboard names it: `mod` is the command or control key. */
export function Keys({ of }: { of: string }): ReactNode {
  const text = of.replace('mod+', apple ? '⌘' : 'Ctrl ');
  return (
    <Kbd size="xs" aria-hidden="true">
      {text}
    </Kbd>
  );
}
