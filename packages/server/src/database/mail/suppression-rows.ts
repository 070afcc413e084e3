/** Statements about addresses to which no campaign of an account is sent. */
import type { Database, Transaction } from '../database.ts';
import { createReader, createRunner, createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';

/** Why an address gets no campaigns. */
export interface NewSuppression {
  readonly account: number;
  /** In lower case. */
  readonly address: string;
  readonly reason: 'unsubscribed' | 'bounced';
  readonly campaign: number;
  /** ISO 8601. */
  readonly now: string;
}

/** Adds an address. @returns its key; null if it is already stored. */
export async function addSuppression(
  database: Database,
  transaction: Transaction,
  { account, address, reason, campaign, now }: NewSuppression,
): Promise<number | null> {
  transaction.touch('mailSuppressions');
  const at = value('datetime', now);
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO "mailSuppressions" ("accountId",address,reason,"campaignId","createdAt","updatedAt") VALUES (${value('integer', account)},${value('text', address)},${value('text', reason)},${value('integer', campaign)},${at},${at}) ON CONFLICT ("accountId",address) DO NOTHING RETURNING id`,
  );
  return row ? Number(row[0]) : null;
}

/** Which of the addresses get no campaigns of an account, with the reasons. @param transaction null: outside of one. */
export async function findSuppressed(
  database: Database,
  transaction: Transaction | null,
  account: number,
  addresses: readonly string[],
): Promise<Map<string, string>> {
  if (addresses.length === 0) return new Map();
  const isNamed = database.dialect.isIn(sql`address`, listValue('text', addresses));
  const rows = await createRunner(
    database,
    transaction,
  )(sql`SELECT address,reason FROM "mailSuppressions" WHERE "accountId"=${value('integer', account)} AND ${isNamed}`);
  return new Map(rows.map(([address, reason]) => [address as string, reason as string]));
}

/** Why a message of a campaign must not be sent any more; null: it may, or it belongs to no campaign. */
export async function findCampaignRefusal(
  database: Database,
  email: number,
): Promise<'suppressed' | 'cancelled' | null> {
  const isSuppressed = sql`EXISTS (SELECT 1 FROM "mailSuppressions" s WHERE s."accountId"=m."accountId" AND s.address=m.address)`;
  const [row] = await createReader(database)(
    sql`SELECT c.status,CASE WHEN ${isSuppressed} THEN 1 ELSE 0 END FROM "mailCampaignMessages" m JOIN "mailCampaigns" c ON c.id=m."campaignId" WHERE m."emailId"=${value('bigint', email)}`,
  );
  if (!row) return null;
  if (Number(row[1]) === 1) return 'suppressed';
  return row[0] === 'cancelled' ? 'cancelled' : null;
}

/** Whether an e-mail is a message of a campaign. */
export async function isCampaignEmail(database: Database, email: number): Promise<boolean> {
  const rows = await createReader(database)(
    sql`SELECT 1 FROM "mailCampaignMessages" WHERE "emailId"=${value('bigint', email)}`,
  );
  return rows.length > 0;
}
