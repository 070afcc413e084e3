import type { Field } from '@tablinum/client';
import { type RefObject, useLayoutEffect, useMemo, useState } from 'react';
import {
  buildTracks,
  type ColumnRange,
  computeEdges,
  findColumnsBetween,
  getColumnEdges,
  getTotalWidth,
  rowHeaderWidth,
  type Tracks,
} from './column-tracks.ts';
import { type ColumnChoice, getColumnWidth } from './columns.ts';

/** From this width on, the first column stays visible while the grid is scrolled sideways. */
const wideScreenQuery = '(min-width: 48em)';

export interface ColumnLayout extends Tracks {
  /** Pixels of all columns. */
  readonly width: number;
  /** Scrolls until a column is in view. */
  readonly scrollToColumn: (column: number) => void;
}

/** @param retainedColumn a column that is always drawn because it is being edited; -1 for none. */
export function useColumnLayout(
  scroller: RefObject<HTMLElement | null>,
  fields: readonly Field[],
  choice: ColumnChoice,
  retainedColumn: number,
): ColumnLayout {
  const edges = useMemo(() => computeEdges(fields.map((field) => getColumnWidth(field, choice))), [fields, choice]);
  const { first, last } = useRange(scroller, edges);
  const { drawn, template } = useMemo(() => {
    const range = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
    const columns = [...new Set([0, ...range, ...(retainedColumn < 0 ? [] : [retainedColumn])])].filter(
      (column) => column < fields.length,
    );
    return buildTracks(
      columns.sort((a, b) => a - b),
      fields,
      edges,
    );
  }, [fields, edges, first, last, retainedColumn]);
  const scrollToColumn = (column: number): void => {
    if (scroller.current) scroller.current.scrollLeft = computeScrollLeft(scroller.current, edges, column);
  };
  return { drawn, template, width: getTotalWidth(edges), scrollToColumn };
}

function useRange(scroller: RefObject<HTMLElement | null>, edges: readonly number[]): ColumnRange {
  const [range, setRange] = useState<ColumnRange>(() => findColumnsBetween(edges, 0, innerWidth));
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const updateRange = (): void => {
      const next = findColumnsBetween(edges, element.scrollLeft, element.scrollLeft + element.clientWidth);
      setRange((now) => (now.first === next.first && now.last === next.last ? now : next));
    };
    updateRange();
    element.addEventListener('scroll', updateRange, { passive: true });
    const observer = new ResizeObserver(updateRange);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', updateRange);
      observer.disconnect();
    };
  }, [scroller, edges]);
  return range;
}

/** The scroll position at which a column is visible and not covered by the sticky columns at the left. */
function computeScrollLeft(element: HTMLElement, edges: readonly number[], column: number): number {
  const sticky = matchMedia(wideScreenQuery).matches ? getColumnEdges(edges, 0).right : rowHeaderWidth;
  const { scrollLeft, clientWidth } = element;
  const { left, right } = getColumnEdges(edges, column);
  if (column === 0 && sticky > rowHeaderWidth) return scrollLeft;
  if (left - sticky < scrollLeft) return left - sticky;
  return right > scrollLeft + clientWidth ? right - clientWidth : scrollLeft;
}
