import { setTimeout as pause } from 'node:timers/promises';
import { readRunningBackups } from '../../database/backup-rows.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';

const lockName = 'backups';
/** Maximum wait for the lock of a job that has ended. */
const endingMilliseconds = 1000;
const pauseMilliseconds = 20;

/** The lock of all backups, restores and moves to other nodes: one of them runs at a time, on all servers with the same data. */
export class BackupLock {
  readonly #database: Database;
  readonly #stopping: AbortSignal;
  #running: Promise<unknown> = Promise.resolve();

  /**
   * @param database of `main`.
   * @param stopping aborted when the server stops.
   */
  constructor(database: Database, stopping: AbortSignal) {
    this.#database = database;
    this.#stopping = stopping;
  }

  /**
   * Runs work that holds the lock. Waits for the lock of a job that has ended: the job releases it a moment after `backups:list`
   * shows its end.
   *
   * @returns null if another job holds the lock.
   * @throws ApiError `STOPPING`.
   */
  async run<T>(work: () => Promise<T>): Promise<T | null> {
    const deadline = performance.now() + endingMilliseconds;
    for (;;) {
      const done = await this.tryRun(async () => ({ result: await work() }));
      if (done) return done.result;
      if (performance.now() > deadline || (await readRunningBackups(this.#database)).length > 0) return null;
      await pause(pauseMilliseconds);
    }
  }

  /** As {@link run}, but does not wait. */
  async tryRun<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.#stopping.aborted) throw new ApiError('STOPPING', 'The server is stopping.', { retryAfter: 5 });
    const running = this.#database.tryWithLock(lockName, work);
    const before = this.#running;
    this.#running = Promise.allSettled([before, running]);
    return running;
  }

  /** Resolves when nothing of this server holds the lock. */
  async waitForEnd(): Promise<void> {
    await this.#running;
  }
}
