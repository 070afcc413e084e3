import type { Key } from '@tablinum/client';
import { useState } from 'react';

export interface RecordSelection {
  /** The selected keys; empty while `allSelected` is true. */
  readonly selected: ReadonlySet<Key>;
  /** Every record of the list is selected, loaded or not. */
  readonly allSelected: boolean;
  readonly select: (keys: ReadonlySet<Key>) => void;
  readonly selectAll: () => void;
  readonly clear: () => void;
}

export function useRecordSelection(): RecordSelection {
  const [selected, setSelected] = useState<ReadonlySet<Key>>(new Set());
  const [allSelected, setAllSelected] = useState(false);
  const select = (keys: ReadonlySet<Key>): void => {
    setAllSelected(false);
    setSelected(keys);
  };
  return {
    selected,
    allSelected,
    select,
    selectAll: () => setAllSelected(true),
    clear: () => select(new Set()),
  };
}
