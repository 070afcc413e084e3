/** Statements about mailboxes as the mail server knows them. */
import type { Database, Row, Transaction } from '../database.ts';
import { createRunner, createTxRunner, requireRow } from '../run-statement.ts';
import { type Sql, sql, value } from '../sql.ts';
import { TransactionRows } from './transaction-rows.ts';

/** The state of synchronisation of a mailbox. */
export interface MailboxPosition {
  readonly uidvalidity: string | null;
  readonly uidnext: number | null;
  /** 64 bits, as text. */
  readonly highestmodseq: string | null;
  /** The lowest UID such that all messages with this UID or a higher one are stored; 1: all messages, null: none. */
  readonly backfillUid: number | null;
  /** ISO 8601. */
  readonly reconciledAt: string | null;
}

/** A stored mailbox. */
export interface MailboxRow extends MailboxPosition {
  readonly id: number;
  readonly accountId: number;
  readonly path: string;
  readonly role: string | null;
  /** The server's own name; null if the server does not have the mailbox. */
  readonly rawPath: string | null;
  readonly delimiter: string | null;
  readonly selectable: boolean;
  readonly objectId: string | null;
}

const columns = sql`id,"accountId",path,role,"rawPath",delimiter,selectable,"objectId",uidvalidity,uidnext,highestmodseq,"backfillUid","reconciledAt"`;

/** A mailbox by its key; null if it does not exist. */
export async function readMailboxRow(
  database: Database,
  transaction: Transaction,
  id: number,
): Promise<MailboxRow | null> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT ${columns} FROM mailboxes WHERE id=${value('integer', id)}`);
  return row ? toMailboxRow(row) : null;
}

/** The mailboxes of an account. @param transaction null: outside of a transaction. */
export async function readMailboxRows(
  database: Database,
  transaction: Transaction | null,
  account: number,
): Promise<MailboxRow[]> {
  const run = createRunner(database, transaction);
  const rows = await run(
    sql`SELECT ${columns} FROM mailboxes WHERE "accountId"=${value('integer', account)} ORDER BY id`,
  );
  return rows.map(toMailboxRow);
}

/** The properties of a mailbox in the server's list. */
export type MailboxNames = Pick<MailboxRow, 'path' | 'role' | 'rawPath' | 'delimiter' | 'selectable' | 'objectId'>;

/** Mailboxes inside a transaction. */
export class MailboxRows extends TransactionRows {
  constructor(database: Database, transaction: Transaction) {
    super(database, transaction, ['mailboxes']);
  }

  /** Creates a mailbox that the server has. @returns its key. */
  async add(account: number, names: MailboxNames): Promise<number> {
    const rows = await this.run(
      sql`INSERT INTO mailboxes ("accountId",path,role,messages,unread,"rawPath",delimiter,selectable,"objectId") VALUES (${value('integer', account)},${value('text', names.path)},${value('text', names.role)},0,0,${value('text', names.rawPath)},${value('text', names.delimiter)},${value('boolean', names.selectable)},${value('text', names.objectId)}) RETURNING id`,
    );
    return Number(requireRow(rows)[0]);
  }

  /** Sets the names of a mailbox. */
  async setNames(id: number, names: MailboxNames): Promise<void> {
    await this.run(
      sql`UPDATE mailboxes SET path=${value('text', names.path)},role=${value('text', names.role)},"rawPath"=${value('text', names.rawPath)},delimiter=${value('text', names.delimiter)},selectable=${value('boolean', names.selectable)},"objectId"=${value('text', names.objectId)},"lostAt"=NULL,_v=_v+1 WHERE id=${value('integer', id)}`,
    );
  }

  /** Renames the server's names of mailboxes inside of a mailbox. @param from the beginning of their names, with the delimiter. */
  async renameContained(account: number, from: string, to: string): Promise<void> {
    const length = [...from].length;
    await this.run(
      sql`UPDATE mailboxes SET "rawPath"=${value('text', to)}||substr("rawPath",${length + 1}) WHERE "accountId"=${value('integer', account)} AND substr("rawPath",1,${length})=${value('text', from)}`,
    );
  }

  /** Sets the given parts of what synchronisation has read; the others stay. */
  async setPosition(id: number, position: Partial<MailboxPosition>): Promise<void> {
    const storages = {
      uidvalidity: 'text',
      uidnext: 'text',
      highestmodseq: 'text',
      backfillUid: 'bigint',
      reconciledAt: 'datetime',
    } as const;
    for (const [name, storage] of Object.entries(storages)) {
      const given = position[name as keyof MailboxPosition];
      if (given === undefined) continue;
      const stored = name === 'uidnext' && given !== null ? String(given) : given;
      await this.run(
        sql`UPDATE mailboxes SET ${`"${name}"`}=${value(storage, stored)} WHERE id=${value('integer', id)}`,
      );
    }
  }

  /** Marks a mailbox as lost, because the server no longer lists it. @param at the present, ISO 8601. */
  async markLost(id: number, at: string): Promise<void> {
    await this.run(
      sql`UPDATE mailboxes SET "rawPath"=NULL,"objectId"=NULL,uidvalidity=NULL,uidnext=NULL,highestmodseq=NULL,"backfillUid"=NULL,"reconciledAt"=NULL,"lostAt"=${value('datetime', at)},_v=_v+1 WHERE id=${value('integer', id)}`,
    );
  }

  /**
   * Deletes mailboxes that the server no longer lists, if nothing is left in them. @returns those that were deleted.
   */
  async removeLost(account: number, before: string): Promise<number[]> {
    const isLost = sql`"accountId"=${value('integer', account)} AND "lostAt"<=${value('datetime', before)}`;
    const isUsed = (table: string, column: string): Sql =>
      sql`EXISTS (SELECT 1 FROM ${`"${table}"`} p WHERE p.${`"${column}"`}=mailboxes.id)`;
    const isWaiting = sql`EXISTS (SELECT 1 FROM "mailOperations" o WHERE o."mailboxId"=mailboxes.id AND o.kind='createMailbox')`;
    const rows = await this.run(
      sql`DELETE FROM mailboxes WHERE ${isLost} AND NOT ${isUsed('mailPlacements', 'mailboxId')} AND NOT ${isUsed('emails', 'mailboxId')} AND NOT ${isWaiting} RETURNING id`,
    );
    await this.run(sql`UPDATE mailboxes SET "lostAt"=NULL WHERE ${isLost}`);
    return rows.map(([id]) => Number(id));
  }
}

function toMailboxRow([
  id,
  account,
  path,
  role,
  rawPath,
  delimiter,
  selectable,
  objectId,
  ...position
]: Row): MailboxRow {
  const [uidvalidity, uidnext, highestmodseq, backfillUid, reconciledAt] = position;
  return {
    id: Number(id),
    accountId: Number(account),
    path: path as string,
    role: role as string | null,
    rawPath: rawPath as string | null,
    delimiter: delimiter as string | null,
    selectable: Boolean(selectable),
    objectId: objectId as string | null,
    uidvalidity: uidvalidity as string | null,
    uidnext: uidnext === null ? null : Number(uidnext),
    highestmodseq: highestmodseq as string | null,
    backfillUid: backfillUid === null ? null : Number(backfillUid),
    reconciledAt: reconciledAt === null ? null : new Date(reconciledAt as string).toISOString(),
  };
}
