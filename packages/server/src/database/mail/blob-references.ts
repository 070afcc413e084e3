/** Which blobs of an account something refers to. */
import type { Database } from '../database.ts';
import { createReader } from '../run-statement.ts';
import { identifier, listValue, type Sql, sql, value } from '../sql.ts';

/** Of some blobs those that are the raw form of an e-mail, or attached to one. */
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

/** What drafts go on from, and what waits to be sent would, were it called back: files stand in these texts by their SHA-256. */
export async function readDraftSources(database: Database, account: number): Promise<string[]> {
  const accountId = value('integer', account);
  // Through the e-mails: whether there is a source stands behind all that a message says.
  const rows = await createReader(database)(
    sql`SELECT c.source FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e."accountId"=${accountId} AND (${database.dialect.isTrue(sql`e.draft`)} OR e.id IN (SELECT "emailId" FROM "mailOutbox" WHERE "accountId"=${accountId})) AND c.source IS NOT NULL`,
  );
  return rows.map(([source]) => (typeof source === 'string' ? source : JSON.stringify(source)));
}
