import type { Field } from '@tablinum/client';
import { type RefObject, useLayoutEffect, useMemo, useState } from 'react';
import { type ColumnRange, columnsBetween, edgesOf, leadWidth, type Tracks, tracksOf } from './column-tracks.ts';
import { type ColumnChoice, widthOf } from './columns.ts';

/** Where the first column stays in view; narrower screens need the room. */
const wideScreen = '(min-width: 48em)';

export interface ColumnLayout extends Tracks {
  /** Pixels of all columns. */
  readonly width: number;
  /** Scrolls until a column is in view. */
  readonly show: (column: number) => void;
}

/** @param kept a column that stays drawn wherever it is: the one that is edited; -1 for none. */
export function useColumnLayout(
  scroller: RefObject<HTMLElement | null>,
  fields: readonly Field[],
  choice: ColumnChoice,
  kept: number,
): ColumnLayout {
  const edges = useMemo(() => edgesOf(fields.map((field) => widthOf(field, choice))), [fields, choice]);
  const { first, last } = useRange(scroller, edges);
  const { drawn, template } = useMemo(() => {
    const range = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
    const columns = [...new Set([0, ...range, ...(kept < 0 ? [] : [kept])])].filter((column) => column < fields.length);
    return tracksOf(
      columns.sort((a, b) => a - b),
      fields,
      edges,
    );
  }, [fields, edges, first, last, kept]);
  const show = (column: number): void => {
    if (scroller.current) scroller.current.scrollLeft = scrolledTo(scroller.current, edges, column);
  };
  return { drawn, template, width: edges.at(-1)!, show };
}

function useRange(scroller: RefObject<HTMLElement | null>, edges: readonly number[]): ColumnRange {
  const [range, setRange] = useState<ColumnRange>(() => columnsBetween(edges, 0, innerWidth));
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = (): void => {
      const next = columnsBetween(edges, element.scrollLeft, element.scrollLeft + element.clientWidth);
      setRange((now) => (now.first === next.first && now.last === next.last ? now : next));
    };
    look();
    element.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      observer.disconnect();
    };
  }, [scroller, edges]);
  return range;
}

/** What stays in view at the left covers nothing that is asked for. */
function scrolledTo(element: HTMLElement, edges: readonly number[], column: number): number {
  const sticky = matchMedia(wideScreen).matches ? edges[1]! : leadWidth;
  const { scrollLeft, clientWidth } = element;
  const [left, right] = [edges[column]!, edges[column + 1]!];
  if (column === 0 && sticky > leadWidth) return scrollLeft;
  if (left - sticky < scrollLeft) return left - sticky;
  return right > scrollLeft + clientWidth ? right - clientWidth : scrollLeft;
}
