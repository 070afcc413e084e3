/** Statements of stored settings, which are in the store of `main`. */
import type { Database, Transaction } from './database.ts';
import { createRunner, runInTransaction } from './run-statement.ts';
import { sql, value } from './sql.ts';

/** The stored texts by the names of settings, in the order of the names. Secrets are encrypted. */
export async function readStoredSettings(
  database: Database,
  transaction: Transaction | null = null,
): Promise<Record<string, string>> {
  const rows = await createRunner(database, transaction)(sql`SELECT name,value FROM _settings ORDER BY name`);
  return Object.fromEntries(rows.map(([name, text]) => [name as string, text as string]));
}

/** Stores the text of a setting; null: removes it. */
export async function writeStoredSetting(
  database: Database,
  transaction: Transaction,
  name: string,
  text: string | null,
): Promise<void> {
  await runInTransaction(database, transaction, sql`DELETE FROM _settings WHERE name=${value('text', name)}`);
  if (text === null) return;
  const insert = sql`INSERT INTO _settings (name,value) VALUES (${value('text', name)},${value('text', text)})`;
  await runInTransaction(database, transaction, insert);
}
