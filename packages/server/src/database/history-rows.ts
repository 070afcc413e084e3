/** Statements about the history of collections with `logging`. */
import { TimeSlices } from '../base/time-slices.ts';
import { bindFixed, type Database, type Transaction } from './database.ts';
import { readNumberInTx } from './run-statement.ts';
import { join, sql, value } from './sql.ts';

/** The change of one record: its key, and the values before and after by field id. */
export interface HistoryEntry {
  readonly tk: string;
  readonly changes: Readonly<Record<string, readonly [unknown, unknown]>>;
}

export interface HistoryChange {
  readonly collectionId: number;
  readonly at: string;
  readonly action: string;
  readonly actor: string | null;
  readonly requestId: string | null;
}

const insertBatchSize = 100;

/** Adds entries in the transaction of the change that they describe. */
export async function insertHistory(
  database: Database,
  transaction: Transaction,
  entries: readonly HistoryEntry[],
  { collectionId, at, action, actor, requestId }: HistoryChange,
): Promise<void> {
  const collection = value('integer', collectionId);
  const what = sql`${value('datetime', at)},${value('text', action)}`;
  const change = sql`${what},${value('text', actor)},${value('text', requestId)}`;
  const slices = new TimeSlices();
  for (let from = 0; from < entries.length; from += insertBatchSize) {
    if (slices.isOver) await slices.next();
    const rows = entries
      .slice(from, from + insertBatchSize)
      .map(({ tk, changes }) => sql`(${collection},${value('text', tk)},${change},${value('json', changes)})`);
    const insert = sql`INSERT INTO _history (collection_id,tk,at,action,actor,request_id,changes)
VALUES ${join(rows, ',')}`;
    await transaction.run(bindFixed(database.dialect, insert));
  }
}

/** The number of history entries of a collection. */
export async function countHistory(
  database: Database,
  transaction: Transaction,
  collectionId: number,
): Promise<number> {
  const count = sql`SELECT count(*) FROM _history WHERE collection_id=${value('integer', collectionId)}`;
  return readNumberInTx(database, transaction, count);
}

/** Deletes a collection's history. */
export async function deleteHistory(database: Database, transaction: Transaction, collectionId: number): Promise<void> {
  const remove = sql`DELETE FROM _history WHERE collection_id=${value('integer', collectionId)}`;
  await transaction.run(bindFixed(database.dialect, remove));
}
