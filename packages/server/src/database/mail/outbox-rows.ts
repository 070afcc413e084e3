/** The outbox: messages that wait to be sent, from which the delivery worker takes those that are due. */
import type { Database, Transaction } from '../database.ts';
import { createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';

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

/** Puts a message into the outbox. */
export async function queueMail(
  database: Database,
  transaction: Transaction,
  { account, email, sendAt, sender, recipients }: QueuedMail,
): Promise<void> {
  transaction.touch('mailOutbox');
  await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO "mailOutbox" ("accountId","emailId",status,"sendAt",sender,recipients,attempts) VALUES (${value('integer', account)},${value('bigint', email)},'queued',${value('datetime', sendAt)},${value('text', sender)},${value('json', recipients)},0)`,
  );
}

/**
 * Removes a message from the outbox, unless it is being delivered.
 *
 * @returns whether it was removed.
 */
export async function unqueueMail(database: Database, transaction: Transaction, email: number): Promise<boolean> {
  transaction.touch('mailOutbox');
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`DELETE FROM "mailOutbox" WHERE "emailId"=${value('bigint', email)} AND status='queued' RETURNING id`);
  return rows.length > 0;
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
