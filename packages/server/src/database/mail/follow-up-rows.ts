/** Statements about reminders of conversations that nobody answers. */
import type { Database, Transaction } from '../database.ts';
import { insertHistory } from '../history-rows.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { type OpeningStamp, readStateFields } from './conversation-state-rows.ts';

/** A reminder that was removed because it was due, answered or cancelled. */
export interface FollowUpRow {
  readonly id: number;
  readonly accountId: number;
  readonly state: string;
  readonly followUpAt: string;
  /** The user whom the server reminds; null if the user was deleted. */
  readonly followUpById: number | null;
}

/** Headers of received e-mails whose conversations have a reminder. An e-mail from the account itself is no answer. */
export async function readAnswerHeaders(
  database: Database,
  transaction: Transaction,
  emails: readonly number[],
): Promise<{ readonly email: number; readonly headers: readonly (readonly [string, string])[] }[]> {
  const { dialect } = database;
  const isReminded = sql`EXISTS (SELECT 1 FROM conversations c WHERE c.id=e."conversationId" AND c."followUpAt" IS NOT NULL)`;
  const isReceived = sql`${dialect.isIn(sql`e.id`, listValue('bigint', emails))} AND NOT (${dialect.isTrue(sql`e.outgoing`)})`;
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT e.id,t.headers FROM emails e LEFT JOIN "mailContents" t ON t.id=e."contentId" WHERE ${isReceived} AND ${isReminded}`,
  );
  return rows.map(([email, headers]) => ({
    email: Number(email),
    headers: (parseJsonColumn(headers) ?? []) as readonly (readonly [string, string])[],
  }));
}

/** The reminders of the conversations of some e-mails. */
export function ofEmails({ dialect }: Database, emails: readonly number[]): Sql {
  return sql`id IN (SELECT e."conversationId" FROM emails e WHERE ${dialect.isIn(sql`e.id`, listValue('bigint', emails))})`;
}

/** The reminder that was set with a message. */
export interface SentFollowUp {
  readonly followUpAt: string;
  readonly followUpById: number | null;
}

/** Records that a reminder was set with a message in the outbox: the reminder that its conversation has now. */
export async function recordSentFollowUp(database: Database, transaction: Transaction, email: number): Promise<void> {
  transaction.touch('mailOutbox');
  const isEmail = value('bigint', email);
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE "mailOutbox" SET ("followUpAt","followUpById")=(SELECT c."followUpAt",c."followUpById" FROM emails e JOIN conversations c ON c.id=e."conversationId" WHERE e.id=${isEmail}) WHERE "emailId"=${isEmail}`,
  );
}

/** The reminder that was set with a message in the outbox; null: none was. */
export async function readSentFollowUp(
  database: Database,
  transaction: Transaction,
  email: number,
): Promise<SentFollowUp | null> {
  const at = database.dialect.scalar('datetime', sql`"followUpAt"`);
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT ${at},"followUpById" FROM "mailOutbox" WHERE "emailId"=${value('bigint', email)} AND "followUpAt" IS NOT NULL`,
  );
  return row ? { followUpAt: row[0] as string, followUpById: row[1] === null ? null : Number(row[1]) } : null;
}

/** The reminder that was set with a message which is a draft now, unless it was changed since. */
export function wasSetWith(database: Database, email: number, { followUpAt, followUpById }: SentFollowUp): Sql {
  const isDraft = sql`id=(SELECT e."conversationId" FROM emails e WHERE e.id=${value('bigint', email)} AND ${database.dialect.isTrue(sql`e.draft`)})`;
  const isOwn =
    followUpById === null ? sql`"followUpById" IS NULL` : sql`"followUpById"=${value('integer', followUpById)}`;
  return sql`${isDraft} AND "followUpAt"=${value('datetime', followUpAt)} AND ${isOwn}`;
}

/** The conversation of an e-mail that exists. */
export async function readEmailConversation(
  database: Database,
  transaction: Transaction,
  email: number,
): Promise<number> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT "conversationId" FROM emails WHERE id=${value('bigint', email)}`);
  return Number(row?.[0]);
}

/** The reminders that are due. @param time ISO 8601. */
export function areDue(time: string): Sql {
  return sql`"followUpAt"<=${value('datetime', time)}`;
}

/** How reminders end. */
export interface FollowUpEnd {
  readonly condition: Sql;
  /** Whether the conversations are opened. */
  readonly opens: boolean;
  readonly limit: number;
}

/** Removes reminders, each once, however many servers do this at the same time. @returns them as they were. */
export async function takeFollowUps(
  database: Database,
  transaction: Transaction,
  { time, actor, requestId }: OpeningStamp,
  { condition, opens, limit }: FollowUpEnd,
): Promise<FollowUpRow[]> {
  const found = await selectFollowUps(database, transaction, condition, limit);
  if (found.length === 0) return [];
  transaction.touch('conversations');
  const run = createTxRunner(database, transaction);
  const opening = opens
    ? sql`,state='open',"snoozedUntil"=NULL,"snoozedById"=NULL,"closedAt"=NULL,"resolutionSeconds"=NULL`
    : sql``;
  // The history records the state before, so it must be the state that was read.
  const stateAsRead = ({ state }: FollowUpRow): Sql => (opens ? sql` AND state=${value('text', state)}` : sql``);
  const taken: FollowUpRow[] = [];
  for (const row of found) {
    const changed = await run(
      sql`UPDATE conversations SET "followUpAt"=NULL,"followUpById"=NULL${opening},_v=_v+1 WHERE id=${value('integer', row.id)} AND "followUpAt"=${value('datetime', row.followUpAt)}${stateAsRead(row)} RETURNING id`,
    );
    if (changed.length > 0) taken.push(row);
  }
  if (taken.length === 0) return [];
  const fields = await readStateFields(database, transaction, ['state', 'followUpAt', 'followUpById']);
  const entries = taken.map(({ id, ...before }) => ({
    tk: String(id),
    changes: Object.fromEntries(
      fields.ids.flatMap(([name, field]) => {
        const [from, to] = [before[name], name === 'state' ? (opens ? 'open' : before.state) : null];
        return from === to ? [] : [[field, [from, to] as const]];
      }),
    ),
  }));
  const change = { collectionId: fields.collection, at: time, action: 'updated', actor, requestId };
  await insertHistory(database, transaction, entries, change);
  return taken;
}

async function selectFollowUps(
  database: Database,
  transaction: Transaction,
  condition: Sql,
  limit: number,
): Promise<FollowUpRow[]> {
  const at = database.dialect.scalar('datetime', sql`"followUpAt"`);
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT id,"accountId",state,${at},"followUpById" FROM conversations WHERE "followUpAt" IS NOT NULL AND ${condition} ORDER BY "followUpAt",id LIMIT ${limit}`,
  );
  return rows.map(([id, accountId, state, followUpAt, followUpById]) => ({
    id: Number(id),
    accountId: Number(accountId),
    state: state as string,
    followUpAt: followUpAt as string,
    followUpById: followUpById === null ? null : Number(followUpById),
  }));
}
