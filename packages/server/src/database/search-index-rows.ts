/** Statements about the list of search indexes of an application, with the progress of each build. */
import type { Database, Transaction } from './database.ts';
import { createRunner, type ReadableStore, runInTransaction } from './run-statement.ts';
import { type Sql, sql, value } from './sql.ts';

/**
 * - `building`: records are still being added; searches scan.
 * - `ready`: covers all records.
 * - `unavailable`: the engine cannot build it, see `problem`; searches scan.
 */
export type SearchIndexState = 'building' | 'ready' | 'unavailable';

/** A search index as the list stores it. */
export interface StoredSearchIndex {
  readonly fieldId: number;
  readonly collectionId: number;
  readonly name: string;
  readonly column: string;
  readonly state: SearchIndexState;
  /** The last row id that the builder has added. */
  readonly position: number;
  /** Records that were added, and how many there were when the build began. */
  readonly done: number;
  readonly total: number | null;
  readonly problem: string | null;
}

const columns = sql`field_id,collection_id,name,column_name,state,position,done,total,problem`;

/** All search indexes, also those that are not complete. */
export async function readSearchIndexes(
  database: ReadableStore,
  transaction: Transaction | null = null,
): Promise<StoredSearchIndex[]> {
  const rows = await createRunner(database, transaction)(sql`SELECT ${columns} FROM _search_indexes ORDER BY field_id`);
  return rows.map(([fieldId, collectionId, name, column, state, position, done, total, problem]) => ({
    fieldId: Number(fieldId),
    collectionId: Number(collectionId),
    name: name as string,
    column: column as string,
    state: state as SearchIndexState,
    position: Number(position),
    done: Number(done),
    total: total === null ? null : Number(total),
    problem: problem as string | null,
  }));
}

/** Adds an index that is to be built. */
export async function insertSearchIndex(
  database: ReadableStore,
  transaction: Transaction,
  { fieldId, collectionId, name, column }: Pick<StoredSearchIndex, 'fieldId' | 'collectionId' | 'name' | 'column'>,
): Promise<void> {
  const values = sql`${value('integer', fieldId)},${value('integer', collectionId)},${value('text', name)}`;
  const insert = sql`INSERT INTO _search_indexes (${columns})
VALUES (${values},${value('text', column)},'building',${value('bigint', beforeFirstRow)},0,NULL,NULL)`;
  await runInTransaction(database, transaction, insert);
}

/** Less than every row id, as far as a JavaScript number holds it exactly. */
const beforeFirstRow = Number.MIN_SAFE_INTEGER;

/** Removes an index from the list. */
export async function deleteSearchIndex(
  database: ReadableStore,
  transaction: Transaction,
  fieldId: number,
): Promise<void> {
  await runInTransaction(
    database,
    transaction,
    sql`DELETE FROM _search_indexes WHERE field_id=${value('integer', fieldId)}`,
  );
}

/** What the builder reports about an index. */
export type SearchIndexProgress = Partial<Pick<StoredSearchIndex, 'state' | 'position' | 'done' | 'total' | 'problem'>>;

const storages = { state: 'text', position: 'bigint', done: 'bigint', total: 'bigint', problem: 'text' } as const;

/**
 * Stores the progress of a build.
 *
 * @returns whether the index is still in the list; it is removed when its field or its column changes.
 */
export async function updateSearchIndex(
  database: Database,
  transaction: Transaction,
  name: string,
  progress: SearchIndexProgress,
): Promise<boolean> {
  const assignments = Object.entries(progress).map(
    ([key, each]): Sql => sql`${key}=${value(storages[key as keyof typeof storages], each)}`,
  );
  const set = assignments.reduce((left, right) => sql`${left},${right}`);
  const update = sql`UPDATE _search_indexes SET ${set} WHERE name=${value('text', name)} RETURNING field_id`;
  return (await runInTransaction(database, transaction, update)).length > 0;
}
