/** Runs one statement of the server's own: outside of any transaction, or inside one. */
import { type Database, fixed, type Row, type Transaction } from './database.ts';
import type { Sql } from './sql.ts';

export async function read(database: Database, statement: Sql): Promise<Row[]> {
  return (await database.read([fixed(database.dialect, statement)]))[0]!;
}

export function run(database: Database, transaction: Transaction, statement: Sql): Promise<Row[]> {
  return transaction.run(fixed(database.dialect, statement));
}
