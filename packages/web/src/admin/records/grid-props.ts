import type { Collection, Field, Key } from '@tablinum/client';
import type { RefObject } from 'react';
import type { Row, RowWindow } from '../../data/records/row-window.ts';
import type { CellWrite } from './cell-write.ts';
import type { ColumnChoice } from './columns.ts';
import type { CellPosition } from './grid-navigation.ts';

/** Pixels of a row. */
export const rowHeight = 34;
/** Browsers cannot lay out elements taller than about fifteen million pixels. */
export const maxRows = 400_000;

export interface GridProps {
  readonly collection: Collection;
  readonly rows: RowWindow;
  /** The columns, in their order. */
  readonly fields: readonly Field[];
  readonly choice: ColumnChoice;
  readonly changeChoice: (choice: ColumnChoice) => void;
  readonly sort: readonly string[];
  readonly changeSort: (sort: readonly string[]) => void;
  readonly selected: ReadonlySet<Key>;
  readonly select: (keys: ReadonlySet<Key>) => void;
  /** Every record of the list is selected, loaded or not; `selected` is empty then. */
  readonly allSelected: boolean;
  /** Identifies the list. The scroll position is stored and restored under this key. */
  readonly positionKey: string;
  /** Whether the cells of a field can be edited. */
  readonly editable: (field: Field) => boolean;
  readonly save: (row: Row, field: Field, write: CellWrite) => void;
  readonly open: (row: Row) => void;
  /** Pastes text at a cell; null if the role can write no cells. */
  readonly paste: ((active: CellPosition, text: string) => void) | null;
  /** Undoes the last paste. @returns false if there is none. */
  readonly undo: () => boolean;
  /** Repeats the paste that was undone last. @returns false if there is none. */
  readonly redo: () => boolean;
  /** The grid keeps its active cell here, for tools outside of it. */
  readonly activeCell: RefObject<CellPosition>;
}

/** An open cell editor. */
export interface Editing {
  readonly position: CellPosition;
  /** The row as it was when the editor was opened. Its version is the base of the write. */
  readonly row: Row;
  /** The key that opened the editor and replaces the value; null keeps the value. */
  readonly typed: string | null;
}
