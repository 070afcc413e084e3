/** Statements by which the conversations of an account are made anew from its e-mails. */
import { getElement } from '../../base/aligned-lists.ts';
import type { Database, Row, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { identifier, listValue, type Sql, sql, value } from '../sql.ts';
import { parseAddressList, parseTextList } from './address-lists.ts';
import { buildRecount, selectMiscounted } from './conversation-counts.ts';
import { type MailAddressValue, type ParticipantValue, readEmailKeyTime } from './mail-writer.ts';

/** What of an e-mail decides on its conversation. */
export interface ThreadInputRow {
  readonly id: number;
  readonly conversation: number | null;
  /** Milliseconds since the epoch, to the second. */
  readonly time: number;
  readonly messageId: string | null;
  readonly inReplyTo: readonly string[];
  readonly references: readonly string[];
  readonly subject: string;
  /** Nobody is joined by its subject: it has none, or went to a list. */
  readonly hasNoSubjectKey: boolean;
  readonly from: readonly MailAddressValue[];
  readonly to: readonly MailAddressValue[];
  readonly cc: readonly MailAddressValue[];
  readonly folder: string;
  /** Null where an earlier version of the server stored it: then its headers are read. */
  readonly ownAddresses: readonly string[] | null;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** E-mails of an account after one of them, the oldest first. */
export async function readThreadInputAfter(
  database: Database,
  account: number,
  after: number,
  limit: number,
): Promise<ThreadInputRow[]> {
  const rows = await createReader(database)(
    sql`SELECT e.id,e."conversationId",e."messageId",e.subject,e."subjectKey",c."inReplyTo",c."references",e."from",e."to",e.cc,e.folder,e."ownAddresses",CASE WHEN e."ownAddresses" IS NULL THEN c.headers END FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e."accountId"=${value('integer', account)} AND e.id>${value('bigint', after)} ORDER BY e.id LIMIT ${limit}`,
  );
  return rows.map(([id, conversation, messageId, subject, subjectKey, ...rest]): ThreadInputRow => {
    const [inReplyTo, references, from, to, cc, folder, ownAddresses, headers] = rest;
    return {
      id: Number(id),
      conversation: conversation === null ? null : Number(conversation),
      time: readEmailKeyTime(Number(id)),
      messageId: messageId as string | null,
      inReplyTo: parseTextList(inReplyTo),
      references: parseTextList(references),
      subject: (subject ?? '') as string,
      hasNoSubjectKey: subjectKey === null,
      from: parseAddressList(from),
      to: parseAddressList(to),
      cc: parseAddressList(cc),
      folder: (folder ?? '') as string,
      ownAddresses: parseJsonColumn(ownAddresses) as ThreadInputRow['ownAddresses'],
      headers: (parseJsonColumn(headers) ?? []) as ThreadInputRow['headers'],
    };
  });
}

/** The number of the e-mail that came in last; what comes in later has a higher one. */
export async function readLastContentId(database: Database, account: number): Promise<number> {
  const [row] = await createReader(database)(
    sql`SELECT coalesce(max(id),0) FROM "mailContents" WHERE "accountId"=${value('integer', account)}`,
  );
  return Number(row?.[0] ?? 0);
}

/** Conversations of an account after one of them. */
export async function readConversationsAfter(
  database: Database,
  account: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT id FROM conversations WHERE "accountId"=${value('integer', account)} AND id>${value('integer', after)} ORDER BY id LIMIT ${limit}`,
  );
  return rows.map(([id]) => Number(id));
}

export interface ThreadKeyRow {
  readonly id: number;
  readonly key: string;
  readonly conversation: number;
}

/** Keys of an account after one of them. */
export async function readThreadKeysAfter(
  database: Database,
  account: number,
  after: number,
  limit: number,
): Promise<ThreadKeyRow[]> {
  const rows = await createReader(database)(
    sql`SELECT id,key,"conversationId" FROM "mailThreadKeys" WHERE "accountId"=${value('integer', account)} AND id>${value('bigint', after)} ORDER BY id LIMIT ${limit}`,
  );
  return rows.map(([id, key, conversation]) => ({
    id: Number(id),
    key: key as string,
    conversation: Number(conversation),
  }));
}

/** The key that was made last; later ones have higher ids. */
export async function readLastThreadKeyId(database: Database, account: number): Promise<number> {
  const [row] = await createReader(database)(
    sql`SELECT coalesce(max(id),0) FROM "mailThreadKeys" WHERE "accountId"=${value('integer', account)}`,
  );
  return Number(row?.[0] ?? 0);
}

/** A message as far as its conversation shows it. */
export interface ConversationMessage {
  readonly conversation: number;
  readonly subject: string;
  readonly people: { readonly from: readonly MailAddressValue[]; readonly others: readonly MailAddressValue[] };
}

/** What conversations say of their e-mails. */
export interface ConversationSummary {
  readonly id: number;
  readonly subject: string | null;
  readonly participants: readonly ParticipantValue[];
}

const messageBatchSize = 500;

function toPeople([from = [], ...others]: readonly (readonly MailAddressValue[])[]): ConversationMessage['people'] {
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
    this.#run = transaction ? createTxRunner(database, transaction) : createReader(database);
    for (const table of ['emails', 'conversations', 'mailThreadKeys']) transaction?.touch(table);
  }

  /** Of some e-mails those that are there; others may be destroyed at any time. */
  findExistingEmails(emails: readonly number[]): Promise<Set<number>> {
    return this.#there('emails', 'bigint', emails);
  }

  /** Of some conversations those that are there: each goes with the last of its e-mails. */
  findExistingConversations(conversations: readonly number[]): Promise<Set<number>> {
    return this.#there('conversations', 'integer', conversations);
  }

  async #there(table: string, storage: 'integer' | 'bigint', ids: readonly number[]): Promise<Set<number>> {
    const rows = await this.#run(sql`SELECT id FROM ${identifier(table)} WHERE ${this.#isIn('id', storage, ids)}`);
    return new Set(rows.map(([id]) => Number(id)));
  }

  /** Puts e-mails into a conversation. @returns those that were not in it. */
  async moveEmails(emails: readonly number[], into: number): Promise<number[]> {
    const intoConversation = value('integer', into);
    const rows = await this.#run(
      sql`UPDATE emails SET "conversationId"=${intoConversation},_v=_v+1 WHERE ${this.#isIn('id', 'bigint', emails)} AND ("conversationId" IS NULL OR "conversationId"<>${intoConversation}) RETURNING id`,
    );
    return rows.map(([id]) => Number(id));
  }

  /** Conversations that lead to another one from now on, and with them those that led to one of them. */
  async redirectConversations(merged: readonly number[], into: number): Promise<void> {
    const isOfAccount = sql`"accountId"=${value('integer', this.#account)}`;
    await this.#run(
      sql`UPDATE conversations SET "mergedInto"=${value('integer', into)},_v=_v+1 WHERE ${isOfAccount} AND id<>${value('integer', into)} AND (${this.#isIn('id', 'integer', merged)} OR ${this.#isIn('"mergedInto"', 'integer', merged)})`,
    );
  }

  /** A conversation that parts from another one stands as that one stands. */
  async copyState(conversation: number, source: number): Promise<void> {
    await this.#run(
      sql`UPDATE conversations SET (state,"assigneeId")=(SELECT o.state,o."assigneeId" FROM conversations o WHERE o.id=${value('integer', source)}) WHERE id=${value('integer', conversation)} AND EXISTS (SELECT 1 FROM conversations o WHERE o.id=${value('integer', source)})`,
    );
  }

  /** What conversations say of themselves. */
  async readSummaries(conversations: readonly number[]): Promise<ConversationSummary[]> {
    const rows = await this.#run(
      sql`SELECT id,subject,participants FROM conversations WHERE ${this.#isIn('id', 'integer', conversations)} ORDER BY id`,
    );
    return rows.map(([id, subject, participants]) => ({
      id: Number(id),
      subject: subject as string | null,
      participants: (parseJsonColumn(participants) ?? []) as readonly ParticipantValue[],
    }));
  }

  /** Messages of conversations, the oldest first, some at a time: there may be very many. */
  async *messages(conversations: readonly number[]): AsyncGenerator<readonly ConversationMessage[]> {
    const which = this.#isIn('"conversationId"', 'integer', conversations);
    for (let after = -1; ; ) {
      const rows = await this.#run(
        sql`SELECT id,"conversationId",subject,"from","to",cc FROM emails WHERE ${which} AND id>${value('bigint', after)} ORDER BY id LIMIT ${messageBatchSize}`,
      );
      yield rows.map(([, conversation, subject, ...lists]) => ({
        conversation: Number(conversation),
        subject: (subject ?? '') as string,
        people: toPeople(lists.map((each) => (parseJsonColumn(each) ?? []) as readonly MailAddressValue[])),
      }));
      if (rows.length < messageBatchSize) return;
      after = Number(getElement(rows, rows.length - 1)[0]);
    }
  }

  async writeSummary({ id, subject, participants }: ConversationSummary): Promise<void> {
    await this.#run(
      sql`UPDATE conversations SET subject=${value('text', subject)},participants=${value('json', participants)} WHERE id=${value('integer', id)}`,
    );
  }

  /** Those of some conversations whose counts are wrong. */
  async findMiscounted(conversations: readonly number[]): Promise<number[]> {
    return (await this.#run(selectMiscounted(this.#database, conversations))).map(([id]) => Number(id));
  }

  /** Counts conversations anew; those that have e-mails lead nowhere. */
  async recount(conversations: readonly number[]): Promise<void> {
    for (const statement of buildRecount(this.#database, conversations)) await this.#run(statement);
    await this.#run(
      sql`UPDATE conversations SET "mergedInto"=NULL WHERE ${this.#isIn('id', 'integer', conversations)} AND "mergedInto" IS NOT NULL AND EXISTS (SELECT 1 FROM emails e WHERE e."conversationId"=conversations.id)`,
    );
  }

  /** Has keys lead to a conversation. */
  async redirectKeys(keys: readonly number[], conversation: number): Promise<void> {
    await this.#run(
      sql`UPDATE "mailThreadKeys" SET "conversationId"=${value('integer', conversation)} WHERE ${this.#isIn('id', 'bigint', keys)}`,
    );
  }

  async deleteKeys(keys: readonly number[]): Promise<void> {
    await this.#run(sql`DELETE FROM "mailThreadKeys" WHERE ${this.#isIn('id', 'bigint', keys)}`);
  }

  /** Of e-mails, the conversations that they are in. */
  async findConversations(emails: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.#run(
      sql`SELECT id,"conversationId" FROM emails WHERE ${this.#isIn('id', 'bigint', emails)} AND "conversationId" IS NOT NULL`,
    );
    return new Map(rows.map(([id, conversation]) => [Number(id), Number(conversation)]));
  }

  #isIn(column: string, storage: 'integer' | 'bigint', values: readonly unknown[]): Sql {
    return this.#database.dialect.isIn(sql`${column}`, listValue(storage, values));
  }
}
