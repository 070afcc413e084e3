/** Runs single statements that the server writes itself, outside of a transaction or in one. */
import { bindFixed, type Database, type Row, type Transaction } from './database.ts';
import type { Sql } from './sql.ts';

/** Reads the rows of a statement outside of any transaction. */
export async function readRows(database: Database, statement: Sql): Promise<Row[]> {
  const [rows] = await database.read([bindFixed(database.dialect, statement)]);
  return rows ?? [];
}

/** Runs a statement in a transaction. */
export function runInTransaction(database: Database, transaction: Transaction, statement: Sql): Promise<Row[]> {
  return transaction.run(bindFixed(database.dialect, statement));
}
