/**
 * Builds search indexes in the background, while records are read and written. SQLite: in small transactions; the
 * position is stored with each, so a restart continues there. PostgreSQL: one statement that blocks no writes; only one
 * of several servers runs it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundWorker } from '../base/background-worker.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { HealthReporter } from '../base/server-health.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import { recordEvent } from '../changes/record-event.ts';
import { bumpVersion, markChanged } from '../database/catalogue.ts';
import { countRows } from '../database/column-data.ts';
import { compile, type Database, DatabaseFault, type Row } from '../database/database.ts';
import { readRows, runInTransaction } from '../database/run-statement.ts';
import type { ConcurrentSearchIndex, SearchIndex, SearchIndexBatches } from '../database/search-index.ts';
import { readSearchIndexes, type StoredSearchIndex, updateSearchIndex } from '../database/search-index-rows.ts';
import { identifier, type Sql, value } from '../database/sql.ts';
import type { Registry } from '../schema/registry.ts';

/** The application whose search indexes are built. */
export interface IndexedApplication {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Loads the definitions again: searches use an index from then on. */
  refresh(): Promise<void>;
}

/** How long a batch may keep other writes waiting. */
const batchMilliseconds = 50;
const maxBatch = 20_000;
/** Other writes run between two batches. */
const pauseMilliseconds = 5;
const progressMilliseconds = 1000;
const retryMilliseconds = 60_000;

/** An index that is being built, and where it belongs. */
interface Build {
  readonly stored: StoredSearchIndex;
  readonly index: SearchIndex;
  readonly collection: string;
}

/** Builds the search indexes of one application. {@link wake} after each change of definitions. */
export class SearchIndexBuilder {
  readonly #application: IndexedApplication;
  readonly #report: HealthReporter;
  readonly #worker: BackgroundWorker;
  #schema = -1;

  /** @param report reports that the engine cannot build search indexes. */
  constructor(application: IndexedApplication, report: HealthReporter) {
    this.#application = application;
    this.#report = report;
    this.#worker = new BackgroundWorker({
      run: () => this.#run(),
      onError: (error) => application.logger.warn({ err: error }, 'A search index could not be built yet.'),
      intervalMilliseconds: retryMilliseconds,
    });
  }

  start(): void {
    this.#worker.start();
    this.wake();
  }

  /** Looks for indexes to build, if the definitions have changed. */
  wake(): void {
    const { version } = this.#application.registry;
    if (version === this.#schema) return;
    this.#schema = version;
    this.#worker.wake();
  }

  stop(): Promise<void> {
    return this.#worker.stop();
  }

  async #run(): Promise<void> {
    const { database } = this.#application;
    const { concurrent } = database.dialect.search;
    if (concurrent) await this.#dropUnused(concurrent);
    for (const build of await this.#listBuilds()) {
      if (this.#worker.isStopped) return;
      await database.tryWithLock(`search index ${build.index.name}`, () => this.#build(build));
    }
  }

  /** The indexes that are not complete. An engine that lacked a part may have it now. */
  async #listBuilds(): Promise<Build[]> {
    const collections = new Map(this.#application.registry.all().map((each) => [each.id, each]));
    const stored = await readSearchIndexes(this.#application.database);
    return stored.flatMap((each) => {
      const collection = collections.get(each.collectionId);
      if (!collection || each.state === 'ready') return [];
      const index = { name: each.name, table: collection.table, column: each.column };
      return [{ stored: each, index, collection: collection.name }];
    });
  }

  async #build(build: Build): Promise<void> {
    const { batches, concurrent } = this.#application.database.dialect.search;
    const isComplete = batches
      ? await this.#fill(build, batches)
      : concurrent !== null && (await this.#buildConcurrently(build, concurrent));
    if (isComplete) await this.#complete(build);
  }

  /** @returns whether all records are in the index; false if it was stopped, or if the index is no longer wanted. */
  async #fill({ stored, index }: Build, batches: SearchIndexBatches): Promise<boolean> {
    let { position, done } = stored;
    let size = 500;
    if (stored.total === null && !(await this.#storeTotal(index))) return false;
    while (!this.#worker.isStopped) {
      const startedAt = performance.now();
      const batch = await this.#fillBatch(index, batches, { position, done, size });
      if (batch === null) return false;
      if (batch.isLast) return true;
      ({ position, done } = batch);
      const milliseconds = performance.now() - startedAt;
      size = Math.max(50, Math.min(maxBatch, Math.round((size * batchMilliseconds) / Math.max(5, milliseconds))));
      await pause(pauseMilliseconds);
    }
    return false;
  }

  async #storeTotal({ name, table }: SearchIndex): Promise<boolean> {
    const { database } = this.#application;
    return database.write(
      async (transaction) => {
        const total = await countRows(database, transaction, table);
        return updateSearchIndex(database, transaction, name, { total });
      },
      { heavy: true, longRunning: true },
    );
  }

  /** Adds a batch of records and stores the position; null if the index is no longer wanted. */
  async #fillBatch(
    index: SearchIndex,
    batches: SearchIndexBatches,
    { position, done, size }: { readonly position: number; readonly done: number; readonly size: number },
  ): Promise<{ readonly position: number; readonly done: number; readonly isLast: boolean } | null> {
    const { database } = this.#application;
    const after = value('bigint', position);
    return database.write(
      async (transaction) => {
        const next = await runInTransaction(database, transaction, batches.next(index, after, size)).catch(
          ignoreMissing,
        );
        const [last, rows] = (next?.[0] ?? [null, 0]) as readonly [number | null, number];
        const progress = last === null ? { done } : { position: last, done: done + rows };
        if (next === null || !(await updateSearchIndex(database, transaction, index.name, progress))) return null;
        if (last === null) return { position, done, isLast: true };
        await runInTransaction(database, transaction, batches.fill(index, after, value('bigint', last)));
        return { position: last, done: done + rows, isLast: rows < size };
      },
      { heavy: true, longRunning: true },
    );
  }

  async #buildConcurrently({ index }: Build, concurrent: ConcurrentSearchIndex): Promise<boolean> {
    const schema = await this.#prepare(concurrent);
    if (schema === null) {
      await this.#store(index.name, { state: 'unavailable', problem: concurrent.missing });
      return false;
    }
    if (!(await this.#store(index.name, { state: 'building', problem: null }))) return false;
    const progress = setInterval(() => void this.#storeProgress(index.name, concurrent), progressMilliseconds).unref();
    try {
      // What an interrupted build has left is not valid.
      await this.#runOutsideTransaction(concurrent.dropConcurrently(index.name));
      await this.#runOutsideTransaction(concurrent.create(index, schema));
      // Without statistics about the folded text, the planner does not know how rare a word is.
      await this.#application.database.runOutsideTransaction?.(`ANALYZE ${identifier(index.table)}`);
      return true;
    } finally {
      clearInterval(progress);
    }
  }

  /** @returns the schema of the operator class; null if the extension cannot be had. */
  async #prepare({ prepare, probe, missing }: ConcurrentSearchIndex): Promise<string | null> {
    const { database } = this.#application;
    const find = async (): Promise<string | null> =>
      ((await readRows<[schema: string]>(database, probe))[0]?.[0] as string | undefined) ?? null;
    let cause: unknown = null;
    if ((await find()) === null)
      for (const statement of prepare)
        await database.runOutsideTransaction?.(statement).catch((error: unknown) => {
          cause = error;
        });
    const schema = await find();
    this.#report(schema === null ? { severity: 'warning', message: missing, cause } : null);
    return schema;
  }

  /** Drops indexes that no field has any more, and what interrupted builds have left. */
  async #dropUnused(concurrent: ConcurrentSearchIndex): Promise<void> {
    const { database } = this.#application;
    const existing = await readRows<[name: string, isValid: boolean]>(database, concurrent.list);
    if (existing.length === 0) return;
    const wanted = new Set((await readSearchIndexes(database)).map(({ name }) => name));
    for (const [name] of existing.filter(([each]) => !wanted.has(each)))
      await database.tryWithLock(`search index ${name}`, () =>
        this.#runOutsideTransaction(concurrent.dropConcurrently(name)),
      );
  }

  async #storeProgress(name: string, concurrent: ConcurrentSearchIndex): Promise<void> {
    const [row] = await readRows(this.#application.database, concurrent.progress(name)).catch((): Row[] => []);
    if (!row) return;
    await this.#store(name, { done: Number(row[0]), total: Number(row[1]) }).catch(() => {});
  }

  #store(name: string, progress: Parameters<typeof updateSearchIndex>[3]): Promise<boolean> {
    const { database } = this.#application;
    return database.write((transaction) => updateSearchIndex(database, transaction, name, progress));
  }

  async #runOutsideTransaction(statement: Sql): Promise<void> {
    await this.#application.database.runOutsideTransaction?.(
      compile(this.#application.database.dialect, statement).text,
    );
  }

  /** Searches use the index from now on, on all servers. */
  async #complete({ stored, index, collection }: Build): Promise<void> {
    const { database, changes, clock, logger } = this.#application;
    await database.write(
      async (transaction) => {
        await bumpVersion(transaction, 'schema');
        if (!(await updateSearchIndex(database, transaction, index.name, { state: 'ready' }))) return;
        await markChanged(database, transaction, stored.collectionId);
        await changes.append(
          transaction,
          recordEvent('collections', 'updated', [collection], {}),
          isoTime(clock.now()),
        );
      },
      { afterCommit: () => this.#application.refresh() },
    );
    logger.info({ collection, column: index.column }, 'A search index is complete.');
  }
}

/** The table or the index was dropped after the list was read. */
function ignoreMissing(error: unknown): null {
  if (error instanceof DatabaseFault && error.kind === 'stale') return null;
  throw error;
}
