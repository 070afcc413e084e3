import { statSync } from 'node:fs';
import type { HealthReporter } from '../../base/server-health.ts';
import { DatabaseFault, type Row } from '../database.ts';

export type CheckpointMode = 'PASSIVE' | 'RESTART';

export interface CheckpointParts {
  readonly logPath: string;
  /**
   * Runs `PRAGMA wal_checkpoint`; a RESTART while no write runs. Its row: busy, pages of the log, pages carried over.
   */
  readonly run: (mode: CheckpointMode) => Promise<Row | undefined>;
  readonly report: HealthReporter;
  /** Other bounds, for tests. */
  readonly bounds?: Partial<CheckpointBounds>;
}

interface CheckpointBounds {
  /**
   * Pages that are written to the log between two checkpoints. A checkpoint syncs two files, and commits on the same disk wait
   * for it: with 4 MB between two checkpoints, one in a hundred updates took 6.9 ms, with 32 MB 3.0 ms (2026-12-01).
   */
  readonly pages: number;
  /** Statements before the first checkpoint. Afterwards, the number depends on the pages that the last statements wrote. */
  readonly firstStatements: number;
  readonly minStatements: number;
  readonly maxStatements: number;
  /** If the log has more pages than this, a checkpoint blocks writes, so that the log can be reset. */
  readonly blockingPages: number;
  /** From this log size on writes are refused while checkpoints fail. */
  readonly maxLogBytes: number;
  readonly firstRetryMilliseconds: number;
  readonly maxRetryMilliseconds: number;
}

const pageBytes = 4096;

const defaultBounds: CheckpointBounds = {
  pages: 8192,
  firstStatements: 1000,
  minStatements: 100,
  maxStatements: 16_000,
  blockingPages: 65_536,
  maxLogBytes: 1024 * 1024 * 1024,
  firstRetryMilliseconds: 1000,
  maxRetryMilliseconds: 30_000,
};

/**
 * Runs checkpoints, which carry the write-ahead log over into the database file.
 *
 * If a checkpoint fails (the disk is full or broken), nothing is lost and writes continue, but the log grows. The failure is
 * reported and the checkpoint retried with growing waits. Past a bound, writes are refused until a checkpoint succeeds; reads continue.
 * A restart loses nothing, but the server does not start before the log can be carried over.
 *
 * A log that another program's open read transaction holds back is only reported: the disk works, and a backup may take
 * a while.
 */
export class Checkpoints {
  readonly #parts: CheckpointParts;
  readonly #bounds: CheckpointBounds;
  #statements = 0;
  /** Statements before the next checkpoint. */
  #interval: number;
  /** The size of the log's file at the last checkpoint, and the number of statements when it was last compared with the size. */
  #seenBytes = 0;
  #seenStatements = 0;
  /** Pages in the log at the last checkpoint; 0 after the log was reset. */
  #logPages = 0;
  #running: Promise<void> | null = null;
  /** Milliseconds until the next try; 0 while checkpoints succeed. */
  #wait = 0;
  #timer: NodeJS.Timeout | null = null;
  #heldBack = false;
  #refusal: DatabaseFault | null = null;
  #closed = false;

  constructor(parts: CheckpointParts) {
    this.#parts = parts;
    this.#bounds = { ...defaultBounds, ...parts.bounds };
    this.#interval = this.#bounds.firstStatements;
  }

  /** Why writes are refused now, or null. */
  get refusal(): DatabaseFault | null {
    return this.#refusal;
  }

  /** Counts what a durable transaction has written. */
  countWrites(statements: number): void {
    this.#statements += statements;
    if (this.#running || this.#closed || (this.#statements <= this.#interval && !this.#hasGrown())) return;
    if (this.#wait === 0) this.#begin();
    else {
      this.#statements = this.#seenStatements = 0;
      this.#bound(null);
    }
  }

  /** Statements that write more than the last ones: the file of the log grows, unless it was larger before. */
  #hasGrown(): boolean {
    const { minStatements, pages } = this.#bounds;
    if (this.#statements < this.#seenStatements + minStatements) return false;
    this.#seenStatements = this.#statements;
    return this.#logBytes() > this.#seenBytes + 2 * pages * pageBytes;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#parts.report(null);
  }

  #begin(): void {
    this.#timer = null;
    this.#running ??= this.#try().finally(() => {
      this.#running = null;
    });
  }

  async #try(): Promise<void> {
    const statements = this.#statements;
    this.#statements = this.#seenStatements = 0;
    this.#seenBytes = this.#logBytes();
    try {
      this.#planNext(statements, await this.#parts.run('PASSIVE'));
      if (this.#logPages <= this.#bounds.blockingPages) this.#succeeded();
      else await this.#reset();
    } catch (error) {
      // Ending the thread by closing is not a failure.
      if (!this.#closed) this.#failed(error);
    }
  }

  #planNext(statements: number, row: Row | undefined): void {
    const { pages, minStatements, maxStatements } = this.#bounds;
    const logPages = Number(row?.[1] ?? 0);
    const written = logPages >= this.#logPages ? logPages - this.#logPages : logPages;
    const interval = Math.round((statements * pages) / Math.max(written, 1));
    this.#interval = Math.min(Math.max(interval, minStatements), maxStatements);
    this.#logPages = logPages;
  }

  /** Blocks writes only for the pages that were written since the checkpoint before it. */
  async #reset(): Promise<void> {
    const row = await this.#parts.run('RESTART');
    if (row?.[0] === 1) {
      this.#handleHeldBack();
      return;
    }
    this.#logPages = 0;
    this.#succeeded();
  }

  #succeeded(): void {
    this.#wait = 0;
    this.#heldBack = false;
    this.#refusal = null;
    this.#parts.report(null);
  }

  /** The first time it may be a long read of this server; the second time it is another program. */
  #handleHeldBack(): void {
    if (this.#heldBack)
      this.#parts.report({
        severity: 'warning',
        message:
          'The write-ahead log cannot be reset and grows, because another connection holds a read transaction open. End that program.',
      });
    this.#heldBack = true;
    this.#retryLater();
  }

  #failed(cause: unknown): void {
    this.#bound(cause);
    this.#retryLater();
  }

  #retryLater(): void {
    const { firstRetryMilliseconds, maxRetryMilliseconds } = this.#bounds;
    this.#wait = Math.min(Math.max(this.#wait * 2, firstRetryMilliseconds), maxRetryMilliseconds);
    if (!this.#closed) this.#timer ??= setTimeout(() => this.#begin(), this.#wait).unref();
  }

  /** @param cause of a failure that just happened; null: the log has only grown since. */
  #bound(cause: unknown): void {
    if (cause === null && (this.#refusal || this.#heldBack)) return;
    const why = cause === null ? null : String((cause as Error).message ?? cause);
    if (this.#logBytes() <= this.#bounds.maxLogBytes) {
      if (why !== null)
        this.#parts.report({
          severity: 'warning',
          message: `The write-ahead log cannot be carried over into the database file and grows: ${why}.`,
          cause,
        });
      return;
    }
    const [megabytes, seconds] = [this.#bounds.maxLogBytes / 1024 ** 2, this.#bounds.maxRetryMilliseconds / 1000];
    const message =
      `Writes are refused: the write-ahead log is over ${Math.round(megabytes)} MB and cannot be carried over into the database file. ` +
      `Free disk space or repair the disk; the server retries every ${Math.round(seconds)} seconds.`;
    this.#refusal = new DatabaseFault('unavailable', cause ?? message);
    this.#parts.report({ severity: 'failing', message, ...(cause !== null && { cause }) });
  }

  #logBytes(): number {
    return statSync(this.#parts.logPath, { throwIfNoEntry: false })?.size ?? 0;
  }
}
