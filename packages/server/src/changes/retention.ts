/** Deletes old events, in small batches between writes, so that no write waits for long. */
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundWorker } from '../base/background-worker.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ChangeLog } from './change-log.ts';

/** Events are deleted when they are older than `days`, or when more than `entries` newer ones exist. */
export interface EventLimits {
  readonly days: number;
  readonly entries: number;
}

const pruneIntervalMilliseconds = 30_000;
const eventsPerBatch = 200;
/** Other writes run between two batches. At most 20,000 events are deleted in a second. */
const batchPauseMilliseconds = 10;
const dayMilliseconds = 86_400_000;

/** Deletes old events at a fixed interval. */
export class EventRetention {
  readonly #log: ChangeLog;
  readonly #limits: EventLimits;
  readonly #clock: Clock;
  readonly #worker: BackgroundWorker;

  constructor(log: ChangeLog, limits: EventLimits, clock: Clock, logger: Logger) {
    this.#log = log;
    this.#limits = limits;
    this.#clock = clock;
    this.#worker = new BackgroundWorker({
      run: () => this.#pruneInBatches(),
      onError: (error) => logger.warn({ err: error }, 'Old events could not be deleted.'),
      intervalMilliseconds: pruneIntervalMilliseconds,
    });
  }

  begin(): void {
    this.#worker.start();
  }

  /** Resolves when all events that are over their time or number are deleted. */
  prune(): Promise<void> {
    return this.#worker.runNow();
  }

  /** Resolves when no batch is under way. */
  end(): Promise<void> {
    return this.#worker.stop();
  }

  async #pruneInBatches(): Promise<void> {
    const before = isoTime(this.#clock.now() - this.#limits.days * dayMilliseconds);
    while (
      !this.#worker.isStopped &&
      (await this.#log.prune({ before, maxEvents: this.#limits.entries, batchSize: eventsPerBatch }))
    )
      await pause(batchPauseMilliseconds);
  }
}
