import type { Database } from '../database.ts';
import { createReader } from '../run-statement.ts';
import { sql } from '../sql.ts';

/** How long an application without accounts is taken to have none. */
const recheckMilliseconds = 30_000;

/**
 * Whether an application has mail accounts. Most have none, and where several servers share a store, each of them looks every two
 * seconds for messages that another one has queued: without accounts, there are none.
 */
export class AccountPresence {
  readonly #database: Database;
  #noneUntil = Number.NEGATIVE_INFINITY;

  constructor(database: Database) {
    this.#database = database;
  }

  /** False: there was none at the last check, which is at most half a minute ago. Another server may have created one since. */
  async mayHaveAny(): Promise<boolean> {
    if (performance.now() < this.#noneUntil) return false;
    const found = await createReader(this.#database)(sql`SELECT 1 FROM accounts LIMIT 1`);
    if (found.length === 0) this.#noneUntil = performance.now() + recheckMilliseconds;
    return found.length > 0;
  }

  /** Something was queued here, so there is one. */
  recheck(): void {
    this.#noneUntil = Number.NEGATIVE_INFINITY;
  }
}
