import type { KeyboardEvent } from 'react';

export interface CellPosition {
  readonly row: number;
  readonly column: number;
}

interface Bounds {
  readonly count: number;
  readonly columns: number;
  /** The number of rows that are visible at once. */
  readonly page: number;
}

/** The cell that a key moves to; it can be outside of the grid. Null for keys that do not move. */
export function findDestination(
  { key, ctrlKey, metaKey }: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey'>,
  { row, column }: CellPosition,
  { count, columns, page }: Bounds,
): CellPosition | null {
  const isJump = ctrlKey || metaKey;
  switch (key) {
    case 'ArrowDown':
      return { row: isJump ? count - 1 : row + 1, column };
    case 'ArrowUp':
      return { row: isJump ? 0 : row - 1, column };
    case 'ArrowRight':
      return { row, column: isJump ? columns - 1 : column + 1 };
    case 'ArrowLeft':
      return { row, column: isJump ? 0 : column - 1 };
    case 'PageDown':
      return { row: row + page, column };
    case 'PageUp':
      return { row: row - page, column };
    case 'Home':
      return { row: isJump ? 0 : row, column: 0 };
    case 'End':
      return { row: isJump ? count - 1 : row, column: columns - 1 };
    default:
      return null;
  }
}
