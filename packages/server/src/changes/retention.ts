/** Deletes old events, in small batches between writes, so that no write waits for long. */
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundWorker } from '../base/background-worker.ts';
import { type Clock, dayMilliseconds, isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ChangeLog } from './change-log.ts';

/** Events are deleted when they are older than `days`, or when more than `entries` newer ones exist. */
export interface EventLimits {
  readonly days: number;
  readonly entries: number;
}

export interface EventRetentionParts {
  readonly log: ChangeLog;
  readonly limits: EventLimits;
  readonly clock: Clock;
  readonly logger: Logger;
}

const pruneIntervalMilliseconds = 30_000;
/**
 * How often old events are deleted while this server writes no new ones. Other servers delete events after their own
 * writes.
 */
const idlePruneMilliseconds = 600_000;
const eventsPerBatch = 200;
/** Other writes run between two batches. At most 20,000 events are deleted in a second. */
const batchPauseMilliseconds = 10;

/** Deletes old events at a fixed interval. A run ends when no event exceeds the limits. */
export class EventRetention {
  readonly #parts: EventRetentionParts;
  readonly #worker: BackgroundWorker;
  /** Whether events were written here, or a caller requested a deletion of old ones, since the last run. */
  #isDue = true;
  #ranAt = Number.NEGATIVE_INFINITY;
  /** The limits of the last run: they can be changed while the server runs. */
  #ranWith: EventLimits | null = null;

  constructor(parts: EventRetentionParts) {
    this.#parts = parts;
    this.#worker = new BackgroundWorker({
      run: () => this.#run(),
      onError: (error) => parts.logger.warn({ err: error }, 'Old events could not be deleted.'),
      intervalMilliseconds: pruneIntervalMilliseconds,
    });
    parts.log.subscribe(() => {
      this.#isDue = true;
    });
  }

  start(): void {
    this.#worker.start();
  }

  stop(): Promise<void> {
    return this.#worker.stop();
  }

  /** Immediately deletes the events that exceed the limits. */
  prune(): Promise<void> {
    this.#isDue = true;
    return this.#worker.runNow();
  }

  async #run(): Promise<void> {
    const { log, limits, clock } = this.#parts;
    const now = clock.now();
    const isSame = this.#ranWith?.days === limits.days && this.#ranWith.entries === limits.entries;
    if (isSame && !this.#isDue && now - this.#ranAt < idlePruneMilliseconds) return;
    this.#isDue = false;
    this.#ranAt = now;
    this.#ranWith = { days: limits.days, entries: limits.entries };
    const before = isoTime(now - limits.days * dayMilliseconds);
    const batch = { before, maxEvents: limits.entries, batchSize: eventsPerBatch };
    while (!this.#worker.isStopped && (await log.prune(batch))) await pause(batchPauseMilliseconds);
  }
}
