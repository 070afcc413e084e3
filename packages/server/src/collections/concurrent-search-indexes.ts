/**
 * Builds search indexes with one statement each, which blocks neither reads nor writes. Only one of several servers
 * does so at a time. If it dies, the engine may continue the statement: the next server waits for its end and uses the
 * result.
 *
 * A build blocks changes of its table's structure, and reads and writes queue behind such a change. So a build is
 * cancelled as soon as a change waits for it, and restarted later.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { HealthReporter } from '../base/server-health.ts';
import { compile, type Database, type Row } from '../database/database.ts';
import { readRows } from '../database/run-statement.ts';
import type { ConcurrentSearchIndex, RunningBuild } from '../database/search-index.ts';
import { readSearchIndexes } from '../database/search-index-rows.ts';
import type { Sql } from '../database/sql.ts';
import { type IndexBuild, storeProgress } from './index-build.ts';

/** How long a change of definitions, and the reads behind it, wait for a build to be ended. */
const pollMilliseconds = 250;
const progressMilliseconds = 1000;

/** The builds of one application. */
export class ConcurrentSearchIndexes {
  readonly #database: Database;
  readonly #engine: ConcurrentSearchIndex;
  readonly #report: HealthReporter;
  readonly #signal: AbortSignal;

  /**
   * @param report reports that the engine lacks a part that search indexes need. @param signal ends a build under way.
   */
  constructor(database: Database, engine: ConcurrentSearchIndex, report: HealthReporter, signal: AbortSignal) {
    this.#database = database;
    this.#engine = engine;
    this.#report = report;
    this.#signal = signal;
  }

  /** Whether the store has indexes that belong to no field. */
  async hasUnused(): Promise<boolean> {
    return (await this.#listUnused()).length > 0;
  }

  /** Drops indexes that belong to no field, and ends builds of such indexes. */
  async dropUnused(): Promise<void> {
    const unused = new Set(await this.#listUnused());
    if (unused.size === 0) return;
    await this.#interrupt((await this.#listRunning()).filter(([name]) => unused.has(name)));
    for (const name of unused) await this.#run(this.#engine.dropConcurrently(name));
  }

  /** @returns whether the index covers all records; false if the engine cannot build it, or if it is no longer wanted. */
  async build({ index }: IndexBuild): Promise<boolean> {
    const schema = await this.#prepare();
    if (schema === null) {
      await storeProgress(this.#database, index.name, { state: 'unavailable', problem: this.#engine.missing });
      return false;
    }
    if (!(await storeProgress(this.#database, index.name, { state: 'building', problem: null }))) return false;
    await this.#waitForOther(index.name);
    if ((await this.#readState(index.name)) !== true) {
      await this.#run(this.#engine.dropConcurrently(index.name));
      await this.#create(index.name, this.#engine.create(index, schema));
    }
    await this.#run(this.#engine.analyze(index));
    return true;
  }

  async #create(name: string, create: Sql): Promise<void> {
    const watch = new BuildWatch();
    const timer = setInterval(() => void this.#watch(name, watch).catch(() => {}), pollMilliseconds).unref();
    try {
      await this.#run(create);
    } finally {
      clearInterval(timer);
    }
  }

  /** A server that has died may have left a build of the same index, which the engine still runs. */
  async #waitForOther(name: string): Promise<void> {
    const watch = new BuildWatch();
    while (await this.#watch(name, watch)) await pause(pollMilliseconds, null, { signal: this.#signal });
  }

  /**
   * Stores the progress of a build, and ends it if a change of its table waits for it.
   *
   * @returns whether the build is under way.
   */
  async #watch(name: string, watch: BuildWatch): Promise<boolean> {
    const build = (await this.#listRunning()).find((each) => each[0] === name);
    if (!build) return false;
    const [, , done, total, isAwaited] = build;
    if (isAwaited) await this.#interrupt([build]);
    else if (watch.isDue()) await storeProgress(this.#database, name, { done: Number(done), total: Number(total) });
    return true;
  }

  /** Whether the index is valid; null if it does not exist. */
  async #readState(name: string): Promise<boolean | null> {
    const existing = await this.#list();
    return existing.find((each) => each[0] === name)?.[1] ?? null;
  }

  /** @returns the schema of the operator class; null if the extension is not available. */
  async #prepare(): Promise<string | null> {
    const { prepare, probe, missing } = this.#engine;
    const find = async (): Promise<string | null> =>
      ((await readRows<[schema: string]>(this.#database, probe))[0]?.[0] as string | undefined) ?? null;
    let cause: unknown = null;
    if ((await find()) === null)
      for (const statement of prepare)
        await this.#database.runOutsideTransaction?.(statement).catch((error: unknown) => {
          cause = error;
        });
    const schema = await find();
    this.#report(schema === null ? { severity: 'warning', message: missing, cause } : null);
    return schema;
  }

  async #listUnused(): Promise<string[]> {
    const existing = await this.#list();
    if (existing.length === 0) return [];
    const wanted = new Set((await readSearchIndexes(this.#database)).map(({ name }) => name));
    return existing.map(([name]) => name).filter((name) => !wanted.has(name));
  }

  #list(): Promise<(readonly [name: string, isValid: boolean])[]> {
    return readRows<[name: string, isValid: boolean]>(this.#database, this.#engine.list);
  }

  #listRunning(): Promise<RunningBuild[]> {
    return readRows<RunningBuild & Row>(this.#database, this.#engine.running);
  }

  async #interrupt(builds: readonly RunningBuild[]): Promise<void> {
    if (builds.length > 0) await readRows(this.#database, this.#engine.interrupt(builds));
  }

  async #run(statement: Sql): Promise<void> {
    const { text } = compile(this.#database.dialect, statement);
    await this.#database.runOutsideTransaction?.(text, this.#signal);
  }
}

/** When the progress of a build was last stored. */
class BuildWatch {
  #storedAt = Number.NEGATIVE_INFINITY;

  isDue(): boolean {
    const now = performance.now();
    if (now - this.#storedAt < progressMilliseconds) return false;
    this.#storedAt = now;
    return true;
  }
}
