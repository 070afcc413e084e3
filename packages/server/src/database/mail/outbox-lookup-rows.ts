/** Statements about messages in the outbox whose outcome is unknown. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import { parseTextList } from './address-lists.ts';

/** A message whose outcome is unknown. */
export interface UnknownMail {
  /** The key of its row in the outbox. */
  readonly id: number;
  readonly account: number;
  readonly email: number;
  /** ISO 8601. */
  readonly sendAt: string;
  /** When the next lookup is due, ISO 8601. */
  readonly nextAt: string;
  readonly recipients: readonly string[];
  readonly delivery: unknown;
  /** Without angle brackets. */
  readonly messageId: string | null;
}

/** Lookups of messages whose outcome is unknown. */
export class OutboxLookups {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Messages whose lookup is due, the longest waiting first. */
  async readDue(now: string, max: number): Promise<UnknownMail[]> {
    const { dialect } = this.#database;
    const rows = await createReader(this.#database)(
      sql`SELECT o.id,o."accountId",o."emailId",${dialect.scalar('datetime', sql`o."sendAt"`)},${dialect.scalar('datetime', sql`o."nextAt"`)},o.recipients,c.delivery,e."messageId" FROM "mailOutbox" o JOIN emails e ON e.id=o."emailId" JOIN "mailContents" c ON c.id=e."contentId" WHERE o.status='unknown' AND o."nextAt"<=${value('datetime', now)} ORDER BY o."nextAt" LIMIT ${max}`,
    );
    return rows.map(([id, account, email, sendAt, nextAt, recipients, delivery, messageId]) => ({
      id: Number(id),
      account: Number(account),
      email: Number(email),
      sendAt: sendAt as string,
      nextAt: nextAt as string,
      recipients: parseTextList(recipients),
      delivery: parseJsonColumn(delivery),
      messageId: messageId as string | null,
    }));
  }

  /** Moves the time of the next lookup; null: none follows. @returns false if another server has done so. */
  async take({ id, nextAt }: UnknownMail, next: string | null): Promise<boolean> {
    const rows = await this.#database.write((transaction) => {
      transaction.touch('mailOutbox');
      return createTxRunner(
        this.#database,
        transaction,
      )(
        sql`UPDATE "mailOutbox" SET "nextAt"=${value('datetime', next)} WHERE id=${value('integer', id)} AND status='unknown' AND "nextAt"=${value('datetime', nextAt)} RETURNING id`,
      );
    });
    return rows.length > 0;
  }

  /** Whether the account has another e-mail with the Message-ID: a copy that the provider has filed. */
  async hasCopy({ account, email, messageId }: UnknownMail): Promise<boolean> {
    const rows = await createReader(this.#database)(
      sql`SELECT 1 FROM emails WHERE "accountId"=${value('integer', account)} AND "messageId"=${value('text', messageId)} AND id<>${value('bigint', email)} LIMIT 1`,
    );
    return rows.length > 0;
  }
}

/**
 * E-mails of an account that were sent here, by Message-ID.
 *
 * @param messageIds without angle brackets.
 */
export async function findSentByMessageId(
  database: Database,
  transaction: Transaction,
  account: number,
  messageIds: readonly string[],
): Promise<Map<string, number>> {
  if (messageIds.length === 0) return new Map();
  const isOne = database.dialect.isIn(sql`e."messageId"`, listValue('text', messageIds));
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT e."messageId",e.id FROM emails e JOIN "mailOutbox" o ON o."emailId"=e.id WHERE e."accountId"=${value('integer', account)} AND ${isOne}`,
  );
  return new Map(rows.map(([messageId, id]) => [messageId as string, Number(id)]));
}

/** The Message-IDs of an account's messages whose outcome is unknown, with their e-mails. */
export async function readUnknownMessageIds(
  database: Database,
  transaction: Transaction,
  account: number,
): Promise<Map<string, number>> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT e."messageId",e.id FROM "mailOutbox" o JOIN emails e ON e.id=o."emailId" WHERE o.status='unknown' AND o."accountId"=${value('integer', account)} AND e."messageId" IS NOT NULL`,
  );
  return new Map(rows.map(([messageId, id]) => [messageId as string, Number(id)]));
}
