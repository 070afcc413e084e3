/** Statements about automatic replies: the senders that have received one. */
import type { Database, Transaction } from '../database.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { sql, value } from '../sql.ts';

/** An automatic reply that is about to be sent. */
export interface AutoReply {
  readonly account: number;
  /** `vacation`, or `rule <id>`. */
  readonly source: string;
  /** The recipient, in lower case. */
  readonly address: string;
}

/** Since when a reply counts, ISO 8601. */
export interface ReplyBounds {
  readonly now: string;
  /** A reply to the same sender after this time refuses another one. */
  readonly pauseStart: string;
  /** Replies of the account after this time count against {@link maxReplies}. */
  readonly hourStart: string;
  readonly maxReplies: number;
}

/**
 * Remembers a reply, in the transaction that puts it into the outbox. The caller holds the lock of the account's mail.
 *
 * @returns false if the sender has received one recently, or the account has sent too many: the reply must not be sent
 * then.
 */
export async function claimAutoReply(
  database: Database,
  transaction: Transaction,
  { account, source, address }: AutoReply,
  { now, pauseStart, hourStart, maxReplies }: ReplyBounds,
): Promise<boolean> {
  const run = createTxRunner(database, transaction);
  const accountId = value('integer', account);
  transaction.touch('mailAutoReplies');
  const [recent] = await run(
    sql`SELECT count(*) FROM "mailAutoReplies" WHERE "accountId"=${accountId} AND at>${value('datetime', hourStart)}`,
  );
  if (Number(recent?.[0]) >= maxReplies) return false;
  const rows = await run(
    sql`INSERT INTO "mailAutoReplies" ("accountId",source,address,at) VALUES (${accountId},${value('text', source)},${value('text', address)},${value('datetime', now)}) ON CONFLICT ("accountId",source,address) DO UPDATE SET at=excluded.at WHERE "mailAutoReplies".at<=${value('datetime', pauseStart)} RETURNING id`,
  );
  return rows.length > 0;
}

/** Whether a sender has received a reply recently. Only the transaction of {@link claimAutoReply} decides. */
export async function hasRecentAutoReply(
  database: Database,
  { account, source, address }: AutoReply,
  pauseStart: string,
): Promise<boolean> {
  const rows = await createReader(database)(
    sql`SELECT 1 FROM "mailAutoReplies" WHERE "accountId"=${value('integer', account)} AND source=${value('text', source)} AND address=${value('text', address)} AND at>${value('datetime', pauseStart)}`,
  );
  return rows.length > 0;
}

/** Deletes rows that are no longer needed. @param before ISO 8601. */
export async function pruneAutoReplies(database: Database, before: string): Promise<void> {
  await database.write(async (transaction) => {
    transaction.touch('mailAutoReplies');
    await createTxRunner(
      database,
      transaction,
    )(sql`DELETE FROM "mailAutoReplies" WHERE at<${value('datetime', before)}`);
  });
}
