/** What the page that is open can do, so that the palette offers it too. */
import { useEffect, useSyncExternalStore } from 'react';
import type { IconName } from './icon.tsx';

export interface Command {
  readonly id: string;
  readonly label: string;
  readonly icon: IconName;
  /** The key that does the same, as people see it. */
  readonly keys?: string;
  readonly run: () => void;
}

let pageCommands: readonly Command[] = [];
const listeners = new Set<() => void>();

function setPageCommands(next: readonly Command[]): void {
  pageCommands = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The commands of the page that is open. */
export function usePageCommands(): readonly Command[] {
  return useSyncExternalStore(subscribe, () => pageCommands);
}

/** Offers commands while the page stands. The list must keep its identity while it says the same. */
export function useCommands(commands: readonly Command[]): void {
  useEffect(() => {
    setPageCommands(commands);
    return () => setPageCommands([]);
  }, [commands]);
}
