import type { Database } from '../database.ts';
import { createReader } from '../run-statement.ts';
import { sql } from '../sql.ts';

/** How long the result that an application has no accounts is cached. */
const recheckMilliseconds = 30_000;

/**
 * Whether an application has mail accounts. Most have none, so their background work for mail has nothing to do. Where several servers
 * share a store, each of them looks for work that another one has left; with thousands of applications, these statements are most of
 * the load of idle ones.
 */
export class AccountPresence {
  readonly #database: Database;
  #noneUntil = Number.NEGATIVE_INFINITY;
  /** The statement under way: workers that run at the same time share it. */
  #checking: Promise<boolean> | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  /** False: there was none at the last check, which is at most half a minute ago. Another server may have created one since. */
  async mayHaveAny(): Promise<boolean> {
    if (performance.now() < this.#noneUntil) return false;
    this.#checking ??= this.#check();
    return this.#checking;
  }

  /** Runs background work, unless there is no account. */
  async runIfAny(work: () => Promise<void>): Promise<void> {
    if (await this.mayHaveAny()) await work();
  }

  /** Discards the result of the last check, because an account was created or work was queued here. */
  recheck(): void {
    this.#noneUntil = Number.NEGATIVE_INFINITY;
    this.#checking = null;
  }

  #check(): Promise<boolean> {
    const check: Promise<boolean> = createReader(this.#database)(sql`SELECT 1 FROM accounts LIMIT 1`)
      .then((found) => {
        // Not if `recheck` was called meanwhile: an account may have been created after the statement ran.
        if (found.length === 0 && this.#checking === check) this.#noneUntil = performance.now() + recheckMilliseconds;
        return found.length > 0;
      })
      .finally(() => {
        if (this.#checking === check) this.#checking = null;
      });
    return check;
  }
}
