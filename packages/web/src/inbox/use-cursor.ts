import { useEffect, useState } from 'react';
import { useScope } from '../data/queries.ts';
import { expectThread } from './data-mail.ts';
import type { Conversation } from './mail.ts';
import type { InboxAddress } from './use-inbox-address.ts';
import type { Selection } from './use-selection.ts';

export interface Cursor {
  /** The conversation at which keys act; null for none. */
  readonly at: number | null;
  open(id: number): void;
  openAt(): void;
  /** By so many rows; beside an open conversation the next one is opened. */
  step(by: number): void;
  /** Before rows leave the list: the next one takes their place. */
  stepOver(rows: readonly Conversation[]): void;
  /** One step back: from the selection, else from the open conversation. */
  back(): void;
  clear(): void;
  /** What a command is about: those selected, else the one at the cursor. */
  targets(): Conversation[];
}

interface CursorOf {
  readonly rows: readonly Conversation[];
  /** The open conversation, as far as it is read: a link may lead to one that the list does not show. */
  readonly thread: Conversation | undefined;
  readonly selection: Selection;
  readonly address: InboxAddress;
  readonly narrow: boolean;
}

/** Where in the list somebody is. */
export function useCursor({ rows, thread, selection, address, narrow }: CursorOf): Cursor {
  const scope = useScope();
  const { opened } = address;
  const [at, setAt] = useState<number | null>(opened);
  useEffect(() => {
    if (opened !== null) setAt(opened);
  }, [opened]);
  const open = (id: number): void => {
    setAt(id);
    address.open(id, opened !== null);
    const next = rows[rows.findIndex((row) => row.id === id) + 1];
    if (next) expectThread(scope, next.id);
  };
  return {
    at,
    open,
    openAt: () => {
      if (at !== null) open(at);
    },
    step: (by) => {
      const index = rows.findIndex(({ id }) => id === at);
      const next = rows[index < 0 ? 0 : Math.min(Math.max(index + by, 0), rows.length - 1)];
      if (!next || next.id === at) return;
      setAt(next.id);
      if (opened !== null) open(next.id);
      else {
        expectThread(scope, next.id);
        requestAnimationFrame(() => focusRow(next.id));
      }
    },
    stepOver: (gone) => {
      const ids = new Set(gone.map(({ id }) => id));
      const index = rows.findIndex(({ id }) => ids.has(id));
      const stays = (row: Conversation): boolean => !ids.has(row.id);
      const next = index < 0 ? undefined : (rows.slice(index).find(stays) ?? rows.slice(0, index).findLast(stays));
      selection.clear();
      setAt(next?.id ?? null);
      if (opened !== null && ids.has(opened)) address.open(next && !narrow ? next.id : null, true);
      // The row that had the focus goes: it would fall to the page.
      else if (next) requestAnimationFrame(() => focusRow(next.id));
    },
    back: () => {
      if (selection.ids.size > 0) return selection.clear();
      if (opened === null) return;
      address.open(null);
      if (at !== null) requestAnimationFrame(() => focusRow(at));
    },
    clear: () => setAt(null),
    targets: () => {
      if (selection.ids.size > 0) return rows.filter(({ id }) => selection.ids.has(id));
      const row = rows.find(({ id }) => id === (opened ?? at)) ?? (opened === null ? undefined : thread);
      return row ? [row] : [];
    },
  };
}

function focusRow(id: number): void {
  document.querySelector<HTMLElement>(`[data-conversation="${id}"] a`)?.focus({ preventScroll: true });
}
