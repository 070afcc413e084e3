import type { Database, Transaction } from '../database.ts';
import { createTxRunner } from '../run-statement.ts';
import { sql, value } from '../sql.ts';

/** The number of searches that a user has saved. */
export async function countSavedSearches(database: Database, transaction: Transaction, user: number): Promise<number> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT count(*) FROM "mailSavedSearches" WHERE "userId"=${value('integer', user)}`);
  return Number(row?.[0] ?? 0);
}
