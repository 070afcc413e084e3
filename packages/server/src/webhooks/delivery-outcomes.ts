import { type Clock, isoTime } from '../base/clock.ts';
import { processCounters } from '../base/metrics.ts';
import type { Database } from '../database/database.ts';
import {
  type DeliveryOutcome,
  recordDeliveryOutcomes,
  type SettledDelivery,
  type StoredDelivery,
} from '../database/delivery-rows.ts';

/** Outcomes within this time are stored in one transaction, because the commit is the expensive part. */
const gatherMilliseconds = 5;
/** How outcomes are counted; null: nothing was sent. */
const countedAs = { pending: 'retried', delivered: 'delivered', skipped: null, dead: 'failed' } as const;

/** Stores the outcomes of attempts. If the process is killed before that, the message is sent again with the same id. */
export class DeliveryOutcomes {
  readonly #database: Database;
  readonly #clock: Clock;
  #outcomes: SettledDelivery[] = [];
  #next: Promise<void> | null = null;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Resolves when the outcome is stored. */
  write(delivery: StoredDelivery, outcome: DeliveryOutcome): Promise<void> {
    this.#outcomes.push({ delivery, outcome });
    const counted = countedAs[outcome.status];
    if (counted !== null) processCounters.webhooks[counted] += 1;
    this.#next ??= new Promise<void>((resolve) => setTimeout(resolve, gatherMilliseconds)).then(() => this.#write());
    return this.#next;
  }

  #write(): Promise<void> {
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    this.#next = null;
    return recordDeliveryOutcomes(this.#database, outcomes, isoTime(this.#clock.now()));
  }
}
