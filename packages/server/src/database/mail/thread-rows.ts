/** Statements by which the conversations of an account are made anew from its e-mails. */
import type { Database, Row, Transaction } from '../database.ts';
import { reading, writing } from '../identity-store.ts';
import { parsedJson } from '../json-column.ts';
import { identifier, listValue, type Sql, sql, value } from '../sql.ts';
import { miscounted, recounted } from './conversation-counts.ts';
import { type MailAddressValue, momentOf, type ParticipantValue } from './mail-writer.ts';

/** What of an e-mail decides on its conversation. */
export interface ThreadedRow {
  readonly id: number;
  readonly conversation: number | null;
  /** Milliseconds since the epoch, to the second. */
  readonly at: number;
  readonly messageId: string | null;
  readonly inReplyTo: readonly string[];
  readonly references: readonly string[];
  readonly subject: string;
  /** Nobody is joined by its subject: it has none, or went to a list. */
  readonly alone: boolean;
  readonly from: readonly MailAddressValue[];
  readonly to: readonly MailAddressValue[];
  readonly cc: readonly MailAddressValue[];
  readonly folder: string;
  /** Null where an earlier version of the server stored it: then its headers are read. */
  readonly ownAddresses: readonly string[] | null;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** E-mails of an account after one of them, the oldest first. */
export async function threadedAfter(
  database: Database,
  account: number,
  after: number,
  most: number,
): Promise<ThreadedRow[]> {
  const rows = await reading(database)(
    sql`SELECT e.id,e."conversationId",e."messageId",e.subject,e."subjectKey",c."inReplyTo",c."references",e."from",e."to",e.cc,e.folder,e."ownAddresses",CASE WHEN e."ownAddresses" IS NULL THEN c.headers END FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e."accountId"=${value('integer', account)} AND e.id>${value('bigint', after)} ORDER BY e.id LIMIT ${most}`,
  );
  return rows.map(([id, conversation, messageId, subject, subjectKey, ...rest]): ThreadedRow => {
    const [inReplyTo, references] = rest.slice(0, 2).map((each) => (parsedJson(each) ?? []) as string[]);
    const [from, to, cc] = rest.slice(2, 5).map((each) => (parsedJson(each) ?? []) as MailAddressValue[]);
    const [folder, ownAddresses, headers] = rest.slice(5);
    return {
      id: Number(id),
      conversation: conversation === null ? null : Number(conversation),
      at: momentOf(Number(id)),
      messageId: messageId as string | null,
      inReplyTo: inReplyTo!,
      references: references!,
      subject: (subject ?? '') as string,
      alone: subjectKey === null,
      from: from!,
      to: to!,
      cc: cc!,
      folder: (folder ?? '') as string,
      ownAddresses: parsedJson(ownAddresses) as ThreadedRow['ownAddresses'],
      headers: (parsedJson(headers) ?? []) as ThreadedRow['headers'],
    };
  });
}

/** The number of the e-mail that came in last; what comes in later has a higher one. */
export async function lastContent(database: Database, account: number): Promise<number> {
  const [row] = await reading(database)(
    sql`SELECT coalesce(max(id),0) FROM "mailContents" WHERE "accountId"=${value('integer', account)}`,
  );
  return Number(row![0]);
}

/** Conversations of an account after one of them. */
export async function conversationsAfter(
  database: Database,
  account: number,
  after: number,
  most: number,
): Promise<number[]> {
  const rows = await reading(database)(
    sql`SELECT id FROM conversations WHERE "accountId"=${value('integer', account)} AND id>${value('integer', after)} ORDER BY id LIMIT ${most}`,
  );
  return rows.map(([id]) => Number(id));
}

export interface ThreadKeyRow {
  readonly id: number;
  readonly key: string;
  readonly conversation: number;
}

/** Keys of an account after one of them. */
export async function threadKeysAfter(
  database: Database,
  account: number,
  after: number,
  most: number,
): Promise<ThreadKeyRow[]> {
  const rows = await reading(database)(
    sql`SELECT id,key,"conversationId" FROM "mailThreadKeys" WHERE "accountId"=${value('integer', account)} AND id>${value('bigint', after)} ORDER BY id LIMIT ${most}`,
  );
  return rows.map(([id, key, conversation]) => ({
    id: Number(id),
    key: key as string,
    conversation: Number(conversation),
  }));
}

/** The key that was made last; later ones have higher ids. */
export async function lastThreadKey(database: Database, account: number): Promise<number> {
  const [row] = await reading(database)(
    sql`SELECT coalesce(max(id),0) FROM "mailThreadKeys" WHERE "accountId"=${value('integer', account)}`,
  );
  return Number(row![0]);
}

/** A message as far as its conversation shows it. */
export interface ShownMessage {
  readonly conversation: number;
  readonly subject: string;
  readonly people: { readonly from: readonly MailAddressValue[]; readonly others: readonly MailAddressValue[] };
}

/** What conversations say of their e-mails. */
export interface ShownConversation {
  readonly id: number;
  readonly subject: string | null;
  readonly participants: readonly ParticipantValue[];
}

const messagesAtOnce = 500;

function peopleOf([from = [], ...others]: readonly (readonly MailAddressValue[])[]): ShownMessage['people'] {
  return { from, others: others.flat() };
}

/** Reads and writes about conversations; inside a transaction, or outside of any for a look. */
export class ThreadRows {
  readonly #database: Database;
  readonly #run: (statement: Sql) => Promise<Row[]>;
  readonly #account: number;

  /** @param transaction null: for reads alone. */
  constructor(database: Database, transaction: Transaction | null, account: number) {
    this.#database = database;
    this.#account = account;
    this.#run = transaction ? writing(database, transaction) : reading(database);
    for (const table of ['emails', 'conversations', 'mailThreadKeys']) transaction?.touch(table);
  }

  /** Of some e-mails those that are there; others may be destroyed at any time. */
  emailsThere(emails: readonly number[]): Promise<Set<number>> {
    return this.#there('emails', 'bigint', emails);
  }

  /** Of some conversations those that are there: each goes with the last of its e-mails. */
  conversationsThere(conversations: readonly number[]): Promise<Set<number>> {
    return this.#there('conversations', 'integer', conversations);
  }

  async #there(table: string, storage: 'integer' | 'bigint', ids: readonly number[]): Promise<Set<number>> {
    const rows = await this.#run(sql`SELECT id FROM ${identifier(table)} WHERE ${this.#isIn('id', storage, ids)}`);
    return new Set(rows.map(([id]) => Number(id)));
  }

  /** Puts e-mails into a conversation. @returns those that were not in it. */
  async put(emails: readonly number[], into: number): Promise<number[]> {
    const target = value('integer', into);
    const rows = await this.#run(
      sql`UPDATE emails SET "conversationId"=${target},_v=_v+1 WHERE ${this.#isIn('id', 'bigint', emails)} AND ("conversationId" IS NULL OR "conversationId"<>${target}) RETURNING id`,
    );
    return rows.map(([id]) => Number(id));
  }

  /** Conversations that lead to another one from now on, and with them those that led to one of them. */
  async lead(others: readonly number[], into: number): Promise<void> {
    const of = sql`"accountId"=${value('integer', this.#account)}`;
    await this.#run(
      sql`UPDATE conversations SET "mergedInto"=${value('integer', into)},_v=_v+1 WHERE ${of} AND id<>${value('integer', into)} AND (${this.#isIn('id', 'integer', others)} OR ${this.#isIn('"mergedInto"', 'integer', others)})`,
    );
  }

  /** A conversation that parts from another one stands as that one stands. */
  async standAs(conversation: number, other: number): Promise<void> {
    await this.#run(
      sql`UPDATE conversations SET (state,"assigneeId")=(SELECT o.state,o."assigneeId" FROM conversations o WHERE o.id=${value('integer', other)}) WHERE id=${value('integer', conversation)} AND EXISTS (SELECT 1 FROM conversations o WHERE o.id=${value('integer', other)})`,
    );
  }

  /** What conversations say of themselves. */
  async shown(conversations: readonly number[]): Promise<ShownConversation[]> {
    const rows = await this.#run(
      sql`SELECT id,subject,participants FROM conversations WHERE ${this.#isIn('id', 'integer', conversations)} ORDER BY id`,
    );
    return rows.map(([id, subject, participants]) => ({
      id: Number(id),
      subject: subject as string | null,
      participants: (parsedJson(participants) ?? []) as readonly ParticipantValue[],
    }));
  }

  /** Messages of conversations, the oldest first, some at a time: there may be very many. */
  async *messages(conversations: readonly number[]): AsyncGenerator<readonly ShownMessage[]> {
    const which = this.#isIn('"conversationId"', 'integer', conversations);
    for (let after = -1; ; ) {
      const rows = await this.#run(
        sql`SELECT id,"conversationId",subject,"from","to",cc FROM emails WHERE ${which} AND id>${value('bigint', after)} ORDER BY id LIMIT ${messagesAtOnce}`,
      );
      yield rows.map(([, conversation, subject, ...lists]) => ({
        conversation: Number(conversation),
        subject: (subject ?? '') as string,
        people: peopleOf(lists.map((each) => (parsedJson(each) ?? []) as readonly MailAddressValue[])),
      }));
      if (rows.length < messagesAtOnce) return;
      after = Number(rows.at(-1)![0]);
    }
  }

  async show({ id, subject, participants }: ShownConversation): Promise<void> {
    await this.#run(
      sql`UPDATE conversations SET subject=${value('text', subject)},participants=${value('json', participants)} WHERE id=${value('integer', id)}`,
    );
  }

  /** Those of some conversations whose counts are wrong. */
  async miscounted(conversations: readonly number[]): Promise<number[]> {
    return (await this.#run(miscounted(this.#database, conversations))).map(([id]) => Number(id));
  }

  /** Counts conversations anew; those that have e-mails lead nowhere. */
  async recount(conversations: readonly number[]): Promise<void> {
    for (const statement of recounted(this.#database, conversations)) await this.#run(statement);
    await this.#run(
      sql`UPDATE conversations SET "mergedInto"=NULL WHERE ${this.#isIn('id', 'integer', conversations)} AND "mergedInto" IS NOT NULL AND EXISTS (SELECT 1 FROM emails e WHERE e."conversationId"=conversations.id)`,
    );
  }

  /** Has keys lead to a conversation. */
  async leadKeys(keys: readonly number[], conversation: number): Promise<void> {
    await this.#run(
      sql`UPDATE "mailThreadKeys" SET "conversationId"=${value('integer', conversation)} WHERE ${this.#isIn('id', 'bigint', keys)}`,
    );
  }

  async forgetKeys(keys: readonly number[]): Promise<void> {
    await this.#run(sql`DELETE FROM "mailThreadKeys" WHERE ${this.#isIn('id', 'bigint', keys)}`);
  }

  /** Of e-mails, the conversations that they are in. */
  async conversationsOf(emails: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.#run(
      sql`SELECT id,"conversationId" FROM emails WHERE ${this.#isIn('id', 'bigint', emails)} AND "conversationId" IS NOT NULL`,
    );
    return new Map(rows.map(([id, conversation]) => [Number(id), Number(conversation)]));
  }

  #isIn(column: string, storage: 'integer' | 'bigint', values: readonly unknown[]): Sql {
    return this.#database.dialect.isIn(sql`${column}`, listValue(storage, values));
  }
}
