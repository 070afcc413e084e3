import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HealthReporter } from '../../base/server-health.ts';
import { DatabaseFault, type Row } from '../database.ts';

/** PASSIVE blocks nothing. RESTART lets SQLite write the log from its beginning, TRUNCATE also empties its file. */
export type CheckpointMode = 'PASSIVE' | 'RESTART' | 'TRUNCATE';

export interface CheckpointParts {
  readonly logPath: string;
  /**
   * Runs `PRAGMA wal_checkpoint`; a RESTART or TRUNCATE while no write runs. Its row: busy, pages of the log, pages carried over.
   */
  readonly run: (mode: CheckpointMode) => Promise<Row | undefined>;
  readonly report: HealthReporter;
  /** The free space of the disk. Default: that of the file system with the log. */
  readonly readFreeBytes?: () => number;
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
  /** If the log has more pages than this, a checkpoint blocks writes, so that the log can be reset. Fewer if the disk is nearly full. */
  readonly blockingPages: number;
  readonly minBlockingPages: number;
  /** From this log size on writes are refused while checkpoints fail. */
  readonly maxLogBytes: number;
  readonly firstRetryMilliseconds: number;
  readonly maxRetryMilliseconds: number;
  /** A reset that other connections prevent for longer than this is reported. Reads of this server end before. */
  readonly heldBackMilliseconds: number;
}

const pageBytes = 4096;

const defaultBounds: CheckpointBounds = {
  pages: 8192,
  firstStatements: 1000,
  minStatements: 100,
  maxStatements: 16_000,
  blockingPages: 65_536,
  minBlockingPages: 1024,
  maxLogBytes: 1024 * 1024 * 1024,
  firstRetryMilliseconds: 1000,
  maxRetryMilliseconds: 30_000,
  heldBackMilliseconds: 10_000,
};
/** How much larger than the largest log a file may be before it is emptied. Until then, it is cheaper to write it again. */
const maxFileShare = 1.25;

/**
 * Runs checkpoints, which carry the write-ahead log over into the database file.
 *
 * If a checkpoint fails (the disk is full or broken), nothing is lost and writes continue, but the log grows. The failure is
 * reported and the checkpoint retried with growing waits. Past a bound, writes are refused until a checkpoint succeeds; reads continue.
 * A restart loses nothing, but the server does not start before the log can be carried over.
 *
 * If a write fails because the disk is full, the log is reset and its file is emptied: if the database file has free pages, there is
 * room again. On a small disk, the log is reset before it uses more than a quarter of the free space.
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
  /** Since when other connections prevent a reset, in performance.now() terms; null: nothing prevents it. */
  #heldBackSince: number | null = null;
  /** The disk is full, so the log must be reset, however short it is. */
  #mustReset = false;
  #triedAt = Number.NEGATIVE_INFINITY;
  #blockingPages: number;
  #refusal: DatabaseFault | null = null;
  #closed = false;

  constructor(parts: CheckpointParts) {
    this.#parts = parts;
    this.#bounds = { ...defaultBounds, ...parts.bounds };
    this.#interval = this.#bounds.firstStatements;
    this.#blockingPages = this.#bounds.blockingPages;
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

  /** Called after a write has failed because of the disk: a reset of the log may free space. */
  makeRoom(): void {
    this.#mustReset = true;
    if (this.#running || this.#closed || this.#timer) return;
    if (performance.now() - this.#triedAt > this.#bounds.firstRetryMilliseconds) this.#begin();
    else this.#retryLater();
  }

  /** Statements that write more than the last ones: the file of the log grows, unless it was larger before. */
  #hasGrown(): boolean {
    if (this.#statements < this.#seenStatements + this.#bounds.minStatements) return false;
    this.#seenStatements = this.#statements;
    return this.#logBytes() > this.#seenBytes + 2 * this.#pages * pageBytes;
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
    this.#triedAt = performance.now();
    try {
      this.#limitToDisk();
      this.#seenBytes = this.#logBytes();
      this.#planNext(statements, await this.#parts.run('PASSIVE'));
      if (this.#logPages <= this.#blockingPages && !this.#mustReset) this.#succeeded();
      else await this.#reset();
    } catch (error) {
      // Ending the thread by closing is not a failure.
      if (!this.#closed) this.#failed(error);
    }
  }

  #limitToDisk(): void {
    const { blockingPages, minBlockingPages } = this.#bounds;
    try {
      const share = Math.floor(this.#readFreeBytes() / pageBytes / 4);
      this.#blockingPages = Math.min(Math.max(share, minBlockingPages), blockingPages);
    } catch {
      this.#blockingPages = blockingPages; // a file system that does not tell its free space
    }
  }

  #readFreeBytes(): number {
    if (this.#parts.readFreeBytes) return this.#parts.readFreeBytes();
    const { bavail, bsize } = statfsSync(dirname(this.#parts.logPath));
    return bavail * bsize;
  }

  /** The pages to be written until the next checkpoint. */
  get #pages(): number {
    return Math.min(this.#bounds.pages, Math.ceil(this.#blockingPages / 4));
  }

  #planNext(statements: number, row: Row | undefined): void {
    const { minStatements, maxStatements } = this.#bounds;
    const logPages = Number(row?.[1] ?? 0);
    const written = logPages >= this.#logPages ? logPages - this.#logPages : logPages;
    const interval = Math.round((statements * this.#pages) / Math.max(written, 1));
    this.#interval = Math.min(Math.max(interval, minStatements), maxStatements);
    this.#logPages = logPages;
  }

  /** Blocks writes only for the pages that were written since the checkpoint before it. */
  async #reset(): Promise<void> {
    const isLarge = this.#logBytes() > this.#blockingPages * pageBytes * maxFileShare;
    const row = await this.#parts.run(isLarge || this.#mustReset ? 'TRUNCATE' : 'RESTART');
    if (row?.[0] === 1) {
      this.#handleHeldBack();
      return;
    }
    this.#logPages = 0;
    this.#seenBytes = this.#logBytes();
    this.#mustReset = false;
    this.#succeeded();
  }

  #succeeded(): void {
    this.#wait = 0;
    this.#heldBackSince = null;
    this.#refusal = null;
    this.#parts.report(null);
  }

  /** A long read of this server ends soon; a longer one is another program's. */
  #handleHeldBack(): void {
    this.#heldBackSince ??= this.#triedAt;
    if (performance.now() - this.#heldBackSince > this.#bounds.heldBackMilliseconds)
      this.#parts.report({
        severity: 'warning',
        message:
          'The write-ahead log cannot be reset and grows, because another connection holds a read transaction open. End that program.',
      });
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
    if (cause === null && (this.#refusal || this.#heldBackSince !== null)) return;
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
