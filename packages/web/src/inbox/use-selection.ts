import { useState } from 'react';
import type { Conversation } from './mail.ts';

export interface Selection {
  readonly ids: ReadonlySet<number>;
  /** With `range` all up to the one that was chosen before. */
  toggle(id: number, range?: boolean): void;
  clear(): void;
  all(): void;
}

/** Which conversations of a list are chosen. */
export function useSelection(rows: readonly Conversation[]): Selection {
  const [ids, setIds] = useState<ReadonlySet<number>>(new Set());
  const [last, setLast] = useState<number | null>(null);
  const toggle = (id: number, range = false): void => {
    const next = new Set(ids);
    const from = rows.findIndex((row) => row.id === last);
    const to = rows.findIndex((row) => row.id === id);
    if (range && from >= 0 && to >= 0)
      for (const row of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(row.id);
    else if (!next.delete(id)) next.add(id);
    setIds(next);
    setLast(id);
  };
  return {
    ids,
    toggle,
    clear: () => setIds(new Set()),
    all: () => setIds(new Set(rows.map(({ id }) => id))),
  };
}
