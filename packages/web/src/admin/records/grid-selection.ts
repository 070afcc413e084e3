import type { Row } from '../../data/records/row-window.ts';
import type { GridProps } from './grid-props.ts';

export interface GridSelection {
  readonly isSelected: (row: Row) => boolean;
  /** How many of the loaded rows are selected. */
  readonly extent: 'all' | 'some' | 'none';
  readonly toggle: (row: Row) => void;
  /** Selects every loaded row, or none if all of them are selected. */
  readonly toggleLoaded: () => void;
  /** The selected rows that are loaded. */
  readonly listRows: () => Row[];
}

/** The selected rows of a grid. After `allSelected`, toggling one row selects the other loaded rows individually. */
export function createGridSelection({
  rows,
  selected,
  select,
  allSelected,
}: Pick<GridProps, 'rows' | 'selected' | 'select' | 'allSelected'>): GridSelection {
  const listLoadedKeys = () => rows.loaded().map(({ key }) => key);
  const loaded = selected.size > 0 ? rows.loaded() : [];
  const isAll = allSelected || (loaded.length > 0 && loaded.every((row) => selected.has(row.key)));
  return {
    isSelected: (row) => allSelected || selected.has(row.key),
    extent: isAll ? 'all' : selected.size > 0 ? 'some' : 'none',
    toggle: (row) => {
      const next = new Set(allSelected ? listLoadedKeys() : selected);
      if (!next.delete(row.key)) next.add(row.key);
      select(next);
    },
    toggleLoaded: () => select(new Set(isAll ? [] : listLoadedKeys())),
    listRows: () => (allSelected ? rows.loaded() : [...selected].flatMap((key) => rows.byKey(key) ?? [])),
  };
}
