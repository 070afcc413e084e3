/** Statements of the rebuild of an account's conversations. */
import { getElement } from '../../base/aligned-lists.ts';
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader } from '../run-statement.ts';
import { identifier, listValue, type Sql, sql, value } from '../sql.ts';
import { AccountBoundRows } from './account-bound-rows.ts';
import { parseAddressList, parseTextList } from './address-lists.ts';
import { buildRecount, selectMiscounted } from './conversation-counts.ts';
import { readEmailKeyTime } from './email-keys.ts';
import type { AddressLists, MailAddressValue, ParticipantValue } from './mail-writer.ts';
import { belongingTables, moveBelongings } from './note-rows.ts';

/** The properties of an e-mail that determine its conversation. */
export interface ThreadInputRow extends AddressLists {
  readonly id: number;
  readonly conversation: number | null;
  /** Milliseconds since the epoch, to the second. */
  readonly time: number;
  readonly messageId: string | null;
  readonly inReplyTo: readonly string[];
  readonly references: readonly string[];
  readonly subject: string;
  /**
   * Null: messages are not joined to it by subject, because the subject is empty or the message went to a mailing list.
   */
  readonly hasNoSubjectKey: boolean;
  readonly folder: string;
  /** Null if an earlier server version stored the e-mail: then its headers are read. */
  readonly ownAddresses: readonly string[] | null;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** E-mails of an account after a key, the oldest first. */
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

/** The number of the e-mail that was stored last. Later e-mails have higher numbers. */
export async function readLastContentId(database: Database, account: number): Promise<number> {
  const [row] = await createReader(database)(
    sql`SELECT coalesce(max(id),0) FROM "mailContents" WHERE "accountId"=${value('integer', account)}`,
  );
  return Number(row?.[0] ?? 0);
}

/** Conversations of an account after a key. */
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

/** Thread keys of an account after an id. */
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

/** The id of the newest thread key. Later keys have higher ids. */
export async function readLastThreadKeyId(database: Database, account: number): Promise<number> {
  const [row] = await createReader(database)(
    sql`SELECT coalesce(max(id),0) FROM "mailThreadKeys" WHERE "accountId"=${value('integer', account)}`,
  );
  return Number(row?.[0] ?? 0);
}

/** The values of a message that the summary of its conversation is made from. */
export interface ConversationMessage {
  readonly conversation: number;
  readonly subject: string;
  readonly people: { readonly from: readonly MailAddressValue[]; readonly others: readonly MailAddressValue[] };
}

/** The stored summary of a conversation. */
export interface ConversationSummary {
  readonly id: number;
  readonly subject: string | null;
  readonly participants: readonly ParticipantValue[];
}

const messageBatchSize = 500;

function toPeople([from = [], ...others]: readonly (readonly MailAddressValue[])[]): ConversationMessage['people'] {
  return { from, others: others.flat() };
}

/** Reads and writes about conversations, inside a transaction, or outside for reads only. */
export class ThreadRows extends AccountBoundRows {
  /** @param transaction null: only for reads. */
  constructor(database: Database, transaction: Transaction | null, account: number) {
    super(database, transaction, account);
    for (const table of ['emails', 'mailThreadKeys', ...belongingTables]) transaction?.touch(table);
  }

  /** Which of the e-mails exist. E-mails may be deleted at any time. */
  findExistingEmails(emails: readonly number[]): Promise<Set<number>> {
    return this.#there('emails', 'bigint', emails);
  }

  /** Which of the conversations exist. A conversation is deleted with its last e-mail. */
  findExistingConversations(conversations: readonly number[]): Promise<Set<number>> {
    return this.#there('conversations', 'integer', conversations);
  }

  async #there(table: string, storage: 'integer' | 'bigint', ids: readonly number[]): Promise<Set<number>> {
    const rows = await this.run(sql`SELECT id FROM ${identifier(table)} WHERE ${this.#isIn('id', storage, ids)}`);
    return new Set(rows.map(([id]) => Number(id)));
  }

  /** Moves e-mails into a conversation. @returns those that were not in it. */
  async moveEmails(emails: readonly number[], into: number): Promise<number[]> {
    const intoConversation = value('integer', into);
    const rows = await this.run(
      sql`UPDATE emails SET "conversationId"=${intoConversation},_v=_v+1 WHERE ${this.#isIn('id', 'bigint', emails)} AND ("conversationId" IS NULL OR "conversationId"<>${intoConversation}) RETURNING id`,
    );
    return rows.map(([id]) => Number(id));
  }

  /** Marks conversations as merged into another one, with those that were merged into them before. */
  async redirectConversations(merged: readonly number[], into: number): Promise<void> {
    await this.run(
      sql`UPDATE conversations SET "mergedInto"=${value('integer', into)},_v=_v+1 WHERE ${this.isOfAccount} AND id<>${value('integer', into)} AND (${this.#isIn('id', 'integer', merged)} OR ${this.#isIn('"mergedInto"', 'integer', merged)})`,
    );
    await moveBelongings(this.database, this.run, merged, into);
  }

  /** Copies the state, its end and the assignee to a conversation that is split from another one. */
  async copyState(conversation: number, source: number): Promise<void> {
    await this.run(
      sql`UPDATE conversations SET (state,"snoozedUntil","snoozedById",muted,"assigneeId")=(SELECT o.state,o."snoozedUntil",o."snoozedById",o.muted,o."assigneeId" FROM conversations o WHERE o.id=${value('integer', source)}) WHERE id=${value('integer', conversation)} AND EXISTS (SELECT 1 FROM conversations o WHERE o.id=${value('integer', source)})`,
    );
  }

  /** The stored summaries of conversations. */
  async readSummaries(conversations: readonly number[]): Promise<ConversationSummary[]> {
    const rows = await this.run(
      sql`SELECT id,subject,participants FROM conversations WHERE ${this.#isIn('id', 'integer', conversations)} ORDER BY id`,
    );
    return rows.map(([id, subject, participants]) => ({
      id: Number(id),
      subject: subject as string | null,
      participants: (parseJsonColumn(participants) ?? []) as readonly ParticipantValue[],
    }));
  }

  /** Messages of conversations, the oldest first, in batches, because there may be very many. */
  async *messages(conversations: readonly number[]): AsyncGenerator<readonly ConversationMessage[]> {
    const which = this.#isIn('"conversationId"', 'integer', conversations);
    for (let after = -1; ; ) {
      const rows = await this.run(
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
    await this.run(
      sql`UPDATE conversations SET subject=${value('text', subject)},participants=${value('json', participants)} WHERE id=${value('integer', id)}`,
    );
  }

  /** Conversations whose counts are wrong, among these. */
  async findMiscounted(conversations: readonly number[]): Promise<number[]> {
    return (await this.run(selectMiscounted(this.database, conversations))).map(([id]) => Number(id));
  }

  /** Recounts conversations. A conversation that has e-mails is no longer marked as merged. */
  async recount(conversations: readonly number[]): Promise<void> {
    for (const statement of buildRecount(this.database, conversations)) await this.run(statement);
    await this.run(
      sql`UPDATE conversations SET "mergedInto"=NULL WHERE ${this.#isIn('id', 'integer', conversations)} AND "mergedInto" IS NOT NULL AND EXISTS (SELECT 1 FROM emails e WHERE e."conversationId"=conversations.id)`,
    );
  }

  /** Makes thread keys lead to a conversation. */
  async redirectKeys(keys: readonly number[], conversation: number): Promise<void> {
    await this.run(
      sql`UPDATE "mailThreadKeys" SET "conversationId"=${value('integer', conversation)} WHERE ${this.#isIn('id', 'bigint', keys)}`,
    );
  }

  async deleteKeys(keys: readonly number[]): Promise<void> {
    await this.run(sql`DELETE FROM "mailThreadKeys" WHERE ${this.#isIn('id', 'bigint', keys)}`);
  }

  /** The conversations of e-mails, by e-mail. */
  async findConversations(emails: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.run(
      sql`SELECT id,"conversationId" FROM emails WHERE ${this.#isIn('id', 'bigint', emails)} AND "conversationId" IS NOT NULL`,
    );
    return new Map(rows.map(([id, conversation]) => [Number(id), Number(conversation)]));
  }

  #isIn(column: string, storage: 'integer' | 'bigint', values: readonly unknown[]): Sql {
    return this.database.dialect.isIn(sql`${column}`, listValue(storage, values));
  }
}
