/** Runs one statement of the server's own: outside of any transaction, or inside one. */
import { bindFixed, type Database, type Row, type Transaction } from './database.ts';
import type { Sql } from './sql.ts';

export async function readRows(database: Database, statement: Sql): Promise<Row[]> {
  return (await database.read([bindFixed(database.dialect, statement)]))[0]!;
}

export function runInTransaction(database: Database, transaction: Transaction, statement: Sql): Promise<Row[]> {
  return transaction.run(bindFixed(database.dialect, statement));
}
