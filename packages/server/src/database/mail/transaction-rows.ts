import type { Database, Transaction } from '../database.ts';
import { createTxRunner, type RunStatement } from '../run-statement.ts';

/** Statements of one transaction. Each subclass has the statements about one kind of rows. */
export abstract class TransactionRows {
  protected readonly database: Database;
  protected readonly run: RunStatement;

  /** @param tables the tables that the statements change. Their readers are notified when the transaction has ended. */
  constructor(database: Database, transaction: Transaction, tables: readonly string[]) {
    this.database = database;
    this.run = createTxRunner(database, transaction);
    for (const table of tables) transaction.touch(table);
  }
}
