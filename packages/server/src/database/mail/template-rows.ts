/** Statements about templates of messages. */
import type { Database, Transaction } from '../database.ts';
import { createTxRunner } from '../run-statement.ts';
import { listValue, sql } from '../sql.ts';

/** The ids of the authors of templates; null if the user was deleted. */
export async function readTemplateAuthors(
  database: Database,
  transaction: Transaction,
  keys: readonly unknown[],
): Promise<(number | null)[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT "authorId" FROM "mailTemplates" WHERE ${database.dialect.isIn(sql`id`, listValue('integer', keys))}`);
  return rows.map(([author]) => (author === null ? null : Number(author)));
}
