/** Statements by which messages are stored: looked for by identity, joined to conversations, written with their words. */
import type { Database, Row, Transaction } from '../database.ts';
import type { IndexedWords } from '../dialect.ts';
import { reading, writing } from '../identity-store.ts';
import { parsedJson } from '../json-column.ts';
import { type Columns, insertRows } from '../row-insert.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { recounted } from './conversation-counts.ts';

export interface MailAddressValue {
  readonly name: string;
  readonly address: string;
}

/** What of a message lies beside its row. */
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
  readonly sha256: string;
}

/** A message about to be stored. Its key is made from `receivedAt` and the number of its content. */
export interface NewEmail {
  readonly conversationId: number;
  readonly mailboxId: number;
  readonly folder: string;
  readonly identity: string;
  readonly subjectKey: string | null;
  readonly orphan: boolean;
  readonly messageId: string | null;
  readonly subject: string;
  readonly from: readonly MailAddressValue[];
  readonly to: readonly MailAddressValue[];
  readonly cc: readonly MailAddressValue[];
  readonly sentAt: string | null;
  readonly receivedAt: string;
  readonly snippet: string;
  readonly size: number;
  readonly read: boolean;
  readonly starred: boolean;
  readonly answered: boolean;
  readonly draft: boolean;
  readonly outgoing: boolean;
  readonly hasAttachments: boolean;
  readonly labels: readonly string[];
  readonly warnings: readonly string[];
  readonly bodyState: string;
  readonly content: NewContent;
  readonly attachments: readonly NewAttachment[];
}

/** Keys of a second. */
export const numbersPerSecond = 2 ** 20;

/**
 * The key of an e-mail: the second in which it was received, then a number that no other has. Keys are in the order in which
 * lists show them.
 */
export function emailKey(receivedAt: string, number: number): number {
  const seconds = Math.max(0, Math.floor(Date.parse(receivedAt) / 1000));
  return seconds * numbersPerSecond + (number % numbersPerSecond);
}

/** The moment in a key, in milliseconds since the epoch. */
export function momentOf(key: number): number {
  return Math.floor(key / numbersPerSecond) * 1000;
}

type Run = (statement: Sql) => Promise<Row[]>;

/** Writes about one account's mail inside a transaction. */
export class MailWriter {
  readonly #database: Database;
  readonly #run: Run;
  readonly #account: number;

  constructor(database: Database, transaction: Transaction, account: number) {
    this.#database = database;
    this.#run = writing(database, transaction);
    this.#account = account;
    for (const table of ['emails', 'conversations', 'attachments', 'mailboxes', 'mailContents', 'mailPlacements'])
      transaction.touch(table);
  }

  get #of(): Sql {
    return sql`"accountId"=${value('integer', this.#account)}`;
  }

  /** The e-mails that are there already, by identity. */
  present(identities: readonly string[]): Promise<Map<string, number>> {
    return present(this.#run, this.#database, this.#account, identities);
  }

  /** The conversations that messages belong to, by the keys of their threads. */
  async threads(keys: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.#run(
      sql`SELECT key,"conversationId" FROM "mailThreadKeys" WHERE ${this.#of} AND ${this.#isIn('key', 'text', keys)}`,
    );
    return new Map(rows.map(([key, id]) => [key as string, Number(id)]));
  }

  /** The latest messages of some subjects, at most `most` of each. */
  async ofSubjects(subjects: readonly string[], most: number): Promise<readonly SubjectMate[]> {
    const found: SubjectMate[] = [];
    for (const subjectKey of subjects) {
      const rows = await this.#run(
        sql`SELECT id,"conversationId",orphan,subject,"from","to",cc FROM emails WHERE ${this.#of} AND "subjectKey"=${value('text', subjectKey)} ORDER BY id DESC LIMIT ${most}`,
      );
      for (const [id, conversation, orphan, subject, ...lists] of rows) {
        const [from = [], to = [], cc = []] = lists.map((list) => parsedJson(list) as readonly MailAddressValue[]);
        const at = momentOf(Number(id));
        const conversationId = Number(conversation);
        found.push({
          subjectKey,
          conversationId,
          at,
          orphan: Boolean(orphan),
          subject: subject as string,
          from,
          to,
          cc,
        });
      }
    }
    return found;
  }

  /** Makes conversations; returns their keys in order. */
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
        ['state', 'text'],
        ['lastEmailId', 'bigint'],
      ],
      subjects.map((subject) => [this.#account, subject, [], 0, 0, 0, 0, 'open', 0]),
      sql` RETURNING id`,
    );
    return rows.map(([id]) => Number(id)).sort((one, other) => one - other);
  }

  /** Conversations that turn out to be one: the others lead to it from now on. Returns the e-mails that were in those. */
  async merge(into: number, others: readonly number[]): Promise<number[]> {
    const gone = this.#isIn('"conversationId"', 'integer', others);
    const target = value('integer', into);
    const moved = await this.#run(sql`UPDATE emails SET "conversationId"=${target},_v=_v+1 WHERE ${gone} RETURNING id`);
    await this.#run(sql`UPDATE "mailThreadKeys" SET "conversationId"=${target} WHERE ${gone}`);
    await this.#run(
      sql`UPDATE conversations SET "mergedInto"=${target},_v=_v+1 WHERE ${this.#isIn('id', 'integer', others)} OR (${this.#of} AND ${this.#isIn('"mergedInto"', 'integer', others)})`,
    );
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
      keys.map(([key, conversation]) => [this.#account, key, conversation]),
      sql` ON CONFLICT DO NOTHING`,
    );
  }

  /** Stores messages; returns their keys in order. */
  async addEmails(emails: readonly NewEmail[]): Promise<number[]> {
    const contents = await this.#insert(
      'mailContents',
      contentColumns,
      emails.map(({ content }) => [
        this.#account,
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
    const numbers = contents.map(([id]) => Number(id)).sort((one, other) => one - other);
    const keys = emails.map((email, index) => emailKey(email.receivedAt, numbers[index]!));
    await this.#insert(
      'emails',
      emailColumns,
      emails.map((email, index) => [
        keys[index],
        this.#account,
        numbers[index],
        ...emailFields.map(([name]) => email[name]),
      ]),
    );
    await this.#addAttachments(emails, keys);
    await this.place(emails.map((email, index) => [keys[index]!, email.mailboxId, null, null]));
    return keys;
  }

  async #addAttachments(emails: readonly NewEmail[], keys: readonly number[]): Promise<void> {
    const rows = emails.flatMap(({ attachments }, index) =>
      attachments.map((each) => attachmentValues(this.#account, keys[index]!, each)),
    );
    await this.#insert('attachments', attachmentColumns, rows);
  }

  /** Notes in which mailboxes e-mails lie. */
  async place(placements: readonly Placement[]): Promise<void> {
    await this.#insert(
      'mailPlacements',
      [
        ['emailId', 'bigint'],
        ['mailboxId', 'integer'],
        ['uidvalidity', 'text'],
        ['uid', 'bigint'],
      ],
      placements,
    );
  }

  async addWords(entries: readonly IndexedWords[]): Promise<void> {
    const { rowsPerInsert, words } = this.#database.dialect;
    for (let start = 0; start < entries.length; start += rowsPerInsert)
      await this.#run(words.insert(entries.slice(start, start + rowsPerInsert)));
  }

  async participants(conversations: readonly number[]): Promise<Map<number, readonly MailAddressValue[]>> {
    const rows = await this.#run(
      sql`SELECT id,participants FROM conversations WHERE ${this.#isIn('id', 'integer', conversations)}`,
    );
    return new Map(rows.map(([id, list]) => [Number(id), (parsedJson(list) ?? []) as readonly MailAddressValue[]]));
  }

  async setParticipants(conversation: number, participants: readonly MailAddressValue[]): Promise<void> {
    await this.#run(
      sql`UPDATE conversations SET participants=${value('json', participants)} WHERE id=${value('integer', conversation)}`,
    );
  }

  /** Counts conversations anew, from the e-mails that are in them now. */
  async recount(conversations: readonly number[]): Promise<void> {
    for (const statement of recounted(this.#database, conversations)) await this.#run(statement);
  }

  /** Adds to the counts of a mailbox. */
  async countIn(mailbox: number, messages: number, unread: number): Promise<void> {
    await this.#run(
      sql`UPDATE mailboxes SET messages=messages+${value('integer', messages)},unread=unread+${value('integer', unread)},_v=_v+1 WHERE id=${value('integer', mailbox)}`,
    );
  }

  #isIn(column: string, storage: 'text' | 'integer' | 'bigint', values: readonly unknown[]): Sql {
    return this.#database.dialect.isIn(sql`${column}`, listValue(storage, values));
  }

  #insert(table: string, columns: Columns, rows: readonly (readonly unknown[])[], after?: Sql): Promise<Row[]> {
    return insertRows(this.#run, this.#database.dialect, table, columns, rows, after);
  }
}

/** The e-mails of an account that are there already, by identity: a look outside of any transaction. */
export function presentEmails(
  database: Database,
  account: number,
  identities: readonly string[],
): Promise<Map<string, number>> {
  return present(reading(database), database, account, identities);
}

async function present(
  run: Run,
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

/** E-mail, mailbox, and what the mail server numbers it by. */
export type Placement = readonly [email: number, mailbox: number, uidvalidity: string | null, uid: number | null];

/** A message of the same subject. */
export interface SubjectMate {
  readonly subjectKey: string;
  readonly conversationId: number;
  /** Milliseconds since the epoch, to the second. */
  readonly at: number;
  readonly orphan: boolean;
  readonly subject: string;
  readonly from: readonly MailAddressValue[];
  readonly to: readonly MailAddressValue[];
  readonly cc: readonly MailAddressValue[];
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
  ['draft', 'boolean'],
  ['outgoing', 'boolean'],
  ['hasAttachments', 'boolean'],
  ['labels', 'json'],
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
];

/** In the order of {@link attachmentColumns}. */
export function attachmentValues(account: number, email: number, each: NewAttachment): readonly unknown[] {
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
  ];
}
