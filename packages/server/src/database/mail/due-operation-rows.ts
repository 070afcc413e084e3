import type { Database } from '../database.ts';
import { createReader } from '../run-statement.ts';
import { sql, value } from '../sql.ts';

/** Accounts with operations that can be sent now, for a server that was not notified of them. @param now ISO 8601. */
export async function readAccountsWithDueOperations(database: Database, now: string): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT DISTINCT "accountId" FROM "mailOperations" WHERE status='queued' AND ("notBefore" IS NULL OR "notBefore"<=${value('datetime', now)})`,
  );
  return rows.map(([account]) => Number(account));
}
