import { type Clock, isoTime } from '../base/clock.ts';
import type { Database } from '../database/database.ts';
import {
  type DeliveryOutcome,
  recordDeliveryOutcomes,
  type SettledDelivery,
  type StoredDelivery,
} from '../database/delivery-rows.ts';

/** What ends within so short a time is noted in one transaction: its commit costs more than the notes. */
const gatherMilliseconds = 5;

/** Notes how tries ended. What a kill keeps from being noted is sent again under the same id. */
export class DeliveryOutcomes {
  readonly #database: Database;
  readonly #clock: Clock;
  #outcomes: SettledDelivery[] = [];
  #next: Promise<void> | null = null;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Resolves when it is noted. */
  write(delivery: StoredDelivery, outcome: DeliveryOutcome): Promise<void> {
    this.#outcomes.push({ delivery, outcome });
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
