/** Statements about the state of conversations: which one a write changes, and those that the server opens again. */
import { isoTime } from '../../base/clock.ts';
import type { Database, Transaction } from '../database.ts';
import { insertHistory } from '../history-rows.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { selectFirstReceived } from './conversation-counts.ts';
import { keysPerSecond } from './email-keys.ts';

/** The state of a conversation, and who is responsible for it. */
export interface ConversationStateRow {
  readonly id: number;
  readonly accountId: number;
  readonly state: string;
  /** ISO 8601; null unless it is snoozed. */
  readonly snoozedUntil: string | null;
  /** The user who snoozed it; null unless it is snoozed. */
  readonly snoozedById: number | null;
  readonly assigneeId: number | null;
  /** When a user is reminded, ISO 8601; null: no reminder. */
  readonly followUpAt: string | null;
}

/** The state of conversations, in the order of their keys. */
export function readConversationStates(
  database: Database,
  transaction: Transaction,
  keys: readonly unknown[],
): Promise<ConversationStateRow[]> {
  return selectStates(database, transaction, database.dialect.isIn(sql`id`, listValue('integer', keys)));
}

async function selectStates(
  database: Database,
  transaction: Transaction,
  condition: Sql,
  rest: Sql = sql``,
): Promise<ConversationStateRow[]> {
  const until = database.dialect.scalar('datetime', sql`"snoozedUntil"`);
  const followUp = database.dialect.scalar('datetime', sql`"followUpAt"`);
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT id,"accountId",state,${until},"snoozedById","assigneeId",${followUp} FROM conversations WHERE ${condition} ORDER BY id${rest}`,
  );
  const toNumber = (input: unknown): number | null => (input === null ? null : Number(input));
  return rows.map(([id, accountId, state, snoozedUntil, snoozedById, assigneeId, followUpAt]) => ({
    id: Number(id),
    accountId: Number(accountId),
    state: state as string,
    snoozedUntil: snoozedUntil as string | null,
    snoozedById: toNumber(snoozedById),
    assigneeId: toNumber(assigneeId),
    followUpAt: followUpAt as string | null,
  }));
}

/** Who changes the state of a conversation, and when. */
export interface StateStamp {
  /** Milliseconds since the Unix epoch. */
  readonly time: number;
  readonly user: number | null;
}

/**
 * Completes a conversation whose state was written: a snooze has the user who began it, a closed conversation the time, and no other
 * state has either.
 */
export async function settleState(
  database: Database,
  transaction: Transaction,
  id: number,
  { time, user }: StateStamp,
): Promise<void> {
  const ifSnoozed = (then: Sql): Sql => sql`CASE WHEN state='snoozed' THEN ${then} END`;
  const ifClosed = (name: string, then: Sql): Sql =>
    sql`${`"${name}"`}=CASE WHEN state='closed' THEN CASE WHEN "closedAt" IS NULL THEN ${then} ELSE ${`"${name}"`} END END`;
  const seconds = sql`${value('bigint', Math.floor(time / 1000))}-(${selectFirstReceived(database)})/${value('bigint', keysPerSecond)}`;
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE conversations SET "snoozedUntil"=${ifSnoozed(sql`"snoozedUntil"`)},"snoozedById"=${ifSnoozed(sql`${value('integer', user)}`)},${ifClosed('closedAt', sql`${value('datetime', isoTime(time))}`)},${ifClosed('resolutionSeconds', seconds)} WHERE id=${value('integer', id)}`,
  );
}

/** Conversations with a reminder, as a range: SQLite does not look up IS NOT NULL in the index, and reads every conversation. */
export const hasFollowUp: Sql = sql`"followUpAt">=${value('datetime', '1970-01-01T00:00:00.000Z')}`;

/** When the next snooze ends or the next reminder is due, in milliseconds since the Unix epoch; null if there is none. */
export async function readNextReturn(database: Database): Promise<number | null> {
  const { dialect } = database;
  const [until, followUp] = ['"snoozedUntil"', '"followUpAt"'].map((name) =>
    dialect.scalar('datetime', sql`min(${name})`),
  );
  const [row] = await createReader(database)(
    sql`SELECT (SELECT ${until!} FROM conversations WHERE state='snoozed'),(SELECT ${followUp!} FROM conversations WHERE ${hasFollowUp})`,
  );
  const times = (row ?? []).flatMap((time) => (typeof time === 'string' ? [Date.parse(time)] : []));
  return times.length === 0 ? null : Math.min(...times);
}

/** Sets the user whom the server reminds; none without a time. */
export async function settleFollowUp(
  database: Database,
  transaction: Transaction,
  id: number,
  user: number | null,
): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE conversations SET "followUpById"=CASE WHEN "followUpAt" IS NOT NULL THEN ${value('integer', user)} END WHERE id=${value('integer', id)}`,
  );
}

/** Who opens conversations, and when. */
export interface OpeningStamp {
  /** ISO 8601. */
  readonly time: string;
  readonly actor: string | null;
  readonly requestId: string | null;
}

/**
 * Opens conversations whose snooze has ended. Each is opened once, however many servers do this at the same time.
 *
 * @returns the conversations as they were, at most `limit`.
 */
export function endSnoozes(
  database: Database,
  transaction: Transaction,
  stamp: OpeningStamp,
  limit: number,
): Promise<ConversationStateRow[]> {
  const isOver = sql`state='snoozed' AND "snoozedUntil"<=${value('datetime', stamp.time)}`;
  return openConversations(database, transaction, stamp, { condition: isOver, rest: sql` LIMIT ${limit}` });
}

/** Opens the conversations of received e-mails that are not open, unless they are muted. @returns the conversations as they were. */
export function reopenAnswered(
  database: Database,
  transaction: Transaction,
  stamp: OpeningStamp,
  emails: readonly number[],
): Promise<ConversationStateRow[]> {
  const { dialect } = database;
  const isReceived = sql`${dialect.isIn(sql`e.id`, listValue('bigint', emails))} AND NOT (${dialect.isTrue(sql`e.outgoing`)})`;
  const answered = sql`SELECT e."conversationId" FROM emails e WHERE ${isReceived}`;
  const condition = sql`id IN (${answered}) AND state<>'open' AND NOT (${dialect.isTrue(sql`muted`)})`;
  return openConversations(database, transaction, stamp, { condition, rest: sql`` });
}

async function openConversations(
  database: Database,
  transaction: Transaction,
  { time, actor, requestId }: OpeningStamp,
  { condition, rest }: { readonly condition: Sql; readonly rest: Sql },
): Promise<ConversationStateRow[]> {
  transaction.touch('conversations');
  const run = createTxRunner(database, transaction);
  const opened: ConversationStateRow[] = [];
  for (const row of await selectStates(database, transaction, condition, rest)) {
    // A state that another transaction has changed meanwhile stays.
    const isUnchanged = sql`id=${value('integer', row.id)} AND state=${value('text', row.state)} AND ${condition}`;
    const changed = await run(
      sql`UPDATE conversations SET state='open',"snoozedUntil"=NULL,"snoozedById"=NULL,"closedAt"=NULL,"resolutionSeconds"=NULL,_v=_v+1 WHERE ${isUnchanged} RETURNING id`,
    );
    if (changed.length > 0) opened.push(row);
  }
  if (opened.length === 0) return opened;
  const fields = await readStateFields(database, transaction, stateFields);
  const entries = opened.map(({ id, ...before }) => ({
    tk: String(id),
    changes: Object.fromEntries(
      fields.ids.flatMap(([name, field]) => {
        const from = before[name];
        return from === null ? [] : [[field, [from, name === 'state' ? 'open' : null] as const]];
      }),
    ),
  }));
  const change = { collectionId: fields.collection, at: time, action: 'updated', actor, requestId };
  await insertHistory(database, transaction, entries, change);
  return opened;
}

const stateFields = ['state', 'snoozedUntil', 'snoozedById'] as const;
/** Fields whose changes by the server have entries in the history. */
type HistoryField = (typeof stateFields)[number] | 'followUpAt' | 'followUpById';

/** The ids of the fields that an opening changes, and of their collection: history names both by their ids. */
export async function readStateFields<Name extends HistoryField>(
  database: Database,
  transaction: Transaction,
  names: readonly Name[],
): Promise<{ readonly collection: number; readonly ids: readonly [name: Name, id: string][] }> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT f.name,f.id,f.collection_id FROM _fields f JOIN _collections c ON c.id=f.collection_id WHERE c.name='conversations' AND ${database.dialect.isIn(sql`f.name`, listValue('text', names))}`,
  );
  return {
    collection: Number(rows[0]?.[2]),
    ids: rows.map(([name, id]) => [name as Name, String(id)]),
  };
}
