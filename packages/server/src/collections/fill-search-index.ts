/** Builds a search index in small transactions. The position is stored with each, so a build continues after a restart. */
import { setTimeout as pause } from 'node:timers/promises';
import { countRows } from '../database/column-data.ts';
import { type Database, DatabaseFault } from '../database/database.ts';
import { runInTransaction } from '../database/run-statement.ts';
import type { SearchIndex, SearchIndexBatches } from '../database/search-index.ts';
import { updateSearchIndex } from '../database/search-index-rows.ts';
import { value } from '../database/sql.ts';
import type { IndexBuild } from './index-build.ts';

/** How long a batch may keep other writes waiting. */
const batchMilliseconds = 50;
/** The first batch is small: texts can be long. */
const firstBatch = 50;
const maxBatch = 20_000;
/** Other writes run between two batches. */
const pauseMilliseconds = 5;

/** @returns whether all records are in the index; false if it was stopped, or if the index is no longer wanted. */
export async function fillSearchIndex(
  database: Database,
  { stored, index }: IndexBuild,
  batches: SearchIndexBatches,
  signal: AbortSignal,
): Promise<boolean> {
  let { position, done } = stored;
  let size = firstBatch;
  if (stored.total === null && !(await storeTotal(database, index))) return false;
  while (!signal.aborted) {
    const batch = await fillBatch(database, index, batches, { position, done, size });
    if (batch === null) return false;
    if (batch.isLast) return true;
    ({ position, done } = batch);
    size = Math.max(1, Math.min(maxBatch, Math.round((size * batchMilliseconds) / Math.max(5, batch.milliseconds))));
    await pause(pauseMilliseconds);
  }
  return false;
}

async function storeTotal(database: Database, { name, table }: SearchIndex): Promise<boolean> {
  return database.write(
    async (transaction) => {
      const total = await countRows(database, transaction, table).catch(ignoreMissing);
      return total !== null && updateSearchIndex(database, transaction, name, { total });
    },
    { heavy: true, longRunning: true },
  );
}

interface BatchStart {
  readonly position: number;
  readonly done: number;
  readonly size: number;
}

/** `milliseconds`: without the time to wait for other writes and for the disk, which a smaller batch would take too. */
interface FilledBatch extends Omit<BatchStart, 'size'> {
  readonly isLast: boolean;
  readonly milliseconds: number;
}

/** Adds a batch of records and stores the position; null if the index is no longer wanted. */
function fillBatch(
  database: Database,
  index: SearchIndex,
  batches: SearchIndexBatches,
  { position, done, size }: BatchStart,
): Promise<FilledBatch | null> {
  const after = value('bigint', position);
  return database.write(
    async (transaction) => {
      const startedAt = performance.now();
      const next = await runInTransaction(database, transaction, batches.next(index, after, size)).catch(ignoreMissing);
      const [last, rows] = (next?.[0] ?? [null, 0]) as readonly [number | null, number];
      const progress = last === null ? { done } : { position: last, done: done + rows };
      if (next === null || !(await updateSearchIndex(database, transaction, index.name, progress))) return null;
      if (last === null) return { position, done, isLast: true, milliseconds: 0 };
      await runInTransaction(database, transaction, batches.fill(index, after, value('bigint', last)));
      const milliseconds = performance.now() - startedAt;
      return { position: last, done: done + rows, isLast: rows < size, milliseconds };
    },
    { heavy: true, longRunning: true },
  );
}

/** The table or the index was dropped after the list was read. */
function ignoreMissing(error: unknown): null {
  if (error instanceof DatabaseFault && error.kind === 'stale') return null;
  throw error;
}
