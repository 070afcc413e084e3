/** Statements about e-mails that are there: what a change of flags, a move or a destruction means for the counts beside them. */
import type { Database, Row, Transaction } from '../database.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { buildRecount } from './conversation-counts.ts';
import { PlacementRows } from './placement-rows.ts';

/** Where an e-mail lies, and what counts it. */
export interface EmailPlacement {
  readonly id: number;
  readonly accountId: number;
  readonly conversationId: number | null;
  /** The mailbox that it names itself; {@link mailboxIds} are all in which it lies. */
  readonly mailboxId: number | null;
  readonly mailboxIds: ReadonlySet<number>;
  readonly folder: string | null;
  readonly read: boolean;
}

/** E-mails whose folder goes by another name now, and the name it had. */
export interface RenamedFolder {
  readonly emails: readonly { readonly id: number; readonly conversationId: number }[];
  readonly before: string | null;
}

/** A statement is ended after some seconds; a mailbox may have any number of e-mails. */
const renameBatchSize = 2000;

type RunStatement = (statement: Sql) => Promise<Row[]>;

/** E-mails inside a transaction. */
export class EmailRows {
  readonly #database: Database;
  readonly #run: RunStatement;
  readonly #placements: PlacementRows;

  constructor(database: Database, transaction: Transaction) {
    this.#database = database;
    this.#run = createTxRunner(database, transaction);
    this.#placements = new PlacementRows(database, transaction);
    for (const table of ['emails', 'conversations', 'mailboxes']) transaction.touch(table);
  }

  async readPlacements(keys: readonly unknown[]): Promise<EmailPlacement[]> {
    const rows = await this.#run(
      sql`SELECT id,"accountId","conversationId","mailboxId",folder,read FROM emails WHERE ${this.#isIn('id', 'bigint', keys)}`,
    );
    const mailboxes = await this.#placements.readMailboxes(rows.map(([id]) => id));
    return rows.map((row) => toEmailPlacement(row, mailboxes.get(Number(row[0])) ?? new Set()));
  }

  /** Adds to the counts of mailboxes, by mailbox. */
  async count(changes: ReadonlyMap<number, { readonly messages: number; readonly unread: number }>): Promise<void> {
    for (const [mailbox, { messages, unread }] of changes) {
      if (messages === 0 && unread === 0) continue;
      await this.#run(
        sql`UPDATE mailboxes SET messages=messages+${value('integer', messages)},unread=unread+${value('integer', unread)},_v=_v+1 WHERE id=${value('integer', mailbox)}`,
      );
    }
  }

  /** Counts conversations anew. */
  async recount(conversations: readonly number[]): Promise<void> {
    for (const statement of buildRecount(this.#database, conversations)) await this.#run(statement);
  }

  /** Moves e-mails out of every mailbox in which they lie. */
  async move(keys: readonly number[], mailbox: number, folder: string): Promise<void> {
    const which = this.#isIn('id', 'bigint', keys);
    await this.#run(
      sql`UPDATE emails SET "mailboxId"=${value('integer', mailbox)},folder=${value('text', folder)},_v=_v+1 WHERE ${which}`,
    );
    await this.#run(sql`DELETE FROM "mailPlacements" WHERE ${this.#isIn('"emailId"', 'bigint', keys)}`);
    await this.#run(
      sql`INSERT INTO "mailPlacements" ("emailId","mailboxId") SELECT id,"mailboxId" FROM emails WHERE ${which}`,
    );
  }

  /** What lies beside e-mails that are about to be destroyed. Returns what is to be removed after them. */
  async deleteDependents(keys: readonly unknown[]): Promise<() => Promise<void>> {
    const rows = await this.#run(sql`SELECT "contentId" FROM emails WHERE ${this.#isIn('id', 'bigint', keys)}`);
    const contents = rows.flatMap(([id]) => (id === null ? [] : [Number(id)]));
    await this.#run(this.#database.fullText.remove(listValue('bigint', keys)));
    return async () => {
      await this.#run(sql`DELETE FROM "mailContents" WHERE ${this.#isIn('id', 'bigint', contents)}`);
    };
  }

  /** After a mailbox has got another path or role: what its e-mails say of it. Returns those that said something else. */
  async renameFolder(mailbox: number, folder: string): Promise<RenamedFolder> {
    const [row] = await this.#run(
      sql`SELECT folder FROM emails WHERE "mailboxId"=${value('integer', mailbox)} LIMIT 1`,
    );
    const to = value('text', folder);
    const some = sql`SELECT id FROM emails WHERE "mailboxId"=${value('integer', mailbox)} AND folder<>${to} LIMIT ${renameBatchSize}`;
    const rows: Row[] = [];
    for (let renamed = renameBatchSize; renamed === renameBatchSize; ) {
      const batch = await this.#run(
        sql`UPDATE emails SET folder=${to},_v=_v+1 WHERE id IN (${some}) RETURNING id,"conversationId"`,
      );
      renamed = batch.length;
      rows.push(...batch);
    }
    return {
      emails: rows.map(([id, conversation]) => ({ id: Number(id), conversationId: Number(conversation) })),
      before: (row?.[0] ?? null) as string | null,
    };
  }

  /** After a mailbox has become the trash or junk, or is it no more: what lies elsewhere too may name another one. */
  async updateSharedPlacements(mailbox: number): Promise<number[]> {
    return this.#placements.updatePrimaryMailboxes(await this.#placements.findShared(mailbox));
  }

  /** Of some conversations those that no e-mail is left in, with those that were joined to them. */
  async findEmptied(conversations: readonly number[]): Promise<number[]> {
    const rows = await this.#run(
      sql`SELECT id FROM conversations c WHERE ${this.#isIn('id', 'integer', conversations)} AND NOT EXISTS (SELECT 1 FROM emails e WHERE e."conversationId"=c.id)`,
    );
    const empty = rows.map(([id]) => Number(id));
    if (empty.length === 0) return [];
    const joined = await this.#run(
      sql`SELECT id FROM conversations WHERE "accountId" IN (SELECT "accountId" FROM conversations WHERE ${this.#isIn('id', 'integer', empty)}) AND "lastEmailId"=0 AND ${this.#isIn('"mergedInto"', 'integer', empty)}`,
    );
    return [...empty, ...joined.map(([id]) => Number(id))];
  }

  /** How many e-mails lie in mailboxes. */
  async countInMailboxes(mailboxes: readonly unknown[]): Promise<number> {
    const [row] = await this.#run(
      sql`SELECT count(*) FROM "mailPlacements" WHERE ${this.#isIn('"mailboxId"', 'integer', mailboxes)}`,
    );
    return Number(row![0]);
  }

  #isIn(column: string, storage: 'integer' | 'bigint', values: readonly unknown[]): Sql {
    return this.#database.dialect.isIn(sql`${column}`, listValue(storage, values));
  }
}

function toEmailPlacement(
  [id, accountId, conversationId, mailboxId, folder, read]: Row,
  mailboxIds: ReadonlySet<number>,
): EmailPlacement {
  return {
    id: Number(id),
    accountId: Number(accountId),
    conversationId: conversationId === null ? null : Number(conversationId),
    mailboxId: mailboxId === null ? null : Number(mailboxId),
    mailboxIds,
    folder: folder as string | null,
    read: Boolean(read),
  };
}

/** The raw bytes of an e-mail, by their SHA-256; null where there is none. */
export async function readRawBlob(
  database: Database,
  email: number,
): Promise<{ account: number; sha256: string } | null> {
  const [row] = await createReader(database)(
    sql`SELECT e."accountId",c."rawSha256" FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e.id=${value('bigint', email)}`,
  );
  return row ? { account: Number(row[0]), sha256: row[1] as string } : null;
}

/**
 * Cuts Message-IDs of earlier versions that are longer than an index of PostgreSQL takes (2,704 bytes): they were limited by characters,
 * not by bytes.
 */
export async function shortenMessageIds(database: Database, transaction: Transaction): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE emails SET "messageId"=substr("messageId",1,249) WHERE octet_length("messageId")>998`);
}
