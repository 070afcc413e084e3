import { useEffect, useState } from 'react';
import { useScope } from '../data/queries.ts';
import { prefetchThread } from './mail-queries.ts';
import type { Conversation } from './mail-types.ts';
import type { InboxAddress } from './use-inbox-address.ts';
import type { Selection } from './use-selection.ts';

export interface Cursor {
  /** The conversation that keyboard commands apply to; null for none. */
  readonly current: number | null;
  open(id: number): void;
  openCurrent(): void;
  /** Moves the cursor by a number of rows. If a conversation is open, the new one is opened. */
  step(offset: number): void;
  /** Moves the cursor to the next row before rows are removed from the list. */
  skip(rows: readonly Conversation[]): void;
  /** Clears the selection, else closes the open conversation. */
  back(): void;
  clear(): void;
  /** The conversations that a command applies to: the selected ones, else the one at the cursor. */
  targets(): Conversation[];
}

interface CursorOptions {
  readonly rows: readonly Conversation[];
  /** The open conversation, if it has been loaded. A link can open one that is not in the list. */
  readonly thread: Conversation | undefined;
  readonly selection: Selection;
  readonly address: InboxAddress;
  readonly isNarrow: boolean;
}

/** The position of the user in the list. */
export function useCursor({ rows, thread, selection, address, isNarrow }: CursorOptions): Cursor {
  const scope = useScope();
  const { opened } = address;
  const [current, setCurrent] = useState<number | null>(opened);
  useEffect(() => {
    if (opened !== null) setCurrent(opened);
  }, [opened]);
  const open = (id: number): void => {
    setCurrent(id);
    address.open(id, opened !== null);
    const next = rows[rows.findIndex((row) => row.id === id) + 1];
    if (next) prefetchThread(scope, next.id);
  };
  return {
    current,
    open,
    openCurrent: () => {
      if (current !== null) open(current);
    },
    step: (offset) => {
      const index = rows.findIndex(({ id }) => id === current);
      const next = rows[index < 0 ? 0 : Math.min(Math.max(index + offset, 0), rows.length - 1)];
      if (!next || next.id === current) return;
      setCurrent(next.id);
      if (opened !== null) open(next.id);
      else {
        prefetchThread(scope, next.id);
        requestAnimationFrame(() => focusRow(next.id));
      }
    },
    skip: (removed) => {
      const ids = new Set(removed.map(({ id }) => id));
      const index = rows.findIndex(({ id }) => ids.has(id));
      const isRemaining = (row: Conversation): boolean => !ids.has(row.id);
      const next =
        index < 0 ? undefined : (rows.slice(index).find(isRemaining) ?? rows.slice(0, index).findLast(isRemaining));
      selection.clear();
      setCurrent(next?.id ?? null);
      if (opened !== null && ids.has(opened)) address.open(next && !isNarrow ? next.id : null, true);
      // The focused row is removed, so the focus moves to the next row.
      else if (next) requestAnimationFrame(() => focusRow(next.id));
    },
    back: () => {
      if (selection.ids.size > 0) return selection.clear();
      if (opened === null) return;
      address.open(null);
      if (current !== null) requestAnimationFrame(() => focusRow(current));
    },
    clear: () => setCurrent(null),
    targets: () => {
      if (selection.ids.size > 0) return rows.filter(({ id }) => selection.ids.has(id));
      const row = rows.find(({ id }) => id === (opened ?? current)) ?? (opened === null ? undefined : thread);
      return row ? [row] : [];
    },
  };
}

function focusRow(id: number): void {
  document.querySelector<HTMLElement>(`[data-conversation="${id}"] a`)?.focus({ preventScroll: true });
}
