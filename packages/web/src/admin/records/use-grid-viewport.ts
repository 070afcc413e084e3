import { defaultRangeExtractor, useVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from 'react';
import { pageSize } from '../../data/records/row-window.ts';
import { useStore } from '../../ui/store.ts';
import { type ColumnLayout, useColumnLayout } from './grid-columns.ts';
import type { CellPosition } from './grid-navigation.ts';
import { type Editing, type GridProps, maxRows, rowHeight } from './grid-props.ts';
import { getRememberedPosition } from './view-memory.ts';

/** Rows drawn above and below the visible ones. */
const overscan = 10;

export interface GridViewport extends Omit<ColumnLayout, 'scrollToColumn'> {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly virtual: Virtualizer<HTMLDivElement, Element>;
  /** Rows that can be scrolled to. */
  readonly count: number;
  /** The index of the row that is being edited, if there is one. */
  readonly editedRow: number | undefined;
  readonly focus: () => void;
  readonly scrollTo: (position: CellPosition) => void;
}

/**
 * The rows and columns that are visible. Reads the rows that are scrolled to and restores the scroll position of the
 * list.
 */
export function useGridViewport(
  { rows, fields, choice, positionKey }: Pick<GridProps, 'rows' | 'fields' | 'choice' | 'positionKey'>,
  editing: Editing | null,
): GridViewport {
  const scroller = useRef<HTMLDivElement>(null);
  const count = Math.min(useStore(rows).count ?? 0, maxRows);
  // The editor follows its record when the order of the list changes.
  const foundIndex = editing ? rows.indexOf(editing.row.key) : -1;
  const editedRow = foundIndex >= 0 ? foundIndex : editing?.position.row;
  const { scrollToColumn, ...columns } = useColumnLayout(scroller, fields, choice, editing?.position.column ?? -1);
  const virtual = useVirtualizer<HTMLDivElement, Element>({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan,
    scrollPaddingStart: rowHeight,
    // The edited row stays in the document: the text of its editor is stored nowhere else.
    rangeExtractor: (range) => includeRow(defaultRangeExtractor(range), editedRow, count),
  });
  useLayoutEffect(() => {
    if (scroller.current) scroller.current.scrollTop = getRememberedPosition(positionKey);
  }, [positionKey]);
  // The range is only known after the items have been computed.
  virtual.getVirtualItems();
  const first = Math.max(0, (virtual.range?.startIndex ?? 0) - overscan);
  const last = Math.min(Math.max(0, count - 1), (virtual.range?.endIndex ?? 0) + overscan);
  useEffect(
    () => rows.ensure(first - pageSize / 4, Math.min(last + pageSize / 2, Math.max(count - 1, 0))),
    [rows, first, last, count],
  );
  const focus = useCallback(() => scroller.current?.focus({ preventScroll: true }), []);
  const scrollTo = ({ row, column }: CellPosition): void => {
    virtual.scrollToIndex(row, { align: 'auto' });
    scrollToColumn(column);
  };
  return { ...columns, scroller, virtual, count, editedRow, focus, scrollTo };
}

/** The drawn rows, with the given one added where it is missing. */
function includeRow(rows: number[], row: number | undefined, count: number): number[] {
  return row === undefined || row >= count || rows.includes(row) ? rows : [...rows, row].sort((a, b) => a - b);
}
