/** Where the columns of a grid stand, and which of them are drawn: of two hundred, those in view. */
import type { Field } from '@tablinum/client';

/** Pixels of what stands before every row: its box and the way to its page. */
export const rowHeaderWidth = 76;
/** Columns drawn beside those in view. */
const overscan = 2;
export interface DrawnColumn {
  readonly field: Field;
  readonly column: number;
  /** Its place among the tracks of the template. */
  readonly track: number;
}

export interface Tracks {
  readonly drawn: readonly DrawnColumn[];
  /** Of the drawn columns, and of the gaps between them. */
  readonly template: string;
}

export interface ColumnRange {
  readonly first: number;
  readonly last: number;
}

/** The left edge of each column, and the right one of the last. */
export function computeEdges(widths: readonly number[]): readonly number[] {
  let edge = rowHeaderWidth;
  return [edge, ...widths.map((width) => (edge += width))];
}

/** Pixels of all columns together, with the row header. */
export function getTotalWidth(edges: readonly number[]): number {
  return edges.at(-1) ?? rowHeaderWidth;
}

/** The left and right edge of a column. */
export function getColumnEdges(edges: readonly number[], column: number): { left: number; right: number } {
  const left = edges[column] ?? getTotalWidth(edges);
  return { left, right: edges[column + 1] ?? left };
}

/** Tracks for the columns that are drawn; what is left out between two of them is one track. */
export function buildTracks(columns: readonly number[], fields: readonly Field[], edges: readonly number[]): Tracks {
  const tracks = [rowHeaderWidth];
  let end = rowHeaderWidth;
  const drawn = columns.flatMap((column): DrawnColumn[] => {
    const field = fields[column];
    if (!field) return [];
    const { left, right } = getColumnEdges(edges, column);
    if (left > end) tracks.push(left - end);
    tracks.push(right - left);
    end = right;
    return [{ field, column, track: tracks.length }];
  });
  const rest = getTotalWidth(edges) - end;
  return { drawn, template: [...tracks, ...(rest > 0 ? [rest] : [])].map((each) => `${each}px`).join(' ') };
}

/** The columns that a stretch of pixels touches, and a few beside them. */
export function findColumnsBetween(edges: readonly number[], from: number, to: number): ColumnRange {
  const first = edges.findIndex((_, column) => (edges[column + 1] ?? Number.POSITIVE_INFINITY) > from);
  const after = edges.findIndex((edge) => edge >= to);
  const last = (after < 0 ? edges.length - 1 : after) - 1;
  return { first: Math.max(0, first - overscan), last: Math.min(edges.length - 2, last + overscan) };
}
