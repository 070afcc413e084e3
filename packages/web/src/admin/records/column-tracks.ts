/** The positions of grid columns, and which of them are drawn: only the visible ones. */
import type { Field } from '@tablinum/client';

/** Pixels of the row header, which contains the checkbox and the link to the record. */
export const rowHeaderWidth = 76;
/** Columns drawn to the left and right of the visible ones. */
const overscan = 2;
export interface DrawnColumn {
  readonly field: Field;
  readonly column: number;
  /** Its position in the grid template, from 1. */
  readonly track: number;
}

export interface Tracks {
  readonly drawn: readonly DrawnColumn[];
  /** The tracks of the drawn columns and of the gaps between them, as `grid-template-columns`. */
  readonly template: string;
}

export interface ColumnRange {
  readonly first: number;
  readonly last: number;
}

/** The left edge of each column and the right edge of the last one, in pixels. */
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

/** Builds the tracks of the drawn columns. The columns that are left out between two of them share one track. */
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

/** The columns in a range of pixels, and a few next to them. */
export function findColumnsBetween(edges: readonly number[], from: number, to: number): ColumnRange {
  const first = edges.findIndex((_, column) => (edges[column + 1] ?? Number.POSITIVE_INFINITY) > from);
  const after = edges.findIndex((edge) => edge >= to);
  const last = (after < 0 ? edges.length - 1 : after) - 1;
  return { first: Math.max(0, first - overscan), last: Math.min(edges.length - 2, last + overscan) };
}
