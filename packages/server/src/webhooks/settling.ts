import { type Clock, isoTime } from '../base/clock.ts';
import type { Database } from '../database/database.ts';
import { type Outcome, type Settled, type StoredDelivery, settleDeliveries } from '../database/delivery-rows.ts';

/** What ends within so short a time is noted in one transaction: its commit costs more than the notes. */
const gatherMilliseconds = 5;

/** Notes how tries ended. What a kill keeps from being noted is sent again under the same id. */
export class Settling {
  readonly #database: Database;
  readonly #clock: Clock;
  #settled: Settled[] = [];
  #next: Promise<void> | null = null;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Resolves when it is noted. */
  note(delivery: StoredDelivery, outcome: Outcome): Promise<void> {
    this.#settled.push({ delivery, outcome });
    this.#next ??= new Promise<void>((resolve) => setTimeout(resolve, gatherMilliseconds)).then(() => this.#write());
    return this.#next;
  }

  #write(): Promise<void> {
    const settled = this.#settled;
    this.#settled = [];
    this.#next = null;
    return settleDeliveries(this.#database, settled, isoTime(this.#clock.now()));
  }
}
