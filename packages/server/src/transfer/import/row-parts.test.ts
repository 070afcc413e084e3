import { expect, test } from 'vitest';
import { limits } from '../../protocol/limits.ts';
import type { SourceRow } from '../read/table-source.ts';
import { groupIntoParts } from './row-parts.ts';

async function* inBatches(rows: readonly SourceRow[], size: number): AsyncGenerator<readonly SourceRow[]> {
  for (let from = 0; from < rows.length; from += size) yield rows.slice(from, from + size);
}

const makeRows = (count: number, length: number): SourceRow[] =>
  Array.from({ length: count }, (_, line) => ({ line, cells: ['x'.repeat(length), null] }));

test.each([
  ['short rows in transactions of a thousand', makeRows(2500, 1), 337, [1000, 1000, 500]],
  ['fewer of them if they are long', makeRows(5, limits.importPartLength / 2), 500, [2, 2, 1]],
  ['a longer one by itself', makeRows(2, limits.importPartLength + 1), 500, [1, 1]],
  ['a file without rows in none', [], 500, []],
])('%s', async (_, rows, batchSize, sizes) => {
  const parts = await Array.fromAsync(groupIntoParts(inBatches(rows, batchSize)));
  expect(parts.map(({ length }) => length)).toEqual(sizes);
  expect(parts.flat()).toEqual(rows);
});
