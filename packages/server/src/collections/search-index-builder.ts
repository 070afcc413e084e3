/**
 * Builds search indexes in the background, while records are read and written. An engine fills them in small transactions,
 * see fill-search-index.ts, or builds each with one statement, see concurrent-search-indexes.ts.
 */
import { BackgroundWorker } from '../base/background-worker.ts';
import { isoTime } from '../base/clock.ts';
import type { HealthReporter } from '../base/server-health.ts';
import { recordEvent } from '../changes/record-event.ts';
import { bumpVersion, markChanged } from '../database/catalogue.ts';
import { DatabaseFault, StaleVersion } from '../database/database.ts';
import { readSearchIndexes, updateSearchIndex } from '../database/search-index-rows.ts';
import { ConcurrentSearchIndexes } from './concurrent-search-indexes.ts';
import { fillSearchIndex } from './fill-search-index.ts';
import { type IndexBuild, type IndexedApplication, storeProgress } from './index-build.ts';

const retryMilliseconds = 60_000;
/** The pause after a change of definitions has interrupted a build, or while another server builds. */
const interruptedMilliseconds = 1000;
const otherServerMilliseconds = 5000;
const failed =
  'The last attempt to build the index failed; the server log contains the reason. The build is retried every minute.';

/** Builds the search indexes of one application. {@link wake} after each change of definitions. */
export class SearchIndexBuilder {
  readonly #application: IndexedApplication;
  readonly #report: HealthReporter;
  readonly #worker: BackgroundWorker;
  #stopping = new AbortController();
  #schema = -1;

  /** @param report reports that the engine cannot build search indexes. */
  constructor(application: IndexedApplication, report: HealthReporter) {
    this.#application = application;
    this.#report = report;
    this.#worker = new BackgroundWorker({
      run: () => this.#run(),
      onError: (error) => application.logger.warn({ err: error }, 'The search indexes could not be checked.'),
      intervalMilliseconds: retryMilliseconds,
    });
  }

  start(): void {
    this.#stopping = new AbortController();
    this.#worker.start();
    // The definitions have been loaded before the worker could be woken.
    this.#worker.wake();
  }

  /** Looks for indexes to build, if the definitions have changed. */
  wake(): void {
    const { version } = this.#application.registry;
    if (version === this.#schema) return;
    this.#schema = version;
    this.#worker.wake();
  }

  /** Ends a build under way. */
  async stop(): Promise<void> {
    const stopped = this.#worker.stop();
    this.#stopping.abort();
    await stopped;
  }

  async #run(): Promise<void> {
    const { database } = this.#application;
    await this.#application.ensureCurrent();
    if ((await this.#listBuilds()).length === 0 && !(await this.#openConcurrent()?.hasUnused())) return;
    const isDone = await database.tryWithLock('search indexes', () => this.#buildAll());
    if (isDone === null) this.#worker.wake(otherServerMilliseconds);
  }

  #openConcurrent(): ConcurrentSearchIndexes | null {
    const { database } = this.#application;
    const { concurrent } = database.dialect.search;
    return concurrent && new ConcurrentSearchIndexes(database, concurrent, this.#report, this.#stopping.signal);
  }

  async #buildAll(): Promise<true> {
    const concurrent = this.#openConcurrent();
    await concurrent?.dropUnused();
    for (const build of await this.#listBuilds()) {
      if (this.#worker.isStopped) break;
      await this.#build(build, concurrent).catch((error: unknown) => this.#fail(build, error));
    }
    return true;
  }

  /** The indexes that are not complete. An engine that lacked a part may have it now. */
  async #listBuilds(): Promise<IndexBuild[]> {
    const collections = new Map(this.#application.registry.all().map((each) => [each.id, each]));
    const stored = await readSearchIndexes(this.#application.database);
    return stored.flatMap((each) => {
      const collection = collections.get(each.collectionId);
      if (!collection || each.state === 'ready') return [];
      const index = { name: each.name, table: collection.table, column: each.column };
      return [{ stored: each, index, collection: collection.name }];
    });
  }

  async #build(build: IndexBuild, concurrent: ConcurrentSearchIndexes | null): Promise<void> {
    const { database } = this.#application;
    const { batches } = database.dialect.search;
    const isComplete = batches
      ? await fillSearchIndex(database, build, batches, this.#stopping.signal)
      : await concurrent?.build(build);
    if (isComplete) await this.#complete(build);
  }

  /** Continues with the next build, and retries this one later. */
  async #fail({ index, collection }: IndexBuild, error: unknown): Promise<void> {
    const { database, logger } = this.#application;
    if (this.#worker.isStopped) return;
    const subject = { collection, column: index.column };
    if (isInterruption(error)) {
      logger.info(subject, 'The build of a search index was interrupted. It starts again.');
      this.#worker.wake(interruptedMilliseconds);
      return;
    }
    logger.warn({ ...subject, err: error }, 'A search index could not be built yet.');
    await storeProgress(database, index.name, { problem: failed }).catch(() => {}); // the cause may prevent this write too
  }

  /** Searches use the index from now on, on all servers. */
  async #complete({ stored, index, collection }: IndexBuild): Promise<void> {
    const { database, changes, clock, logger } = this.#application;
    await database.write(
      async (transaction) => {
        await bumpVersion(transaction, 'schema');
        const progress = { state: 'ready', problem: null } as const;
        if (!(await updateSearchIndex(database, transaction, index.name, progress))) return;
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

/** A change of definitions has ended the build, or its table has another name now. */
function isInterruption(error: unknown): boolean {
  if (error instanceof StaleVersion) return true;
  return error instanceof DatabaseFault && ['timeout', 'collision', 'stale'].includes(error.kind);
}
