/** Statements about operations: changes of an account that its mail server does not have yet. */
import type { Database, Row, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { insertRows } from '../row-insert.ts';
import { createReader } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { AccountBoundRows } from './account-bound-rows.ts';

export type OperationKind =
  | 'flags'
  | 'move'
  | 'delete'
  | 'append'
  | 'createMailbox'
  | 'renameMailbox'
  | 'deleteMailbox';

/** Flags, keywords and labels to set and to remove. Labels of Gmail begin with `label:`, see mail/store/server-flags.ts. */
export interface FlagChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** Properties of an operation that have no column of their own. */
export interface OperationPayload {
  /** The server's name of a mailbox that does not exist here any more. */
  readonly rawPath?: string;
  /** `renameMailbox`: the path before the rename. */
  readonly from?: string;
  /** `move`, and `delete` of a copy: what the server confirmed last about the message at its source. */
  readonly modseq?: string | null;
  readonly flags?: readonly string[] | null;
  /** `delete`: the e-mail was deleted for ever, not only a copy of it. */
  readonly isFinal?: boolean;
}

/** An operation to be stored. */
export interface NewOperation {
  readonly kind: OperationKind;
  readonly emailId?: number | null;
  /** Where the message is on the server; for an operation on a mailbox that mailbox. */
  readonly mailboxId?: number | null;
  readonly uidvalidity?: string | null;
  /** Null: not known yet; the operation waits until it is. */
  readonly uid?: number | null;
  /** The mailbox that a move goes to. `delete`: only a copy is deleted, because the message is in this mailbox already. */
  readonly targetId?: number | null;
  readonly flags?: FlagChange | null;
  readonly payload?: OperationPayload | null;
  /** ISO 8601; it is not sent before. */
  readonly notBefore?: string | null;
}

/** A stored operation. */
export interface MailOperation extends Required<NewOperation> {
  readonly id: number;
  readonly accountId: number;
  readonly status: 'queued' | 'running';
  /**
   * The number of attempts. If it is more than 0 and the operation is queued, an earlier attempt failed, or its outcome
   * is unknown.
   */
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: string;
}

/** An operation that can be sent, with the server's names of its mailboxes. */
export interface DueOperation extends MailOperation {
  /**
   * The server's name of the mailbox that the message is in, or of the mailbox to rename or delete; null:
   * `createMailbox`.
   */
  readonly rawPath: string | null;
  /** Its path here. */
  readonly path: string | null;
  readonly targetRawPath: string | null;
}

/** An operation that was being sent and is queued again. */
export type QueuedAgain = Pick<MailOperation, 'id' | 'kind' | 'emailId'>;

const columns = sql`o.id,o."accountId",o.kind,o."emailId",o."mailboxId",o.uidvalidity,o.uid,o."targetId",o.flags,o.payload,o.status,o.attempts,o."notBefore",o."lastError",o."createdAt"`;
const columnCount = 15;

/** The operations of one account inside a transaction. */
export class OperationRows extends AccountBoundRows {
  constructor(database: Database, transaction: Transaction, account: number) {
    super(database, transaction, account);
    transaction.touch('mailOperations');
  }

  /** Stores operations, in the order in which they are sent. @param at the present, ISO 8601. */
  async add(operations: readonly NewOperation[], at: string): Promise<void> {
    const rows = operations.map((each) => [
      this.account,
      each.kind,
      each.emailId,
      each.mailboxId,
      each.uidvalidity,
      each.uid,
      each.targetId,
      each.flags,
      each.payload,
      'queued',
      0,
      each.notBefore,
      at,
    ]);
    await insertRows(
      this.run,
      this.database.dialect,
      'mailOperations',
      [
        ['accountId', 'integer'],
        ['kind', 'text'],
        ['emailId', 'bigint'],
        ['mailboxId', 'integer'],
        ['uidvalidity', 'text'],
        ['uid', 'bigint'],
        ['targetId', 'integer'],
        ['flags', 'json'],
        ['payload', 'json'],
        ['status', 'text'],
        ['attempts', 'integer'],
        ['notBefore', 'datetime'],
        ['createdAt', 'datetime'],
      ],
      rows,
    );
  }

  /** An operation by its key; null if it was coalesced, completed or dropped. */
  async read(id: number): Promise<MailOperation | null> {
    const [row] = await this.run(sql`SELECT ${columns} FROM "mailOperations" o WHERE o.id=${value('bigint', id)}`);
    return row ? toOperation(row) : null;
  }

  /** Operations by their keys. */
  async readByKeys(ids: readonly number[]): Promise<MailOperation[]> {
    const rows = await this.run(sql`SELECT ${columns} FROM "mailOperations" o WHERE ${this.#isIn('o.id', ids)}`);
    return rows.map(toOperation);
  }

  /** The operations of e-mails, the oldest first. */
  async readByEmails(emails: readonly number[]): Promise<MailOperation[]> {
    const rows = await this.run(
      sql`SELECT ${columns} FROM "mailOperations" o WHERE ${this.#isIn('o."emailId"', emails)} ORDER BY o.id`,
    );
    return rows.map(toOperation);
  }

  /** The operations on messages of a mailbox with some UIDs, the oldest first. */
  async readByUids(mailbox: number, uidvalidity: string, uids: readonly number[]): Promise<MailOperation[]> {
    const isThere = sql`o."mailboxId"=${value('integer', mailbox)} AND o.uidvalidity=${value('text', uidvalidity)}`;
    const rows = await this.run(
      sql`SELECT ${columns} FROM "mailOperations" o WHERE ${isThere} AND ${this.#isIn('o.uid', uids)} ORDER BY o.id`,
    );
    return rows.map(toOperation);
  }

  /** The operations that name a mailbox, also as a target, the oldest first. */
  async readByMailbox(mailbox: number): Promise<MailOperation[]> {
    const key = value('integer', mailbox);
    const rows = await this.run(
      sql`SELECT ${columns} FROM "mailOperations" o WHERE o."accountId"=${value('integer', this.account)} AND (o."mailboxId"=${key} OR o."targetId"=${key}) ORDER BY o.id`,
    );
    return rows.map(toOperation);
  }

  /** The operations of the account of one kind, the oldest first. */
  async readByKind(kind: OperationKind): Promise<MailOperation[]> {
    const rows = await this.run(
      sql`SELECT ${columns} FROM "mailOperations" o WHERE o."accountId"=${value('integer', this.account)} AND o.kind=${value('text', kind)} ORDER BY o.id`,
    );
    return rows.map(toOperation);
  }

  /** Changes the message, the target and the details of an operation. */
  async update(id: number, operation: NewOperation): Promise<void> {
    await this.run(
      sql`UPDATE "mailOperations" SET kind=${value('text', operation.kind)},"mailboxId"=${value('integer', operation.mailboxId ?? null)},uidvalidity=${value('text', operation.uidvalidity ?? null)},uid=${value('bigint', operation.uid ?? null)},"targetId"=${value('integer', operation.targetId ?? null)},flags=${value('json', operation.flags ?? null)},payload=${value('json', operation.payload ?? null)},"notBefore"=${value('datetime', operation.notBefore ?? null)} WHERE id=${value('bigint', id)}`,
    );
  }

  /** Deletes operations. */
  async remove(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await this.run(sql`DELETE FROM "mailOperations" WHERE ${this.#isIn('id', ids)}`);
  }

  /**
   * Deletes queued operations whose message the server shows nowhere, unless another operation of the e-mail puts it
   * there, or the e-mail is lost and still being searched for.
   *
   * @param before ISO 8601: when they were queued at the latest.
   * @returns the targets of the moves among them: nothing brings these messages any more.
   */
  async removeUnplaced(before: string): Promise<{ readonly emailId: number; readonly mailboxId: number }[]> {
    const isLost = sql`EXISTS (SELECT 1 FROM "mailLostPlacements" l JOIN "mailPlacements" p ON p.id=l."placementId" WHERE p."emailId"="mailOperations"."emailId")`;
    const isBrought = sql`EXISTS (SELECT 1 FROM "mailOperations" e WHERE e."emailId"="mailOperations"."emailId" AND (e.kind='append' OR (e.kind='move' AND (e.uid IS NOT NULL OR e.status='running'))))`;
    const rows = await this.run(
      sql`DELETE FROM "mailOperations" WHERE "accountId"=${value('integer', this.account)} AND kind IN ('flags','move','delete') AND uid IS NULL AND status='queued' AND "createdAt"<=${value('datetime', before)} AND NOT ${isBrought} AND NOT ${isLost} RETURNING kind,"emailId","targetId"`,
    );
    return rows.flatMap(([kind, email, target]) =>
      kind === 'move' && email !== null && target !== null
        ? [{ emailId: Number(email), mailboxId: Number(target) }]
        : [],
    );
  }

  /** Deletes all operations of the account. */
  async removeAll(): Promise<void> {
    await this.run(sql`DELETE FROM "mailOperations" WHERE "accountId"=${value('integer', this.account)}`);
  }

  /** Marks queued operations as being sent. @returns those that were still queued. */
  async begin(ids: readonly number[]): Promise<number[]> {
    const rows = await this.run(
      sql`UPDATE "mailOperations" SET status='running',attempts=attempts+1 WHERE ${this.#isIn('id', ids)} AND status='queued' RETURNING id`,
    );
    return rows.map(([id]) => Number(id));
  }

  /** Queues an operation again after a failure. @param error why, for the log of the account. */
  async retry(id: number, error: string | null, notBefore: string | null): Promise<QueuedAgain[]> {
    const rows = await this.run(
      sql`UPDATE "mailOperations" SET status='queued',"lastError"=${value('text', error)},"notBefore"=${value('datetime', notBefore)} WHERE id=${value('bigint', id)} RETURNING id,kind,"emailId"`,
    );
    return rows.map(toQueuedAgain);
  }

  /** Queues the operations again that were being sent when a server stopped. */
  async requeueRunning(): Promise<QueuedAgain[]> {
    const rows = await this.run(
      sql`UPDATE "mailOperations" SET status='queued' WHERE "accountId"=${value('integer', this.account)} AND status='running' RETURNING id,kind,"emailId"`,
    );
    return rows.map(toQueuedAgain);
  }

  #isIn(column: string, values: readonly number[]): Sql {
    return this.database.dialect.isIn(sql`${column}`, listValue('bigint', values));
  }
}

/**
 * The operations of an account that can be sent now, the oldest first. Not among them: those that wait for a UID, for a mailbox
 * that does not exist on the server yet, or for an earlier operation on the same message or mailbox.
 *
 * @param now ISO 8601.
 */
export async function readDueOperations(
  database: Database,
  account: number,
  now: string,
  max: number,
): Promise<DueOperation[]> {
  const isTime = sql`(o."notBefore" IS NULL OR o."notBefore"<=${value('datetime', now)})`;
  const hasUid = sql`(o.uid IS NOT NULL OR o.kind NOT IN ('flags','move','delete'))`;
  const hasMailboxes = sql`(o.kind='createMailbox' OR ((m.id IS NULL OR m."rawPath" IS NOT NULL) AND (o.kind='delete' OR o."targetId" IS NULL OR t."rawPath" IS NOT NULL)))`;
  // A copy is deleted when another one is known to be on the server.
  const isLastCopy = sql`o.kind='delete' AND o."targetId" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "mailPlacements" p WHERE p."emailId"=o."emailId" AND p.uid IS NOT NULL AND NOT (p."mailboxId"=o."mailboxId" AND p.uid=o.uid AND p.uidvalidity=o.uidvalidity))`;
  // The copy of a draft that is replaced is deleted after its new version is stored.
  const isReplaced = sql`o.kind='delete' AND EXISTS (SELECT 1 FROM "mailOperations" e WHERE e."emailId"=o."emailId" AND e.id<o.id AND e.kind='append')`;
  const isInUse = sql`o.kind='deleteMailbox' AND EXISTS (SELECT 1 FROM "mailOperations" e WHERE e."accountId"=o."accountId" AND e.id<o.id AND (e."mailboxId"=o."mailboxId" OR e."targetId"=o."mailboxId"))`;
  const rows = await createReader(database)(
    sql`SELECT ${columns},m."rawPath",m.path,t."rawPath" FROM "mailOperations" o LEFT JOIN mailboxes m ON m.id=o."mailboxId" LEFT JOIN mailboxes t ON t.id=o."targetId" WHERE o."accountId"=${value('integer', account)} AND o.status='queued' AND ${isTime} AND ${hasUid} AND ${hasMailboxes} AND NOT (${isReplaced}) AND NOT (${isLastCopy}) AND NOT (${isInUse}) ORDER BY o.id LIMIT ${max}`,
  );
  return rows.map((row) => {
    const operation = toOperation(row);
    const [rawPath, path, target] = row.slice(columnCount) as (string | null)[];
    return {
      ...operation,
      rawPath: rawPath ?? operation.payload?.rawPath ?? null,
      path: path ?? null,
      targetRawPath: target ?? null,
    };
  });
}

/** The UIDs of a mailbox that queued operations name. */
export async function readOperationUids(
  database: Database,
  mailbox: number,
  uidvalidity: string | null,
): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT DISTINCT uid FROM "mailOperations" WHERE "mailboxId"=${value('integer', mailbox)} AND uidvalidity=${value('text', uidvalidity)} AND uid IS NOT NULL AND status='queued' ORDER BY uid`,
  );
  return rows.map(([uid]) => Number(uid));
}

/** How many changes of an account its mail server does not have yet. */
export async function countWaitingOperations(database: Database, account: number): Promise<number> {
  const [row] = await createReader(database)(
    sql`SELECT count(*) FROM "mailOperations" WHERE "accountId"=${value('integer', account)}`,
  );
  return Number(row?.[0] ?? 0);
}

const toQueuedAgain = ([id, kind, email]: Row): QueuedAgain => ({
  id: Number(id),
  kind: kind as OperationKind,
  emailId: toNumber(email),
});

function toOperation([
  id,
  account,
  kind,
  email,
  mailbox,
  uidvalidity,
  uid,
  target,
  flags,
  payload,
  ...rest
]: Row): MailOperation {
  const [status, attempts, notBefore, lastError, createdAt] = rest;
  return {
    id: Number(id),
    accountId: Number(account),
    kind: kind as OperationKind,
    emailId: toNumber(email),
    mailboxId: toNumber(mailbox),
    uidvalidity: uidvalidity as string | null,
    uid: toNumber(uid),
    targetId: toNumber(target),
    flags: parseJsonColumn(flags) as FlagChange | null,
    payload: parseJsonColumn(payload) as OperationPayload | null,
    status: status as MailOperation['status'],
    attempts: Number(attempts),
    notBefore: toIso(notBefore),
    lastError: lastError as string | null,
    createdAt: toIso(createdAt) ?? '',
  };
}

const toNumber = (column: unknown): number | null => (column === null ? null : Number(column));
const toIso = (column: unknown): string | null => (column === null ? null : new Date(column as string).toISOString());
