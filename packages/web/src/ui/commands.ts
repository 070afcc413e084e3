/** What the page that is open can do, so that the palette offers it too. */
import { useEffect } from 'react';
import type { IconName } from './icon.tsx';
import { useStore, ValueStore } from './store.ts';

export interface Command {
  readonly id: string;
  readonly label: string;
  readonly icon: IconName;
  /** The key that does the same, as people see it. */
  readonly keys?: string;
  readonly run: () => void;
}

const noCommands: readonly Command[] = [];
const pageCommands = new ValueStore(noCommands);

/** The commands of the page that is open. */
export function usePageCommands(): readonly Command[] {
  return useStore(pageCommands);
}

/** Offers commands while the page stands. The list must keep its identity while it says the same. */
export function useCommands(commands: readonly Command[]): void {
  useEffect(() => {
    pageCommands.set(commands);
    return () => pageCommands.set(noCommands);
  }, [commands]);
}
