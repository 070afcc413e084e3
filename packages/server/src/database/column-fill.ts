import type { Storage } from '../schema/field-type.ts';
import { type Database, fixed, type Transaction } from './database.ts';
import { identifier, sql, value } from './sql.ts';

/** Records in a table. */
export async function countRows(database: Database, transaction: Transaction, table: string): Promise<number> {
  const [row] = await transaction.run(fixed(database.dialect, sql`SELECT count(*) FROM ${identifier(table)}`));
  return Number(row![0]);
}

/** Gives every record of a table the same value in one column. */
export async function fillColumn(
  database: Database,
  transaction: Transaction,
  table: string,
  column: string,
  storage: Storage,
  canonical: unknown,
): Promise<void> {
  await transaction.run(
    fixed(database.dialect, sql`UPDATE ${identifier(table)} SET ${identifier(column)}=${value(storage, canonical)}`),
  );
}
