/** How many rows a statement has visited, where the engine counts them. The count is kept next to the rows of its result. */
import type { Row } from './database.ts';

const visited = new WeakMap<readonly Row[], number>();

/** Stores how many rows the statement visited that returned these rows. */
export function noteVisitedRows(rows: readonly Row[], count: number): void {
  visited.set(rows, count);
}

/** About how many rows the statement visited that returned these rows; 0 if they were few, or if the engine does not count them. */
export function readVisitedRows(rows: readonly Row[]): number {
  return visited.get(rows) ?? 0;
}
