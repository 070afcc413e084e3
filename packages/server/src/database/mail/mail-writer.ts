/** Statements that store messages: lookup by identity, conversations, rows, full-text entries. */
import { pairUp } from '../../base/aligned-lists.ts';
import type { Database, Row, Transaction } from '../database.ts';
import type { FullTextEntry } from '../full-text-index.ts';
import { parseJsonColumn } from '../json-column.ts';
import { type Columns, insertRows } from '../row-insert.ts';
import { createReader, type RunStatement } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { AccountBoundRows } from './account-bound-rows.ts';
import { buildRecount } from './conversation-counts.ts';
import { emailKey } from './email-keys.ts';
import { belongingTables, moveBelongings } from './note-rows.ts';
import { insertPlacements, type NewPlacement, type ServerPosition } from './server-placement-rows.ts';

export interface MailAddressValue {
  readonly name: string;
  readonly address: string;
}

/** The addresses in the headers of a message. */
export interface AddressLists {
  readonly from: readonly MailAddressValue[];
  readonly to: readonly MailAddressValue[];
  readonly cc: readonly MailAddressValue[];
}

/** A participant of a conversation. `wrote` is absent where an earlier server version stored it. */
export interface ParticipantValue extends MailAddressValue {
  readonly wrote?: boolean;
}

/** The content of a message, which is stored in a separate row. */
export interface NewContent {
  readonly text: string;
  readonly html: string | null;
  readonly headers: unknown;
  readonly inReplyTo: readonly string[];
  readonly references: readonly string[];
  readonly bcc: readonly MailAddressValue[];
  readonly replyTo: readonly MailAddressValue[];
  readonly authentication: unknown;
  readonly rawSha256: string;
}

export interface NewAttachment {
  readonly filename: string | null;
  readonly contentType: string;
  readonly sniffedType: string | null;
  readonly size: number;
  readonly disposition: string;
  readonly contentId: string | null;
  /** Null: the bytes are still on the mail server, in the part {@link partId}. */
  readonly sha256: string | null;
  /** Number of the part as IMAP counts, where the server of the account knows it. */
  readonly partId?: string | null;
}

/** A message to store. Its key is made from `resolveReceivedAt` and the number of its content. */
export interface NewEmail extends AddressLists {
  readonly conversationId: number;
  readonly mailboxId: number;
  readonly folder: string;
  readonly identity: string;
  readonly subjectKey: string | null;
  readonly orphan: boolean;
  readonly ownAddresses: readonly string[];
  readonly messageId: string | null;
  readonly subject: string;
  readonly sentAt: string | null;
  readonly receivedAt: string;
  readonly snippet: string;
  readonly size: number;
  readonly read: boolean;
  readonly starred: boolean;
  readonly answered: boolean;
  readonly forwarded: boolean;
  readonly draft: boolean;
  readonly deleted: boolean;
  readonly outgoing: boolean;
  readonly hasAttachments: boolean;
  readonly labels: readonly string[];
  readonly keywords: readonly string[];
  readonly providerId: string | null;
  readonly providerThreadId: string | null;
  readonly warnings: readonly string[];
  readonly bodyState: string;
  /** Where it is on the mail server; null: the server does not have it. */
  readonly position: ServerPosition | null;
  readonly content: NewContent;
  readonly attachments: readonly NewAttachment[];
}

/** Writes mail of one account inside a transaction. */
export class MailWriter extends AccountBoundRows {
  constructor(database: Database, transaction: Transaction, account: number) {
    super(database, transaction, account);
    for (const table of belongingTables) transaction.touch(table);
    for (const table of ['emails', 'attachments', 'mailboxes', 'mailContents', 'mailPlacements'])
      transaction.touch(table);
  }

  /** The stored e-mails with some identities, by identity. */
  findExisting(identities: readonly string[]): Promise<Map<string, number>> {
    return findByIdentity(this.run, this.database, this.account, identities);
  }

  /** The conversations of messages, by thread key. */
  async findThreadConversations(keys: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.run(
      sql`SELECT key,"conversationId" FROM "mailThreadKeys" WHERE ${this.isOfAccount} AND ${this.#isIn('key', 'text', keys)}`,
    );
    return new Map(rows.map(([key, id]) => [key as string, Number(id)]));
  }

  /** Creates conversations. @returns their keys, in the order of `subjects`. */
  async addConversations(subjects: readonly string[]): Promise<number[]> {
    const rows = await this.#insert(
      'conversations',
      [
        ['accountId', 'integer'],
        ['subject', 'text'],
        ['participants', 'json'],
        ['messages', 'integer'],
        ['unread', 'integer'],
        ['starred', 'integer'],
        ['attachments', 'integer'],
        ['notes', 'integer'],
        ['state', 'text'],
        ['muted', 'boolean'],
        ['lastEmailId', 'bigint'],
      ],
      subjects.map((subject) => [this.account, subject, [], 0, 0, 0, 0, 0, 'open', false, 0]),
      sql` RETURNING id`,
    );
    return rows.map(([id]) => Number(id)).sort((one, second) => one - second);
  }

  /** Merges conversations: the others lead to the first from then on. @returns the e-mails that were moved. */
  async merge(into: number, merged: readonly number[]): Promise<number[]> {
    const isMerged = this.#isIn('"conversationId"', 'integer', merged);
    const intoConversation = value('integer', into);
    const moved = await this.run(
      sql`UPDATE emails SET "conversationId"=${intoConversation},_v=_v+1 WHERE ${isMerged} RETURNING id`,
    );
    await this.run(sql`UPDATE "mailThreadKeys" SET "conversationId"=${intoConversation} WHERE ${isMerged}`);
    await this.run(
      sql`UPDATE conversations SET "mergedInto"=${intoConversation},_v=_v+1 WHERE ${this.#isIn('id', 'integer', merged)} OR (${this.isOfAccount} AND ${this.#isIn('"mergedInto"', 'integer', merged)})`,
    );
    await moveBelongings(this.database, this.run, merged, into);
    return moved.map(([id]) => Number(id));
  }

  async addThreadKeys(keys: readonly (readonly [key: string, conversationId: number])[]): Promise<void> {
    await this.#insert(
      'mailThreadKeys',
      [
        ['accountId', 'integer'],
        ['key', 'text'],
        ['conversationId', 'integer'],
      ],
      keys.map(([key, conversation]) => [this.account, key, conversation]),
      sql` ON CONFLICT DO NOTHING`,
    );
  }

  /** Stores messages. @returns their keys, in order. */
  async addEmails(emails: readonly NewEmail[]): Promise<number[]> {
    const contents = await this.#insert(
      'mailContents',
      contentColumns,
      emails.map(({ content }) => [
        this.account,
        content.text,
        content.html,
        content.headers,
        content.inReplyTo,
        content.references,
        content.bcc,
        content.replyTo,
        content.authentication,
        content.rawSha256,
      ]),
      sql` RETURNING id`,
    );
    const numbers = contents.map(([id]) => Number(id)).sort((one, second) => one - second);
    const keys = pairUp(emails, numbers).map(([email, number]) => emailKey(email.receivedAt, number));
    await this.#insert(
      'emails',
      emailColumns,
      emails.map((email, index) => [
        keys[index],
        this.account,
        numbers[index],
        ...emailFields.map(([name]) => email[name]),
      ]),
    );
    await this.#addAttachments(emails, keys);
    await this.addPlacements(
      pairUp(emails, keys).map(([{ mailboxId, position }, emailId]) => ({ emailId, mailboxId, ...position })),
    );
    return keys;
  }

  async #addAttachments(emails: readonly NewEmail[], keys: readonly number[]): Promise<void> {
    const rows = pairUp(emails, keys).flatMap(([{ attachments }, key]) =>
      attachments.map((each) => toAttachmentValues(this.account, key, each)),
    );
    await this.#insert('attachments', attachmentColumns, rows);
  }

  /** Adds e-mails to mailboxes. */
  async addPlacements(placements: readonly NewPlacement[]): Promise<void> {
    await insertPlacements(this.run, this.database.dialect, placements);
  }

  async addToFullTextIndex(entries: readonly FullTextEntry[]): Promise<void> {
    const { dialect, fullText } = this.database;
    const { rowsPerInsert } = dialect;
    for (let start = 0; start < entries.length; start += rowsPerInsert)
      await this.run(fullText.insert(entries.slice(start, start + rowsPerInsert)));
  }

  async readParticipants(conversations: readonly number[]): Promise<Map<number, readonly ParticipantValue[]>> {
    const rows = await this.run(
      sql`SELECT id,participants FROM conversations WHERE ${this.#isIn('id', 'integer', conversations)}`,
    );
    return new Map(
      rows.map(([id, list]) => [Number(id), (parseJsonColumn(list) ?? []) as readonly ParticipantValue[]]),
    );
  }

  async setParticipants(conversation: number, participants: readonly ParticipantValue[]): Promise<void> {
    await this.run(
      sql`UPDATE conversations SET participants=${value('json', participants)} WHERE id=${value('integer', conversation)}`,
    );
  }

  /** Recounts conversations from their e-mails. */
  async recount(conversations: readonly number[]): Promise<void> {
    for (const statement of buildRecount(this.database, conversations)) await this.run(statement);
  }

  /** Adds to the counts of a mailbox. */
  async addToMailboxCounts(mailbox: number, messages: number, unread: number): Promise<void> {
    await this.run(
      sql`UPDATE mailboxes SET messages=messages+${value('integer', messages)},unread=unread+${value('integer', unread)},_v=_v+1 WHERE id=${value('integer', mailbox)}`,
    );
  }

  #isIn(column: string, storage: 'text' | 'integer' | 'bigint', values: readonly unknown[]): Sql {
    return this.database.dialect.isIn(sql`${column}`, listValue(storage, values));
  }

  #insert(table: string, columns: Columns, rows: readonly (readonly unknown[])[], after?: Sql): Promise<Row[]> {
    return insertRows(this.run, this.database.dialect, table, columns, rows, after);
  }
}

/** The stored e-mails of an account with some identities, by identity, read outside of a transaction. */
export function findExistingEmails(
  database: Database,
  account: number,
  identities: readonly string[],
): Promise<Map<string, number>> {
  return findByIdentity(createReader(database), database, account, identities);
}

async function findByIdentity(
  run: RunStatement,
  { dialect }: Database,
  account: number,
  identities: readonly string[],
): Promise<Map<string, number>> {
  const wanted = dialect.isIn(sql`identity`, listValue('text', identities));
  const rows = await run(
    sql`SELECT identity,id FROM emails WHERE "accountId"=${value('integer', account)} AND ${wanted}`,
  );
  return new Map(rows.map(([identity, id]) => [identity as string, Number(id)]));
}

const contentColumns: Columns = [
  ['accountId', 'integer'],
  ['text', 'text'],
  ['html', 'text'],
  ['headers', 'json'],
  ['inReplyTo', 'json'],
  ['references', 'json'],
  ['bcc', 'json'],
  ['replyTo', 'json'],
  ['authentication', 'json'],
  ['rawSha256', 'text'],
];
const emailFields = [
  ['conversationId', 'integer'],
  ['mailboxId', 'integer'],
  ['folder', 'text'],
  ['identity', 'text'],
  ['subjectKey', 'text'],
  ['orphan', 'boolean'],
  ['ownAddresses', 'json'],
  ['messageId', 'text'],
  ['subject', 'text'],
  ['from', 'json'],
  ['to', 'json'],
  ['cc', 'json'],
  ['sentAt', 'datetime'],
  ['receivedAt', 'datetime'],
  ['snippet', 'text'],
  ['size', 'integer'],
  ['read', 'boolean'],
  ['starred', 'boolean'],
  ['answered', 'boolean'],
  ['forwarded', 'boolean'],
  ['draft', 'boolean'],
  ['deleted', 'boolean'],
  ['outgoing', 'boolean'],
  ['hasAttachments', 'boolean'],
  ['labels', 'json'],
  ['keywords', 'json'],
  ['providerId', 'text'],
  ['providerThreadId', 'text'],
  ['warnings', 'json'],
  ['bodyState', 'text'],
] as const satisfies readonly (readonly [keyof NewEmail, Columns[number][1]])[];
const emailColumns: Columns = [['id', 'bigint'], ['accountId', 'integer'], ['contentId', 'bigint'], ...emailFields];
export const attachmentColumns: Columns = [
  ['accountId', 'integer'],
  ['emailId', 'bigint'],
  ['filename', 'text'],
  ['contentType', 'text'],
  ['sniffedType', 'text'],
  ['size', 'integer'],
  ['disposition', 'text'],
  ['contentId', 'text'],
  ['sha256', 'text'],
  ['partId', 'text'],
  ['state', 'text'],
];

/** In the order of {@link attachmentColumns}. */
export function toAttachmentValues(account: number, email: number, each: NewAttachment): readonly unknown[] {
  return [
    account,
    email,
    each.filename,
    each.contentType,
    each.sniffedType,
    each.size,
    each.disposition,
    each.contentId,
    each.sha256,
    each.partId ?? null,
    each.sha256 === null ? 'remote' : 'stored',
  ];
}
