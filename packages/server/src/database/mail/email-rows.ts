/** Statements about stored e-mails: placements, counts, moves, and deletion of what is stored next to them. */
import type { Database, Row, Transaction } from '../database.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { buildRecount } from './conversation-counts.ts';
import { PlacementRows } from './placement-rows.ts';
import { TransactionRows } from './transaction-rows.ts';

/** The mailboxes and the conversation of an e-mail. */
export interface EmailPlacement {
  readonly id: number;
  readonly accountId: number;
  readonly conversationId: number | null;
  /** Its primary mailbox; {@link mailboxIds} are all of its mailboxes. */
  readonly mailboxId: number | null;
  readonly mailboxIds: ReadonlySet<number>;
  readonly folder: string | null;
  readonly read: boolean;
  /** Whether the account has an IMAP server, which must get the changes of the e-mail. */
  readonly hasServer: boolean;
}

/** E-mails whose folder was renamed, and its former name. */
export interface RenamedFolder {
  readonly emails: readonly { readonly id: number; readonly conversationId: number }[];
  readonly before: string | null;
}

/** E-mails of one statement: statements have a time limit, and a mailbox may have any number of e-mails. */
const renameBatchSize = 2000;

/** Statements about stored e-mails inside a transaction. */
export class EmailRows extends TransactionRows {
  readonly #placements: PlacementRows;

  constructor(database: Database, transaction: Transaction) {
    super(database, transaction, ['emails', 'conversations', 'mailboxes']);
    this.#placements = new PlacementRows(database, transaction);
  }

  async readPlacements(keys: readonly unknown[]): Promise<EmailPlacement[]> {
    const rows = await this.run(
      sql`SELECT id,"accountId","conversationId","mailboxId",folder,read,(SELECT CASE WHEN a.imap IS NULL THEN 0 ELSE 1 END FROM accounts a WHERE a.id=emails."accountId") FROM emails WHERE ${this.#isIn('id', 'bigint', keys)}`,
    );
    const mailboxes = await this.#placements.readMailboxes(rows.map(([id]) => id));
    return rows.map((row) => toEmailPlacement(row, mailboxes.get(Number(row[0])) ?? new Set()));
  }

  /** Adds to the counts of mailboxes, by mailbox. */
  async count(changes: ReadonlyMap<number, { readonly messages: number; readonly unread: number }>): Promise<void> {
    for (const [mailbox, { messages, unread }] of changes) {
      if (messages === 0 && unread === 0) continue;
      await this.run(
        sql`UPDATE mailboxes SET messages=messages+${value('integer', messages)},unread=unread+${value('integer', unread)},_v=_v+1 WHERE id=${value('integer', mailbox)}`,
      );
    }
  }

  /** Recounts conversations. */
  async recount(conversations: readonly number[]): Promise<void> {
    for (const statement of buildRecount(this.database, conversations)) await this.run(statement);
  }

  /** Moves e-mails out of all their mailboxes into one. @param copies other mailboxes that they are put into, too. */
  async move(keys: readonly number[], mailbox: number, folder: string, copies: readonly number[]): Promise<void> {
    const which = this.#isIn('id', 'bigint', keys);
    await this.run(
      sql`UPDATE emails SET "mailboxId"=${value('integer', mailbox)},folder=${value('text', folder)},_v=_v+1 WHERE ${which}`,
    );
    const isTarget = this.#isIn('"mailboxId"', 'integer', [mailbox, ...copies]);
    await this.run(
      sql`DELETE FROM "mailPlacements" WHERE ${this.#isIn('"emailId"', 'bigint', keys)} AND NOT (${isTarget})`,
    );
    for (const each of [mailbox, ...copies]) await this.#placements.add(keys, each);
  }

  /** Deletes what refers to e-mails that are about to be deleted. @returns a function that deletes the rest after them. */
  async deleteDependents(keys: readonly unknown[]): Promise<() => Promise<void>> {
    const rows = await this.run(sql`SELECT "contentId" FROM emails WHERE ${this.#isIn('id', 'bigint', keys)}`);
    const contents = rows.flatMap(([id]) => (id === null ? [] : [Number(id)]));
    await this.run(this.database.fullText.remove(listValue('bigint', keys)));
    return async () => {
      await this.run(sql`DELETE FROM "mailContents" WHERE ${this.#isIn('id', 'bigint', contents)}`);
    };
  }

  /** Updates `folder` of the e-mails of a mailbox that was renamed or has another role. @returns the e-mails that changed. */
  async renameFolder(mailbox: number, folder: string): Promise<RenamedFolder> {
    const [row] = await this.run(sql`SELECT folder FROM emails WHERE "mailboxId"=${value('integer', mailbox)} LIMIT 1`);
    const to = value('text', folder);
    const some = sql`SELECT id FROM emails WHERE "mailboxId"=${value('integer', mailbox)} AND folder<>${to} LIMIT ${renameBatchSize}`;
    const rows: Row[] = [];
    for (let renamed = renameBatchSize; renamed === renameBatchSize; ) {
      const batch = await this.run(
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

  /** Updates the primary mailbox of e-mails that are in several mailboxes, after one of these became trash or junk, or ceased to be. */
  async updateSharedPlacements(mailbox: number): Promise<number[]> {
    return this.#placements.updatePrimaryMailboxes(await this.#placements.findShared(mailbox));
  }

  /** Conversations without e-mails among these, with the conversations that were merged into them. */
  async findEmptied(conversations: readonly number[]): Promise<number[]> {
    const rows = await this.run(
      sql`SELECT id FROM conversations c WHERE ${this.#isIn('id', 'integer', conversations)} AND NOT EXISTS (SELECT 1 FROM emails e WHERE e."conversationId"=c.id)`,
    );
    const empty = rows.map(([id]) => Number(id));
    if (empty.length === 0) return [];
    const joined = await this.run(
      sql`SELECT id FROM conversations WHERE "accountId" IN (SELECT "accountId" FROM conversations WHERE ${this.#isIn('id', 'integer', empty)}) AND "lastEmailId"=0 AND ${this.#isIn('"mergedInto"', 'integer', empty)}`,
    );
    return [...empty, ...joined.map(([id]) => Number(id))];
  }

  /** The number of e-mails in mailboxes. */
  async countInMailboxes(mailboxes: readonly unknown[]): Promise<number> {
    const [row] = await this.run(
      sql`SELECT count(*) FROM "mailPlacements" WHERE ${this.#isIn('"mailboxId"', 'integer', mailboxes)}`,
    );
    return Number(row![0]);
  }

  #isIn(column: string, storage: 'integer' | 'bigint', values: readonly unknown[]): Sql {
    return this.database.dialect.isIn(sql`${column}`, listValue(storage, values));
  }
}

function toEmailPlacement(
  [id, accountId, conversationId, mailboxId, folder, read, hasServer]: Row,
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
    hasServer: Number(hasServer) === 1,
  };
}

/** The blob with the raw bytes of an e-mail; null if it has none, or only its headers are stored. */
export async function readRawBlob(
  database: Database,
  email: number,
): Promise<{ account: number; sha256: string } | null> {
  const [row] = await createReader(database)(
    sql`SELECT e."accountId",c."rawSha256" FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e.id=${value('bigint', email)} AND e."bodyState" IS DISTINCT FROM 'partial'`,
  );
  return row ? { account: Number(row[0]), sha256: row[1] as string } : null;
}

/**
 * The Message-ID of an e-mail with angle brackets, and when it was received, ISO 8601; null if the e-mail is deleted.
 */
export async function readMessageStamp(
  database: Database,
  email: number,
): Promise<{ readonly messageId: string | null; readonly receivedAt: string | null } | null> {
  const receivedAt = database.dialect.scalar('datetime', sql`"receivedAt"`);
  const [row] = await createReader(database)(
    sql`SELECT "messageId",${receivedAt} FROM emails WHERE id=${value('bigint', email)}`,
  );
  if (!row) return null;
  const [messageId, time] = row as [string | null, string | null];
  return { messageId: messageId === null ? null : `<${messageId.replace(/^<|>$/g, '')}>`, receivedAt: time };
}

/**
 * Shortens Message-IDs of earlier server versions that exceed an index entry of PostgreSQL (2,704 bytes): they were limited by
 * characters, not by bytes.
 */
export async function shortenMessageIds(database: Database, transaction: Transaction): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE emails SET "messageId"=substr("messageId",1,249) WHERE octet_length("messageId")>998`);
}
