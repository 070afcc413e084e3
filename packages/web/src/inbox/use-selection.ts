import { useMemo, useState } from 'react';
import type { Conversation } from './mail-types.ts';

export interface Selection {
  readonly ids: ReadonlySet<number>;
  /** With `range`, selects all rows up to the one that was toggled last. */
  toggle(id: number, range?: boolean): void;
  clear(): void;
  all(): void;
}

/** The selected conversations of a list, without those that are no longer in it. */
export function useSelection(rows: readonly Conversation[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const [last, setLast] = useState<number | null>(null);
  const ids = useMemo(
    () => (chosen.size === 0 ? chosen : new Set(rows.filter(({ id }) => chosen.has(id)).map(({ id }) => id))),
    [rows, chosen],
  );
  const toggle = (id: number, range = false): void => {
    const next = new Set(ids);
    const from = rows.findIndex((row) => row.id === last);
    const to = rows.findIndex((row) => row.id === id);
    if (range && from >= 0 && to >= 0)
      for (const row of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(row.id);
    else if (!next.delete(id)) next.add(id);
    setChosen(next);
    setLast(id);
  };
  return {
    ids,
    toggle,
    clear: () => setChosen(new Set()),
    all: () => setChosen(new Set(rows.map(({ id }) => id))),
  };
}
