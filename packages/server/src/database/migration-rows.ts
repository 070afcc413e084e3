import type { Database, Transaction } from './database.ts';
import { runInTransaction } from './run-statement.ts';
import { sql, value } from './sql.ts';

/** Notes that a migration was applied. @param at ISO 8601. */
export async function insertMigration(
  database: Database,
  transaction: Transaction,
  { number, title }: { readonly number: number; readonly title: string },
  at: string,
): Promise<void> {
  const values = sql`${value('integer', number)},${value('text', title)},${value('text', at)}`;
  await runInTransaction(database, transaction, sql`INSERT INTO _migrations (number,title,at) VALUES (${values})`);
}
