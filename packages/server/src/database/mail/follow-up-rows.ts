/** Statements about reminders of conversations that nobody answers. */
import type { Database, Transaction } from '../database.ts';
import { insertHistory } from '../history-rows.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { hasFollowUp, type OpeningStamp, readStateFields } from './conversation-state-rows.ts';

/** A reminder that was removed because it was due, answered or cancelled. */
export interface FollowUpRow {
  readonly id: number;
  readonly accountId: number;
  readonly state: string;
  readonly followUpAt: string;
  /** The user whom the server reminds; null if the user was deleted. */
  readonly followUpById: number | null;
  /** The conversation that it was merged into; null: none. */
  readonly mergedInto: number | null;
}

/** Headers of received e-mails whose conversations have a reminder. An e-mail from the account itself is no answer. */
export async function readAnswerHeaders(
  database: Database,
  transaction: Transaction,
  emails: readonly number[],
): Promise<{ readonly email: number; readonly headers: readonly (readonly [string, string])[] }[]> {
  const { dialect } = database;
  const isReminded = sql`EXISTS (SELECT 1 FROM conversations c WHERE ${hasFollowUp} AND COALESCE(c."mergedInto",c.id)=e."conversationId")`;
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

/** The reminders of the conversations of some e-mails. @param onlyDrafts only of those that are drafts now. */
export function ofEmails({ dialect }: Database, emails: readonly number[], onlyDrafts = false): Sql {
  const drafts = onlyDrafts ? sql` AND ${dialect.isTrue(sql`e.draft`)}` : sql``;
  return sql`COALESCE("mergedInto",id) IN (SELECT e."conversationId" FROM emails e WHERE ${dialect.isIn(sql`e.id`, listValue('bigint', emails))}${drafts})`;
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
  const taken: FollowUpRow[] = [];
  for (const row of found) {
    const changed = await run(
      sql`UPDATE conversations SET "followUpAt"=NULL,"followUpById"=NULL${opening},_v=_v+1 WHERE id=${value('integer', row.id)} AND "followUpAt"=${value('datetime', row.followUpAt)} AND state=${value('text', row.state)} RETURNING id`,
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
    sql`SELECT id,"accountId",state,${at},"followUpById","mergedInto" FROM conversations WHERE ${hasFollowUp} AND ${condition} ORDER BY "followUpAt",id LIMIT ${limit}`,
  );
  const toNumber = (input: unknown): number | null => (input === null ? null : Number(input));
  return rows.map(([id, accountId, state, followUpAt, followUpById, mergedInto]) => ({
    id: Number(id),
    accountId: Number(accountId),
    state: state as string,
    followUpAt: followUpAt as string,
    followUpById: toNumber(followUpById),
    mergedInto: toNumber(mergedInto),
  }));
}
