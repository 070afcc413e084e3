/** Statements about placements as the mail server knows them: by mailbox, UIDVALIDITY and UID. */

import type { Database, Row, Transaction } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import { type Columns, insertRows } from '../row-insert.ts';
import { createReader, createTxRunner, type RunStatement } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { parseTextList } from './address-lists.ts';
import { TransactionRows } from './transaction-rows.ts';

/** Where an e-mail is on the mail server. */
export interface ServerPosition {
  readonly uidvalidity: string | null;
  /** Null: the server does not have it there yet, or not any more. */
  readonly uid: number | null;
  readonly modseq: string | null;
  /** Flags, keywords and labels that the server confirmed last; null: none were ever read. */
  readonly flags: readonly string[] | null;
}

/** A placement of an e-mail, with what the mail server says about it. */
export interface ServerPlacement extends ServerPosition {
  readonly id: number;
  readonly emailId: number;
  readonly mailboxId: number;
  /** Whether the server no longer shows the message, and it is not known yet whether it was moved or deleted there. */
  readonly isLost: boolean;
}

/** A placement to be stored. Without a position, the server does not have it. */
export type NewPlacement = Pick<ServerPlacement, 'emailId' | 'mailboxId'> & Partial<ServerPosition>;

/** Stores placements. */
export async function insertPlacements(
  run: RunStatement,
  dialect: Dialect,
  placements: readonly NewPlacement[],
): Promise<void> {
  const rows = placements.map((each) => [
    each.emailId,
    each.mailboxId,
    each.uidvalidity,
    each.uid,
    each.modseq,
    each.flags,
  ]);
  await insertRows(run, dialect, 'mailPlacements', placementColumns, rows);
}

const placementColumns: Columns = [
  ['emailId', 'bigint'],
  ['mailboxId', 'integer'],
  ['uidvalidity', 'text'],
  ['uid', 'bigint'],
  ['modseq', 'text'],
  ['flags', 'json'],
];

const selectPlacements = sql`SELECT p.id,p."emailId",p."mailboxId",p.uidvalidity,p.uid,p.modseq,p.flags,l.id FROM "mailPlacements" p LEFT JOIN "mailLostPlacements" l ON l."placementId"=p.id`;

/** Placements inside a transaction. */
export class ServerPlacementRows extends TransactionRows {
  constructor(database: Database, transaction: Transaction) {
    super(database, transaction, ['mailPlacements']);
  }

  /** All placements of e-mails, in the order in which they were added. */
  async readByEmails(emails: readonly number[]): Promise<ServerPlacement[]> {
    const rows = await this.run(sql`${selectPlacements} WHERE ${this.#isIn('p."emailId"', emails)} ORDER BY p.id`);
    return rows.map(toPlacement);
  }

  /** The placements in a mailbox that have some UIDs. */
  async readByUids(mailbox: number, uidvalidity: string, uids: readonly number[]): Promise<ServerPlacement[]> {
    const rows = await this.run(
      sql`${selectPlacements} WHERE ${isOfValidity(mailbox, uidvalidity)} AND ${this.#isIn('p.uid', uids)}`,
    );
    return rows.map(toPlacement);
  }

  async add(placements: readonly NewPlacement[]): Promise<void> {
    await insertPlacements(this.run, this.database.dialect, placements);
  }

  /** Sets where a placement is on the server. It is not lost then. */
  async setPosition(id: number, position: ServerPosition): Promise<void> {
    await this.run(
      sql`UPDATE "mailPlacements" SET uidvalidity=${value('text', position.uidvalidity)},uid=${value('bigint', position.uid)},modseq=${value('text', position.modseq)},flags=${value('json', position.flags)} WHERE id=${value('bigint', id)}`,
    );
    await this.unmarkLost([id]);
  }

  /** Sets the flags that the server has confirmed. @param modseq null: it does not change. */
  async setFlags(ids: readonly number[], flags: readonly string[], modseq: string | null): Promise<void> {
    await this.run(
      sql`UPDATE "mailPlacements" SET flags=${value('json', flags)},modseq=coalesce(${value('text', modseq)},modseq) WHERE ${this.#isIn('id', ids)}`,
    );
  }

  async remove(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await this.run(sql`DELETE FROM "mailPlacements" WHERE ${this.#isIn('id', ids)}`);
  }

  /** Marks placements as lost and removes their UIDs. @param at the present, ISO 8601. */
  async markLost(account: number, ids: readonly number[], at: string): Promise<void> {
    if (ids.length === 0) return;
    await this.run(
      sql`UPDATE "mailPlacements" SET uid=NULL,uidvalidity=NULL,modseq=NULL WHERE ${this.#isIn('id', ids)}`,
    );
    await this.run(
      sql`INSERT INTO "mailLostPlacements" ("accountId","placementId",at) SELECT ${value('integer', account)},p.id,${value('datetime', at)} FROM "mailPlacements" p WHERE ${this.#isIn('p.id', ids)} ON CONFLICT ("placementId") DO NOTHING`,
    );
  }

  /** Marks all placements of a mailbox that have a UID as lost. @param at the present, ISO 8601. */
  async markMailboxLost(account: number, mailbox: number, at: string): Promise<void> {
    const isThere = sql`"mailboxId"=${value('integer', mailbox)} AND uid IS NOT NULL`;
    await this.run(
      sql`INSERT INTO "mailLostPlacements" ("accountId","placementId",at) SELECT ${value('integer', account)},id,${value('datetime', at)} FROM "mailPlacements" WHERE ${isThere} ON CONFLICT ("placementId") DO NOTHING`,
    );
    await this.run(sql`UPDATE "mailPlacements" SET uid=NULL,uidvalidity=NULL,modseq=NULL WHERE ${isThere}`);
  }

  /** Placements that were found again are not lost. */
  async unmarkLost(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await this.run(sql`DELETE FROM "mailLostPlacements" WHERE ${this.#isIn('"placementId"', ids)}`);
  }

  #isIn(column: string, values: readonly number[]): Sql {
    return this.database.dialect.isIn(sql`${column}`, listValue('bigint', values));
  }
}

/** A message of an e-mail on the server. */
export interface ServerCopy {
  readonly emailId: number;
  readonly mailboxId: number;
  readonly rawPath: string;
  readonly uidvalidity: string | null;
  readonly uid: number;
}

/** The messages of e-mails that the server has, as far as their UIDs are known. */
export async function readServerCopies(database: Database, emails: readonly number[]): Promise<ServerCopy[]> {
  const isOne = database.dialect.isIn(sql`p."emailId"`, listValue('bigint', emails));
  const rows = await createReader(database)(
    sql`SELECT p."emailId",p."mailboxId",m."rawPath",p.uidvalidity,p.uid FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" WHERE ${isOne} AND p.uid IS NOT NULL AND m."rawPath" IS NOT NULL ORDER BY p.id`,
  );
  return rows.map(([emailId, mailboxId, rawPath, uidvalidity, uid]) => ({
    emailId: Number(emailId),
    mailboxId: Number(mailboxId),
    rawPath: rawPath as string,
    uidvalidity: uidvalidity as string | null,
    uid: Number(uid),
  }));
}

/** Selects lost placements of an account. */
export interface LostSelection {
  readonly account: number;
  /** ISO 8601: when they were lost at the latest. */
  readonly before: string;
  /** Null: in any mailbox. */
  readonly mailbox: number | null;
}

/** Lost placements, the oldest first. */
export async function readLostPlacements(
  database: Database,
  transaction: Transaction,
  { account, before, mailbox }: LostSelection,
  max: number,
): Promise<ServerPlacement[]> {
  const isThere = mailbox === null ? sql`1=1` : sql`p."mailboxId"=${value('integer', mailbox)}`;
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT p.id,p."emailId",p."mailboxId",p.uidvalidity,p.uid,p.modseq,p.flags,l.id FROM "mailLostPlacements" l JOIN "mailPlacements" p ON p.id=l."placementId" WHERE l."accountId"=${value('integer', account)} AND l.at<=${value('datetime', before)} AND ${isThere} ORDER BY l.id LIMIT ${max}`,
  );
  return rows.map(toPlacement);
}

/** How many placements of an account are lost. */
export async function countLostPlacements(database: Database, account: number): Promise<number> {
  const [row] = await createReader(database)(
    sql`SELECT count(*) FROM "mailLostPlacements" WHERE "accountId"=${value('integer', account)}`,
  );
  return Number(row?.[0] ?? 0);
}

/** A stored message of a mailbox. */
export interface StoredUid {
  readonly uid: number;
  readonly flags: readonly string[] | null;
}

/** Selects messages of a mailbox. */
export interface UidSelection {
  readonly mailbox: number;
  readonly uidvalidity: string;
  /** Only UIDs below this one; null: all. */
  readonly below: number | null;
}

/** The stored messages of a mailbox, those with the highest UIDs first. */
export async function readStoredUids(
  database: Database,
  { mailbox, uidvalidity, below }: UidSelection,
  max: number,
): Promise<StoredUid[]> {
  const isBelow = below === null ? sql`p.uid IS NOT NULL` : sql`p.uid<${value('bigint', below)}`;
  const rows = await createReader(database)(
    sql`SELECT p.uid,p.flags FROM "mailPlacements" p WHERE ${isOfValidity(mailbox, uidvalidity)} AND ${isBelow} ORDER BY p.uid DESC LIMIT ${max}`,
  );
  return rows.map(([uid, flags]) => ({ uid: Number(uid), flags: toFlags(flags) }));
}

/**
 * How many messages of a mailbox the server must have, according to what is stored: messages with a UID, and messages
 * that an operation has yet to move away or delete there.
 */
export async function countStoredUids(database: Database, mailbox: number, uidvalidity: string): Promise<number> {
  const isPlaced = sql`${isOfValidity(mailbox, uidvalidity)} AND p.uid IS NOT NULL`;
  const placed = sql`SELECT count(*) FROM "mailPlacements" p WHERE ${isPlaced}`;
  // Two queries instead of a union: the mailbox can have 100,000 messages, and few operations wait.
  const taken = sql`SELECT count(DISTINCT p.uid) FROM "mailOperations" p WHERE ${isPlaced} AND p.kind IN ('move','delete') AND NOT EXISTS (SELECT 1 FROM "mailPlacements" q WHERE q."mailboxId"=p."mailboxId" AND q.uidvalidity=p.uidvalidity AND q.uid=p.uid)`;
  const [row] = await createReader(database)(sql`SELECT (${placed})+(${taken})`);
  return Number(row?.[0]);
}

/**
 * Which UIDs of a mailbox are unknown: neither a placement refers to them, nor an operation that moved the message
 * away.
 */
export async function findUnknownUids(
  database: Database,
  mailbox: number,
  uidvalidity: string,
  uids: readonly number[],
): Promise<number[]> {
  if (uids.length === 0) return [];
  const run = createReader(database);
  const wanted = listValue('bigint', uids);
  const placed = await run(
    sql`SELECT p.uid FROM "mailPlacements" p WHERE ${isOfValidity(mailbox, uidvalidity)} AND ${database.dialect.isIn(sql`p.uid`, wanted)}`,
  );
  const taken = await run(
    sql`SELECT p.uid FROM "mailOperations" p WHERE ${isOfValidity(mailbox, uidvalidity)} AND ${database.dialect.isIn(sql`p.uid`, wanted)} AND p.kind IN ('move','delete')`,
  );
  const known = new Set([...placed, ...taken].map(([uid]) => Number(uid)));
  return uids.filter((uid) => !known.has(uid));
}

const isOfValidity = (mailbox: number, uidvalidity: string): Sql =>
  sql`p."mailboxId"=${value('integer', mailbox)} AND p.uidvalidity=${value('text', uidvalidity)}`;

const toFlags = (column: unknown): readonly string[] | null => (column === null ? null : parseTextList(column));

function toPlacement([id, email, mailbox, uidvalidity, uid, modseq, flags, lost]: Row): ServerPlacement {
  return {
    id: Number(id),
    emailId: Number(email),
    mailboxId: Number(mailbox),
    uidvalidity: uidvalidity as string | null,
    uid: uid === null ? null : Number(uid),
    modseq: modseq as string | null,
    flags: toFlags(flags),
    isLost: lost !== null,
  };
}
