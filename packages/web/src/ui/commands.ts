/** The commands of the current page, which the command palette also offers. */
import { useEffect } from 'react';
import type { IconName } from './icon.tsx';
import { useStore, ValueStore } from './store.ts';

export interface Command {
  readonly id: string;
  readonly label: string;
  readonly icon: IconName;
  /** The shortcut as it is shown to users. */
  readonly keys?: string;
  readonly run: () => void;
}

const noCommands: readonly Command[] = [];
const pageCommands = new ValueStore(noCommands);

/** The commands of the current page. */
export function usePageCommands(): readonly Command[] {
  return useStore(pageCommands);
}

/** Offers commands while the page is mounted. The list must keep its identity while it does not change. */
export function useCommands(commands: readonly Command[]): void {
  useEffect(() => {
    pageCommands.set(commands);
    return () => pageCommands.set(noCommands);
  }, [commands]);
}
