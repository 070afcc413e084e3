/** The parts of a file: the rows that one transaction imports. */
import { limits } from '../../protocol/limits.ts';
import { showCell } from '../read/cell-value.ts';
import type { SourceRow } from '../read/table-source.ts';

/** The characters of all cells of a row. */
export function measureRow({ cells }: SourceRow): number {
  return cells.reduce((sum, cell) => sum + (showCell(cell)?.length ?? 0), 0);
}

/**
 * Groups rows into parts of {@link limits.importRows}; the last one has the rest. A part has fewer rows if they would have more than
 * {@link limits.importPartLength} characters.
 */
export async function* groupIntoParts(
  batches: AsyncIterable<readonly SourceRow[]>,
): AsyncGenerator<readonly SourceRow[]> {
  let part: SourceRow[] = [];
  let length = 0;
  for await (const batch of batches)
    for (const row of batch) {
      const rowLength = measureRow(row);
      const isFull = part.length === limits.importRows || length + rowLength > limits.importPartLength;
      if (isFull && part.length > 0) {
        yield part;
        [part, length] = [[], 0];
      }
      part.push(row);
      length += rowLength;
    }
  if (part.length > 0) yield part;
}
