/** Statements about internal notes and notifications. */
import type { Database, Transaction } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import { parseJsonColumn } from '../json-column.ts';
import { insertRows } from '../row-insert.ts';
import { createReader, createRunner, createTxRunner, type RunStatement } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';

/** The account of a conversation; null if the conversation does not exist. */
export async function readConversationAccount(database: Database, conversation: number): Promise<number | null> {
  const [row] = await createReader(database)(
    sql`SELECT "accountId" FROM conversations WHERE id=${value('integer', conversation)}`,
  );
  return row ? Number(row[0]) : null;
}

/** A stored note. */
export interface NoteRow {
  readonly id: number;
  readonly accountId: number;
  readonly conversationId: number;
  /** Null if the user was deleted. */
  readonly authorId: number | null;
  readonly mentions: readonly number[];
}

/** Notes by key, in the order of the keys. */
export async function readNotes(
  database: Database,
  transaction: Transaction,
  keys: readonly unknown[],
): Promise<NoteRow[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT id,"accountId","conversationId","authorId",mentions FROM "conversationNotes" WHERE ${database.dialect.isIn(sql`id`, listValue('integer', keys))} ORDER BY id`,
  );
  return rows.map(([id, accountId, conversationId, authorId, mentions]) => ({
    id: Number(id),
    accountId: Number(accountId),
    conversationId: Number(conversationId),
    authorId: authorId === null ? null : Number(authorId),
    mentions: (parseJsonColumn(mentions) ?? []) as readonly number[],
  }));
}

/**
 * Counts the notes of conversations again. The rows of the conversations are locked until the end of the transaction, so a merge of
 * conversations sees the notes, or this statement sees the merge.
 *
 * @returns the conversations that were merged into others, with those others.
 */
export async function recountNotes(
  database: Database,
  transaction: Transaction,
  conversations: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  transaction.touch('conversations');
  const rows = await createTxRunner(database, transaction)(buildRecount(database.dialect, conversations));
  return new Map(rows.flatMap(([id, into]) => (into === null ? [] : [[Number(id), Number(into)] as const])));
}

/** The tables that {@link moveBelongings} changes. */
export const belongingTables = ['conversations', 'conversationNotes', 'mailNotifications'] as const;

/**
 * Moves what belongs to merged conversations, notes, notifications and reminders, to the conversation that they were merged into.
 *
 * @param run runs statements in a transaction that has touched {@link belongingTables}.
 */
export async function moveBelongings(
  { dialect }: Database,
  run: RunStatement,
  merged: readonly number[],
  into: number,
): Promise<void> {
  const isMerged = dialect.isIn(sql`"conversationId"`, listValue('integer', merged));
  const conversation = value('integer', into);
  await run(sql`UPDATE "mailNotifications" SET "conversationId"=${conversation},_v=_v+1 WHERE ${isMerged}`);
  const moved = await run(
    sql`UPDATE "conversationNotes" SET "conversationId"=${conversation},_v=_v+1 WHERE ${isMerged} RETURNING id`,
  );
  if (moved.length > 0) await run(buildRecount(dialect, [...merged, into]));
  await moveFollowUps(dialect, run, merged, into);
}

/** A conversation has one reminder, so the earliest one stays. */
async function moveFollowUps(
  dialect: Dialect,
  run: RunStatement,
  merged: readonly number[],
  into: number,
): Promise<void> {
  const isMerged = dialect.isIn(sql`id`, listValue('integer', merged));
  const found = await run(sql`SELECT 1 FROM conversations WHERE ${isMerged} AND "followUpAt" IS NOT NULL LIMIT 1`);
  if (found.length === 0) return;
  const target = sql`id=${value('integer', into)}`;
  await run(
    sql`UPDATE conversations SET ("followUpAt","followUpById")=(SELECT "followUpAt","followUpById" FROM conversations WHERE (${target} OR ${isMerged}) AND "followUpAt" IS NOT NULL ORDER BY "followUpAt",id LIMIT 1),_v=_v+1 WHERE ${target}`,
  );
  await run(
    sql`UPDATE conversations SET "followUpAt"=NULL,"followUpById"=NULL,_v=_v+1 WHERE ${isMerged} AND NOT ${target} AND "followUpAt" IS NOT NULL`,
  );
}

function buildRecount(dialect: Dialect, conversations: readonly number[]): Sql {
  return sql`UPDATE conversations SET notes=(SELECT count(*) FROM "conversationNotes" n WHERE n."conversationId"=conversations.id),_v=_v+1 WHERE ${dialect.isIn(sql`id`, listValue('integer', conversations))} RETURNING id,"mergedInto"`;
}

/** Which of the users are members of an account. @param transaction null: outside of a transaction. */
export async function findMembers(
  database: Database,
  transaction: Transaction | null,
  account: number,
  users: readonly number[],
): Promise<ReadonlySet<number>> {
  const rows = await createRunner(
    database,
    transaction,
  )(
    sql`SELECT "userId" FROM "accountMembers" WHERE "accountId"=${value('integer', account)} AND ${database.dialect.isIn(sql`"userId"`, listValue('integer', users))}`,
  );
  return new Set(rows.map(([id]) => Number(id)));
}

/** A notification to store. */
export interface NewNotification {
  readonly accountId: number;
  readonly userId: number;
  readonly kind: 'mention' | 'assignment' | 'returned' | 'followUp';
  readonly conversationId: number;
  readonly noteId: number | null;
  readonly actorId: number | null;
}

/** Stores notifications. A note mentions each user once, however often it is changed. @returns their keys. */
export async function addNotifications(
  database: Database,
  transaction: Transaction,
  notifications: readonly NewNotification[],
  time: string,
): Promise<number[]> {
  transaction.touch('mailNotifications');
  const rows = await insertRows(
    createTxRunner(database, transaction),
    database.dialect,
    'mailNotifications',
    [
      ['accountId', 'integer'],
      ['userId', 'integer'],
      ['kind', 'text'],
      ['conversationId', 'integer'],
      ['noteId', 'integer'],
      ['actorId', 'integer'],
      ['at', 'datetime'],
      ['read', 'boolean'],
    ],
    notifications.map((each) => [
      each.accountId,
      each.userId,
      each.kind,
      each.conversationId,
      each.noteId,
      each.actorId,
      time,
      false,
    ]),
    sql` ON CONFLICT DO NOTHING RETURNING id`,
  );
  return rows.map(([id]) => Number(id));
}

/** Deletes old notifications. @param before ISO 8601. */
export async function pruneNotifications(database: Database, before: string): Promise<void> {
  await database.write(async (transaction) => {
    transaction.touch('mailNotifications');
    await createTxRunner(
      database,
      transaction,
    )(sql`DELETE FROM "mailNotifications" WHERE at<${value('datetime', before)}`);
  });
}
