import type { KeyboardEvent } from 'react';

export interface Place {
  readonly row: number;
  readonly column: number;
}

interface Bounds {
  readonly count: number;
  readonly columns: number;
  /** Rows of one view. */
  readonly page: number;
}

/** Where a key leads from a cell, or null for one that leads nowhere; beyond the edges, too. */
export function destination(
  { key, ctrlKey, metaKey }: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey'>,
  { row, column }: Place,
  { count, columns, page }: Bounds,
): Place | null {
  const far = ctrlKey || metaKey;
  switch (key) {
    case 'ArrowDown':
      return { row: far ? count - 1 : row + 1, column };
    case 'ArrowUp':
      return { row: far ? 0 : row - 1, column };
    case 'ArrowRight':
      return { row, column: far ? columns - 1 : column + 1 };
    case 'ArrowLeft':
      return { row, column: far ? 0 : column - 1 };
    case 'PageDown':
      return { row: row + page, column };
    case 'PageUp':
      return { row: row - page, column };
    case 'Home':
      return { row: far ? 0 : row, column: 0 };
    case 'End':
      return { row: far ? count - 1 : row, column: columns - 1 };
    default:
      return null;
  }
}
