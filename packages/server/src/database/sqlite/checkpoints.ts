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
  /** Statements between two checkpoints: about 20 MB of log, since a small commit writes four or five pages. */
  readonly statements: number;
  /** From this log size on a checkpoint blocks writes, so that the log can be reset. */
  readonly blockingBytes: number;
  /** From this log size on writes are refused while checkpoints fail. */
  readonly maxLogBytes: number;
  readonly firstRetryMilliseconds: number;
  readonly maxRetryMilliseconds: number;
}

const defaultBounds: CheckpointBounds = {
  statements: 1000,
  blockingBytes: 256 * 1024 * 1024,
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
  }

  /** Why writes are refused now, or null. */
  get refusal(): DatabaseFault | null {
    return this.#refusal;
  }

  /** Counts what a durable transaction has written. */
  countWrites(statements: number): void {
    this.#statements += statements;
    if (this.#statements <= this.#bounds.statements || this.#running || this.#closed) return;
    this.#statements = 0;
    if (this.#wait === 0) this.#begin();
    else this.#bound(null);
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
    const blocking = this.#logBytes() > this.#bounds.blockingBytes;
    try {
      const row = await this.#parts.run(blocking ? 'RESTART' : 'PASSIVE');
      if (blocking && row?.[0] === 1) this.#handleHeldBack();
      else this.#succeeded();
    } catch (error) {
      // Ending the thread by closing is not a failure.
      if (!this.#closed) this.#failed(error);
    }
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
