/** Deletes old events, in small batches between writes, so that no write waits for long. */
import { setTimeout as pause } from 'node:timers/promises';
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

/** Deletes an application's old events every 30 seconds. */
export class EventRetention {
  readonly #log: ChangeLog;
  readonly #limits: EventLimits;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #ended = false;

  constructor(log: ChangeLog, limits: EventLimits, clock: Clock, logger: Logger) {
    this.#log = log;
    this.#limits = limits;
    this.#clock = clock;
    this.#logger = logger;
  }

  begin(): void {
    this.#timer = setInterval(() => void this.prune(), pruneIntervalMilliseconds).unref();
  }

  /** Deletes all events that are too old now. */
  prune(): Promise<void> {
    this.#running ??= this.#deleteBatches().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Stops. Resolves when no batch is running. */
  async end(): Promise<void> {
    this.#ended = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#running;
  }

  async #deleteBatches(): Promise<void> {
    try {
      const before = isoTime(this.#clock.now() - this.#limits.days * dayMilliseconds);
      while (
        !this.#ended &&
        (await this.#log.prune({ before, maxEvents: this.#limits.entries, batchSize: eventsPerBatch }))
      )
        await pause(batchPauseMilliseconds);
    } catch (error) {
      this.#logger.warn({ err: error }, 'old events could not be deleted');
    }
  }
}
