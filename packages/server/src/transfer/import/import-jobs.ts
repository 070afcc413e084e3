/**
 * The imports of one application that are too long for a request. They run in the background. Each transaction contains
 * the records of a part of the file and the progress of the import: if the process is killed, the next one continues
 * after the last part. If there are several servers, one of them leases an import at a time.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { BackgroundWorker } from '../../base/background-worker.ts';
import { type BlobStore, fileScope } from '../../base/blob-store.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { processCounters } from '../../base/metrics.ts';
import type { Tracing } from '../../base/tracing/tracing.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import { recordEvent } from '../../changes/record-event.ts';
import { type Database, DatabaseFault, type Transaction } from '../../database/database.ts';
import {
  deleteImport,
  deleteRefusedRows,
  endImport,
  findEndedImports,
  type ImportEnd,
  leaseImports,
  type OpenImport,
  readImport,
  readOpenImports,
  releaseImportLeases,
  renewImportLease,
  type StoredImport,
} from '../../database/import-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import { getImportLock } from './import-transaction.ts';
import { continueImport, type ImportRun, ImportStopped, type RunImportParts } from './run-import.ts';

/**
 * Times of leases in milliseconds: how long a lease is valid, how often it is renewed, how often the leases of other
 * servers are checked, and how often it is checked whether such leases exist. If a process is killed, another one
 * continues its import when the lease has expired.
 */
const leaseTimes = { lease: 5000, renew: 1500, recheck: 1000, check: 5000 } as const;
/** The pause after a temporary failure, such as that of the connection to the database. */
const retryMilliseconds = 1000;
/** How often a request that waits for an import checks its state. */
const pollMilliseconds = 200;
/** Maximum number of imports that are examined to find those that can run. */
const maxOpen = 1000;
const deletedAtOnce = 1000;

export interface ImportJobsParts extends RunImportParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly changes: ChangeLog;
  /** `tracing` is null if no traces are sent. */
  readonly outbound: { readonly tracing: Tracing | null };
}

/** Runs imports in the background. */
export class ImportJobs {
  readonly #parts: ImportJobsParts;
  /** Names this process in leases. */
  readonly #server = randomUUID();
  readonly #worker: BackgroundWorker;
  readonly #running = new Map<number, { readonly owner: string; readonly end: Promise<void> }>();
  #renewal: NodeJS.Timeout | null = null;
  #hasOpen = false;

  constructor(parts: ImportJobsParts) {
    this.#parts = parts;
    this.#worker = new BackgroundWorker({
      run: () => this.#startImports(),
      onError: (error) => {
        parts.logger.warn({ err: error }, 'Imports could not be started.');
        this.#worker.wake(retryMilliseconds);
      },
      intervalMilliseconds: leaseTimes.check,
    });
  }

  /** Starts imports, beginning with those that an earlier run left. */
  begin(): void {
    this.#worker.start();
    this.#renewal = setInterval(() => void this.#renewLeases(), leaseTimes.renew).unref();
    this.#worker.wake();
  }

  /** Ends running imports between two transactions. They go on when the application is opened again. */
  async close(): Promise<void> {
    if (this.#renewal) clearInterval(this.#renewal);
    if (this.#worker.isStopped) return;
    await this.#worker.stop();
    const running = [...this.#running.values()];
    if (running.length === 0) return;
    await Promise.all(running.map(({ end }) => end));
    const { database, logger } = this.#parts;
    await releaseImportLeases(database, this.#server).catch((error: unknown) =>
      logger.warn({ err: error }, 'The leases of imports could not be released. They end by themselves.'),
    );
  }

  /** Call it when an import is waiting to be run. */
  wake(): void {
    this.#hasOpen = true;
    this.#worker.wake();
  }

  /** Whether imports run or wait. */
  get isBusy(): boolean {
    return this.#running.size > 0 || this.#hasOpen;
  }

  /** Waits until an import has ended. @throws ApiError `STOPPING` if the signal is aborted before. */
  async waitForEnd(id: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const stored = await readImport(this.#parts.database, id);
      if (stored?.status !== 'pending' && stored?.status !== 'running') return;
      if (signal.aborted || this.#worker.isStopped)
        throw new ApiError('STOPPING', `The server is stopping. The import ${id} continues later; get its record.`, {
          retryAfter: 5,
        });
      await wait(pollMilliseconds);
    }
  }

  /** Cancels an import: it stops between two transactions. @returns whether it had not ended before. */
  async cancel(id: number, by: Parameters<typeof recordEvent>[3]): Promise<boolean> {
    return this.#end(id, { status: 'cancelled', error: null, time: isoTime(this.#parts.clock.now()) }, by);
  }

  /** Deletes imports a month after their end, with their refused rows. @param now milliseconds since the epoch. */
  async sweep(now: number): Promise<void> {
    const { database, changes } = this.#parts;
    const before = isoTime(now - limits.importMilliseconds);
    for (;;) {
      const ids = await findEndedImports(database, before, deletedAtOnce);
      for (const id of ids) {
        while ((await deleteRefusedRows(database, id, deletedAtOnce)) > 0);
        await database.write(async (transaction) => {
          await deleteImport(database, transaction, id);
          await changes.append(transaction, recordEvent('imports', 'destroyed', [id], {}), isoTime(now));
        });
      }
      if (ids.length < deletedAtOnce) return;
    }
  }

  /** Leases the imports that can run now, and starts them. */
  async #startImports(): Promise<void> {
    const { database, clock } = this.#parts;
    const open = await readOpenImports(database, maxOpen);
    this.#hasOpen = open.length > 0;
    if (open.some(({ id }) => !this.#running.has(id))) this.#worker.wake(leaseTimes.recheck);
    if (this.#selectStartable(open).length === 0) return;
    const leased = await database.write(
      async (transaction) => {
        const startable = this.#selectStartable(await readOpenImports(database, maxOpen, transaction));
        const now = clock.now();
        const lease = { server: this.#server, now: isoTime(now), until: isoTime(now + leaseTimes.lease) };
        const ids = startable.map(({ id }) => id);
        if (ids.length > 0) await leaseImports(database, transaction, ids, lease);
        return startable;
      },
      { lockKey: 'imports' },
    );
    for (const { id, owner } of leased) this.#start(id, owner);
  }

  /** The oldest imports that no server runs, up to the number that may run at the same time. */
  #selectStartable(open: readonly OpenImport[]): OpenImport[] {
    const now = isoTime(this.#parts.clock.now());
    const isRunning = ({ id, leasedBy, leasedUntil }: OpenImport): boolean =>
      this.#running.has(id) || (leasedBy !== null && leasedBy !== this.#server && (leasedUntil ?? '') >= now);
    const owners = open.filter(isRunning).map(({ owner }) => owner);
    const startable: OpenImport[] = [];
    for (const each of open) {
      if (isRunning(each)) continue;
      if (owners.length >= limits.imports) break;
      if (owners.filter((owner) => owner === each.owner).length >= limits.importsOfUser) continue;
      owners.push(each.owner);
      startable.push(each);
    }
    return startable;
  }

  #start(id: number, owner: string): void {
    if (this.#running.has(id) || this.#worker.isStopped) return;
    processCounters.importsRunning += 1;
    const { tracing } = this.#parts.outbound;
    const run = (): Promise<number> => this.#run(id);
    const span = { name: 'import', kind: 'internal', attributes: { 'tablinum.import': id } } as const;
    const end = (tracing ? tracing.trace(span, run) : run()).then((pause) => {
      processCounters.importsRunning -= 1;
      if (pause === 0) processCounters.importsEnded += 1;
      this.#running.delete(id);
      this.#worker.wake(pause);
    });
    this.#running.set(id, { owner, end });
  }

  /** Runs an import to its end, or until it is stopped. @returns milliseconds after which imports are started again. */
  async #run(id: number): Promise<number> {
    const { database, blobs, clock, logger } = this.#parts;
    let stored: StoredImport | null = null;
    try {
      stored = await readImport(database, id);
      const blob = stored && (await blobs.open(fileScope, stored.sha256));
      if (!stored) return 0;
      if (!blob) throw new ApiError('RECORD_UNKNOWN', 'The file of the import does not exist any more.');
      const run: ImportRun = {
        stored,
        blob,
        isStopping: () => this.#worker.isStopped,
        requireLease: (transaction) => this.#requireLease(transaction, id),
      };
      await continueImport(this.#parts, run);
      await this.#end(id, { status: 'done', error: null, time: isoTime(clock.now()) }, {});
    } catch (error) {
      if (error instanceof ImportStopped) return 0;
      if (isPassing(error)) {
        logger.warn({ err: error, import: id }, 'An import was interrupted. It is tried again.');
        return retryMilliseconds;
      }
      if (!(error instanceof ApiError)) logger.error({ err: error, import: id }, 'An import failed.');
      const message =
        error instanceof ApiError ? error.message : 'An unexpected fault. The log of the server has the cause.';
      const end: ImportEnd = { status: 'failed', error: message, time: isoTime(clock.now()) };
      await this.#end(id, end, {}).catch((failure: unknown) =>
        logger.warn({ err: failure, import: id }, 'The end of an import could not be stored. It is tried again.'),
      );
    }
    return 0;
  }

  #end(id: number, end: ImportEnd, by: Parameters<typeof recordEvent>[3]): Promise<boolean> {
    const { database, changes } = this.#parts;
    const work = async (transaction: Transaction): Promise<boolean> => {
      if (!(await endImport(database, transaction, id, end))) return false;
      await changes.append(transaction, recordEvent('imports', 'updated', [id], by), end.time);
      return true;
    };
    return database.write(work, { lockKey: getImportLock(id) });
  }

  /** @throws ImportStopped if the import was cancelled, or another server runs it. */
  async #requireLease(transaction: Transaction, id: number): Promise<number> {
    const { database, clock } = this.#parts;
    const lease = { server: this.#server, until: isoTime(clock.now() + leaseTimes.lease) };
    const processed = await renewImportLease(database, transaction, id, lease);
    if (processed === null) throw new ImportStopped();
    return processed;
  }

  /** Renews the leases of imports whose transactions are far apart. */
  async #renewLeases(): Promise<void> {
    // If a lease was lost, the next transaction of the import finds out.
    for (const id of this.#running.keys())
      await this.#parts.database.write((transaction) => this.#requireLease(transaction, id)).catch(() => {});
  }
}

/** Whether the same transaction may succeed later. */
function isPassing(error: unknown): boolean {
  if (error instanceof DatabaseFault)
    return ['unavailable', 'unknownOutcome', 'collision', 'timeout', 'stale'].includes(error.kind);
  return (
    error instanceof ApiError && ['BUSY', 'DATABASE_UNAVAILABLE', 'QUERY_TIMEOUT', 'STOPPING'].includes(error.code)
  );
}
