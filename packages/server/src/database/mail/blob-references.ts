/** Which blobs of an account something refers to. */
import type { Database } from '../database.ts';
import { createReader } from '../run-statement.ts';
import { identifier, listValue, type Sql, sql, value } from '../sql.ts';

/** Which of the blobs are the raw form of an e-mail, or an attachment of one. */
export async function findReferencedBlobs(
  database: Database,
  account: number,
  sha256s: readonly string[],
): Promise<ReadonlySet<string>> {
  const isOfAccount = sql`"accountId"=${value('integer', account)}`;
  const names = listValue('text', sha256s);
  const isNamed = (column: string): Sql => database.dialect.isIn(sql`${identifier(column)}`, names);
  const rows = await createReader(database)(
    sql`SELECT sha256 FROM attachments WHERE ${isOfAccount} AND ${isNamed('sha256')} UNION SELECT "rawSha256" FROM "mailContents" WHERE ${isOfAccount} AND ${isNamed('rawSha256')}`,
  );
  return new Set(rows.map(([name]) => name as string));
}

/** The sources of drafts and of messages in the outbox: these texts name files by their SHA-256. */
export async function readDraftSources(database: Database, account: number): Promise<string[]> {
  const accountId = value('integer', account);
  // Joined with the e-mails, because only e-mails that were written here have a source.
  const rows = await createReader(database)(
    sql`SELECT c.source FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e."accountId"=${accountId} AND (${database.dialect.isTrue(sql`e.draft`)} OR e.id IN (SELECT "emailId" FROM "mailOutbox" WHERE "accountId"=${accountId})) AND c.source IS NOT NULL`,
  );
  return rows.map(([source]) => (typeof source === 'string' ? source : JSON.stringify(source)));
}
