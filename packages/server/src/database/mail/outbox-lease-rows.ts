/**
 * Statements of the delivery worker about the outbox. A message is leased before it is sent, and the recipients to whom it is being
 * transmitted are stored before its first byte is sent. So a message whose worker died is either due again, or its outcome is
 * unknown, and it is never sent twice without a decision.
 */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader, createTxRunner, runInTransaction } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { deletingStatus } from './account-status.ts';
import { parseTextList } from './address-lists.ts';

/** A message that a worker has leased. */
export interface LeasedMail {
  /** The key of its row in the outbox. */
  readonly id: number;
  readonly account: number;
  readonly email: number;
  /** ISO 8601. */
  readonly sendAt: string;
  /** Addresses of the envelope. The sender of an automatic reply is empty. */
  readonly sender: string;
  readonly recipients: readonly string[];
  /**
   * The recipients to whom a worker was transmitting the message when its lease ended; null: it was not being
   * transmitted.
   */
  readonly interrupted: readonly string[] | null;
  /** The outcome for each recipient, as stored; null for a message that an earlier server version has queued. */
  readonly delivery: unknown;
  /** The address in its header From; null if it has none. */
  readonly author: string | null;
  /** Without angle brackets. */
  readonly messageId: string | null;
  readonly subject: string;
  /** The hash of its bytes, which are a blob of the account. */
  readonly rawSha256: string;
}

/** Who holds a lease, and until when (ISO 8601). */
export interface OutboxLease {
  readonly holder: string;
  readonly until: string;
}

const lockKey = 'mail delivery';
/** Messages can be sent for accounts that have an SMTP server and are not being deleted. */
const canSend = sql`a.smtp IS NOT NULL AND a.status<>${value('text', deletingStatus)}`;

/** Leases of messages in the outbox. */
export class OutboxLeases {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Accounts with due messages, the longest waiting first. */
  async findDueAccounts(now: string, excluded: readonly number[], max: number): Promise<number[]> {
    const isOther =
      excluded.length === 0
        ? sql``
        : sql` AND NOT ${this.#database.dialect.isIn(sql`o."accountId"`, listValue('integer', excluded))}`;
    const rows = await createReader(this.#database)(
      sql`SELECT o."accountId" FROM "mailOutbox" o JOIN accounts a ON a.id=o."accountId" WHERE ${isDue('o.', now)} AND ${canSend}${isOther} GROUP BY o."accountId" ORDER BY min(o."nextAt") LIMIT ${max}`,
    );
    return rows.map(([id]) => Number(id));
  }

  /** Ends the leases of an earlier process on a store that only one process uses. */
  async endAll(now: string): Promise<void> {
    const held = sql`SELECT 1 FROM "mailOutbox" WHERE status='sending' LIMIT 1`;
    if ((await createReader(this.#database)(held)).length === 0) return; // without a write, the disk is not synced
    await this.#database.write(async (transaction) => {
      transaction.touch('mailOutbox');
      const end = sql`"leasedUntil"=${value('datetime', now)}`;
      await runInTransaction(this.#database, transaction, sql`UPDATE "mailOutbox" SET ${end} WHERE status='sending'`);
    });
  }

  /** When the next message is due, in milliseconds since the Unix epoch; null if none waits. */
  async readNextDue(): Promise<number | null> {
    const { dialect } = this.#database;
    const waiting = sql`SELECT o."nextAt" AS at FROM "mailOutbox" o JOIN accounts a ON a.id=o."accountId" WHERE o.status='queued' AND ${canSend}`;
    const held = sql`SELECT "leasedUntil" AS at FROM "mailOutbox" WHERE status='sending'`;
    const [row] = await createReader(this.#database)<[at: string | null]>(
      sql`SELECT ${dialect.scalar('datetime', sql`at`)} FROM (SELECT min(at) AS at FROM (${waiting} UNION ALL ${held}) w) t`,
    );
    return row?.[0] == null ? null : Date.parse(row[0]);
  }

  /**
   * Leases the message of an account that has been due for the longest time. Workers on other servers do not get it until the lease
   * ends.
   *
   * @returns null if none is due.
   */
  claim(account: number, now: string, lease: OutboxLease): Promise<LeasedMail | null> {
    const due = sql`SELECT o.id FROM "mailOutbox" o WHERE o."accountId"=${value('integer', account)} AND ${isDue('o.', now)} ORDER BY o."nextAt",o.id LIMIT 1`;
    const work = async (transaction: Transaction): Promise<LeasedMail | null> => {
      const run = createTxRunner(this.#database, transaction);
      const [row] = await run(
        sql`UPDATE "mailOutbox" SET status='sending',attempts=attempts+1,${setLease(lease)} WHERE id=(${due}) AND ${isDue('', now)} RETURNING id`,
      );
      if (!row) return null;
      transaction.touch('mailOutbox');
      return this.#read(transaction, Number(row[0]));
    };
    return this.#database.write(work, { lockKey });
  }

  async #read(transaction: Transaction, id: number): Promise<LeasedMail | null> {
    const { dialect } = this.#database;
    const statement = sql`SELECT o."accountId",o."emailId",${dialect.scalar('datetime', sql`o."sendAt"`)},o.sender,o.recipients,o.transmitting,c.delivery,e."from",e."messageId",e.subject,c."rawSha256" FROM "mailOutbox" o JOIN emails e ON e.id=o."emailId" JOIN "mailContents" c ON c.id=e."contentId" WHERE o.id=${value('integer', id)}`;
    const [row] = await runInTransaction(this.#database, transaction, statement);
    if (!row) return null;
    const [account, email, sendAt, sender, recipients, transmitting, delivery, ...message] = row;
    const [from, messageId, subject, rawSha256] = message;
    const [author] = (parseJsonColumn(from) ?? []) as readonly { readonly address: string }[];
    return {
      id,
      account: Number(account),
      email: Number(email),
      sendAt: sendAt as string,
      sender: sender as string,
      recipients: parseTextList(recipients),
      interrupted: transmitting === null ? null : parseTextList(transmitting),
      delivery: parseJsonColumn(delivery),
      author: author?.address ?? null,
      messageId: messageId as string | null,
      subject: (subject ?? '') as string,
      rawSha256: rawSha256 as string,
    };
  }

  /** Extends a lease. @returns false if it is no longer held. */
  renew(id: number, lease: OutboxLease): Promise<boolean> {
    return this.#changeHeld(id, lease.holder, setLease(lease));
  }

  /**
   * Stores the recipients to whom the message is about to be transmitted. Durable before it resolves.
   *
   * @returns false if the lease is no longer held: then nothing may be sent.
   */
  beginTransmission(id: number, lease: OutboxLease, recipients: readonly string[]): Promise<boolean> {
    return this.#changeHeld(id, lease.holder, sql`transmitting=${value('json', recipients)},${setLease(lease)}`);
  }

  /** Whether a worker still holds a message, inside the transaction that stores its outcome. */
  async isHeld(transaction: Transaction, id: number, holder: string): Promise<boolean> {
    const rows = await runInTransaction(
      this.#database,
      transaction,
      sql`UPDATE "mailOutbox" SET attempts=attempts WHERE ${isHeldBy(id, holder)} RETURNING id`,
    );
    return rows.length > 0;
  }

  /** Notes that no transmission is under way, inside the transaction that stores the outcome of one. */
  async clearTransmission(transaction: Transaction, id: number): Promise<void> {
    await runInTransaction(
      this.#database,
      transaction,
      sql`UPDATE "mailOutbox" SET transmitting=NULL WHERE id=${value('integer', id)}`,
    );
  }

  /** Postpones the other due messages of an account whose server cannot be used now. Their attempts are not counted. */
  async postpone(account: number, now: string, nextAt: string): Promise<void> {
    await this.#database.write(async (transaction) => {
      transaction.touch('mailOutbox');
      await runInTransaction(
        this.#database,
        transaction,
        sql`UPDATE "mailOutbox" SET "nextAt"=${value('datetime', nextAt)} WHERE "accountId"=${value('integer', account)} AND status='queued' AND "nextAt"<=${value('datetime', now)}`,
      );
    });
  }

  async #changeHeld(id: number, holder: string, change: Sql): Promise<boolean> {
    const rows = await this.#database.write((transaction) => {
      transaction.touch('mailOutbox');
      return runInTransaction(
        this.#database,
        transaction,
        sql`UPDATE "mailOutbox" SET ${change} WHERE ${isHeldBy(id, holder)} RETURNING id`,
      );
    });
    return rows.length > 0;
  }
}

function isHeldBy(id: number, holder: string): Sql {
  return sql`id=${value('integer', id)} AND status='sending' AND "leasedBy"=${value('text', holder)}`;
}

function setLease({ holder, until }: OutboxLease): Sql {
  return sql`"leasedBy"=${value('text', holder)},"leasedUntil"=${value('datetime', until)}`;
}

/** A message that waits and whose time has come, or whose worker has died. */
function isDue(alias: 'o.' | '', now: string): Sql {
  const time = value('datetime', now);
  return sql`((${alias}status='queued' AND ${alias}"nextAt"<=${time}) OR (${alias}status='sending' AND ${alias}"leasedUntil"<=${time}))`;
}
