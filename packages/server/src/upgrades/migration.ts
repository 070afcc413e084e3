import type { Database, Transaction } from '../database/database.ts';

/**
 * A step from one version of a store to the next. Each is in a file whose name begins with its number, and is never
 * changed after its release.
 */
export interface Migration {
  /** The version of the store after it: 1, 2, 3 and so on. */
  readonly number: number;
  /** What it changes, as it is printed at the start. */
  readonly title: string;
  /**
   * Changes the store; absent: the start only adds tables, system collections and fields, which needs no statement of its own.
   *
   * It runs in a transaction with the note that it was applied, so a crash leaves the store before or after it. The tables of the
   * catalogue exist; the definitions of system collections are still those of the version before.
   */
  run?(database: Database, transaction: Transaction): Promise<void>;
}
