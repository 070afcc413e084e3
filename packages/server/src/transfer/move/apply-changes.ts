/** Writes the changes of a table to a copy, and compares what was written. */
import type { MoveTarget, RowChanges } from '../../database/move/move-stores.ts';
import { type MovedRow, type MovedTable, readRowKey } from '../../database/move/moved-table.ts';
import { movePieceLength } from './move-protocol.ts';
import { digestRows, type RowsDigest } from './sync-table.ts';

/** Maximum number of removed rows that are sent and removed at once. */
const removedAtOnce = 1000;

/** Removals come first: an added row may have a unique value that a removed row had. */
export function* splitChanges({ removed, added }: RowChanges): Generator<RowChanges> {
  for (let at = 0; at < removed.length; at += removedAtOnce)
    yield { removed: removed.slice(at, at + removedAtOnce), added: [] };
  let [piece, length]: [MovedRow[], number] = [[], 0];
  for (const row of added) {
    piece.push(row);
    for (const each of row) length += each?.length ?? 4;
    if (length < movePieceLength) continue;
    yield { removed: [], added: piece };
    [piece, length] = [[], 0];
  }
  if (piece.length > 0) yield { removed: [], added: piece };
}

/** @returns the digest of the rows that the table now has with the keys of the changes. */
export async function applyChanges(target: MoveTarget, table: MovedTable, changes: RowChanges): Promise<RowsDigest> {
  const { removed, added } = changes;
  // Added rows are removed first too: the reply to an earlier call may have been lost.
  await target.apply(table, { removed: [...removed, ...added], added });
  const keys = [...removed, ...added].map((row) => String(readRowKey(table, row)[0]));
  return digestRows([await target.rowsOf(table, [...new Set(keys)])]);
}

/** @throws Error if a table does not have the added rows, or still has a removed one. */
export async function requireApplied(table: MovedTable, { added }: RowChanges, found: RowsDigest): Promise<void> {
  const expected = await digestRows([added]);
  if (expected.rows !== found.rows || expected.sha256 !== found.sha256)
    throw new Error(`The rows of the table "${table.table}" differ after they were written.`);
}
