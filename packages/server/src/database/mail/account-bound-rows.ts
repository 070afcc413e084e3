import type { Database, Transaction } from '../database.ts';
import { createRunner, type RunStatement } from '../run-statement.ts';
import { type Sql, sql, value } from '../sql.ts';

/** Statements about the mail of one account. Each subclass has the statements about one kind of rows. */
export abstract class AccountBoundRows {
  protected readonly database: Database;
  protected readonly run: RunStatement;
  protected readonly account: number;

  /** @param transaction the statements run in it; null: outside of any transaction, for reads only. */
  constructor(database: Database, transaction: Transaction | null, account: number) {
    this.database = database;
    this.run = createRunner(database, transaction);
    this.account = account;
  }

  /** The condition that selects the rows of the account, in a statement in which only one table has the column `accountId`. */
  protected get isOfAccount(): Sql {
    return sql`"accountId"=${value('integer', this.account)}`;
  }
}
