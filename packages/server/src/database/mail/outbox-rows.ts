/** The outbox: messages that wait to be sent, from which the delivery worker takes those that are due. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import { parseTextList } from './address-lists.ts';

/** A message for the outbox. */
export interface QueuedMail {
  readonly account: number;
  readonly email: number;
  /** ISO 8601; it is not delivered before. */
  readonly sendAt: string;
  /** Addresses of the envelope. The recipients include Bcc, which is in no header. */
  readonly sender: string;
  readonly recipients: readonly string[];
}

/** A message of the outbox as requests see it. */
export interface OutboxEntry {
  readonly account: number;
  /** `sent`: no attempt follows, and at least one recipient was accepted. */
  readonly status: 'queued' | 'sending' | 'sent' | 'failed' | 'unknown';
  readonly sendAt: string;
  readonly recipients: readonly string[];
  /** The outcome for each recipient, as stored; null for a message that an earlier server version has queued. */
  readonly delivery: unknown;
}

/** Puts a message into the outbox. */
export async function queueMail(
  database: Database,
  transaction: Transaction,
  { account, email, sendAt, sender, recipients }: QueuedMail,
): Promise<void> {
  transaction.touch('mailOutbox');
  const due = value('datetime', sendAt);
  await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO "mailOutbox" ("accountId","emailId",status,"sendAt","nextAt",sender,recipients,attempts) VALUES (${value('integer', account)},${value('bigint', email)},'queued',${due},${due},${value('text', sender)},${value('json', recipients)},0)`,
  );
}

/**
 * Reads a message of the outbox and locks its row on engines with several nodes, so that no worker takes it until the transaction
 * ends.
 *
 * @returns null if the e-mail is not in the outbox.
 */
export async function lockOutboxEntry(
  database: Database,
  transaction: Transaction,
  email: number,
): Promise<OutboxEntry | null> {
  const run = createTxRunner(database, transaction);
  const isEmail = sql`"emailId"=${value('bigint', email)}`;
  // An update that changes nothing locks the row.
  const rows = await run(
    sql`UPDATE "mailOutbox" SET attempts=attempts WHERE ${isEmail} RETURNING "accountId",status,${database.dialect.scalar('datetime', sql`"sendAt"`)},recipients`,
  );
  const [row] = rows;
  if (!row) return null;
  const [content] = await run(
    sql`SELECT c.delivery FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e.id=${value('bigint', email)}`,
  );
  return {
    account: Number(row[0]),
    status: row[1] as OutboxEntry['status'],
    sendAt: row[2] as string,
    recipients: parseTextList(row[3]),
    delivery: parseJsonColumn(content?.[0]),
  };
}

/** The Message-ID of an e-mail of an account that was sent here; null for other e-mails. */
export async function readOutboxMessageId(
  database: Database,
  transaction: Transaction,
  account: number,
  email: number,
): Promise<{ readonly messageId: string | null } | null> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT e."messageId" FROM "mailOutbox" o JOIN emails e ON e.id=o."emailId" WHERE o."emailId"=${value('bigint', email)} AND o."accountId"=${value('integer', account)}`,
  );
  return row ? { messageId: row[0] as string | null } : null;
}

/** Removes a message from the outbox, whatever its status. */
export async function removeFromOutbox(database: Database, transaction: Transaction, email: number): Promise<void> {
  transaction.touch('mailOutbox');
  await createTxRunner(database, transaction)(sql`DELETE FROM "mailOutbox" WHERE "emailId"=${value('bigint', email)}`);
}

/** The next state of a message in the outbox. */
export interface OutboxChange {
  readonly status: OutboxEntry['status'];
  /** When the next attempt is due, ISO 8601; null: none follows. */
  readonly nextAt: string | null;
  readonly lastError: string | null;
}

/** Changes a message of the outbox that no worker holds. */
export async function changeOutboxEntry(
  database: Database,
  transaction: Transaction,
  email: number,
  { status, nextAt, lastError }: OutboxChange,
): Promise<void> {
  transaction.touch('mailOutbox');
  const last = sql`"lastError"=${value('text', lastError)},"leasedBy"=NULL,"leasedUntil"=NULL,transmitting=NULL`;
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE "mailOutbox" SET status=${value('text', status)},"nextAt"=${value('datetime', nextAt)},${last} WHERE "emailId"=${value('bigint', email)}`,
  );
}

/** Stores the outcome of a message that is sent here: for each recipient, and as a whole. */
export async function setDelivery(
  database: Database,
  transaction: Transaction,
  email: number,
  { state, status }: { readonly state: unknown; readonly status: string | null },
): Promise<void> {
  for (const table of ['emails', 'mailContents']) transaction.touch(table);
  const run = createTxRunner(database, transaction);
  const id = value('bigint', email);
  await run(
    sql`UPDATE "mailContents" SET delivery=${value('json', state)} WHERE id=(SELECT "contentId" FROM emails WHERE id=${id})`,
  );
  await run(sql`UPDATE emails SET "deliveryStatus"=${value('text', status)},_v=_v+1 WHERE id=${id}`);
}

/** Makes the waiting messages of an account due now, for example because its settings have changed. */
export async function makeAccountDue(
  database: Database,
  transaction: Transaction,
  account: number,
  now: string,
): Promise<void> {
  transaction.touch('mailOutbox');
  const due = value('datetime', now);
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE "mailOutbox" SET "nextAt"=${due} WHERE "accountId"=${value('integer', account)} AND status='queued' AND "nextAt">${due} AND "sendAt"<=${due}`,
  );
}

/** Whether one of some e-mails waits to be sent, or is being sent. */
export async function isAnyQueued(
  database: Database,
  transaction: Transaction,
  emails: readonly unknown[],
): Promise<boolean> {
  const which = database.dialect.isIn(sql`"emailId"`, listValue('bigint', emails));
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT 1 FROM "mailOutbox" WHERE ${which} AND status IN ('queued','sending') LIMIT 1`);
  return rows.length > 0;
}

/** Migrates an outbox of an earlier server version, which delivered nothing. */
export async function migrateOutbox(database: Database, transaction: Transaction): Promise<void> {
  await createTxRunner(database, transaction)(sql`UPDATE "mailOutbox" SET "nextAt"="sendAt" WHERE "nextAt" IS NULL`);
}
