/** Statements of the history that collections with `logging` keep. */
import { bindFixed, type Database, type Transaction } from './database.ts';
import { join, sql, value } from './sql.ts';

/** One record's part in a change: its key, and before and after by field id. */
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

/** Adds entries in the transaction of the change they tell of. */
export async function insertHistory(
  database: Database,
  transaction: Transaction,
  entries: readonly HistoryEntry[],
  { collectionId, at, action, actor, requestId }: HistoryChange,
): Promise<void> {
  for (let from = 0; from < entries.length; from += insertBatchSize) {
    const rows = entries
      .slice(from, from + insertBatchSize)
      .map(
        ({ tk, changes }) =>
          sql`(${value('integer', collectionId)},${value('text', tk)},${value('datetime', at)},${value('text', action)},${value('text', actor)},${value('text', requestId)},${value('json', changes)})`,
      );
    const insert = sql`INSERT INTO _history (collection_id,tk,at,action,actor,request_id,changes) VALUES ${join(rows, ',')}`;
    await transaction.run(bindFixed(database.dialect, insert));
  }
}

/** Entries of a collection's history. */
export async function countHistory(
  database: Database,
  transaction: Transaction,
  collectionId: number,
): Promise<number> {
  const count = sql`SELECT count(*) FROM _history WHERE collection_id=${value('integer', collectionId)}`;
  const [row] = await transaction.run(bindFixed(database.dialect, count));
  return Number(row![0]);
}

/** Deletes a collection's history. */
export async function deleteHistory(database: Database, transaction: Transaction, collectionId: number): Promise<void> {
  const remove = sql`DELETE FROM _history WHERE collection_id=${value('integer', collectionId)}`;
  await transaction.run(bindFixed(database.dialect, remove));
}
