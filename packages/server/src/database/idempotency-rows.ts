/** Statements about the replies that are stored for requests with an Idempotency-Key. */
import type { Database, Transaction } from './database.ts';
import { createReader, createRunner, createTxRunner, requireRow, runInTransaction } from './run-statement.ts';
import { type Sql, sql, value } from './sql.ts';

/** An Idempotency-Key with its credential: equal keys of two credentials are different. */
export interface ReplyKey {
  readonly credential: string;
  readonly key: string;
}

export interface StoredReply {
  /** Hash of path, query, role and body. */
  readonly request: string;
  /** The access fingerprint of the role when the reply was created. */
  readonly accessFingerprint: string;
  /** False while the request runs, and forever if its process was stopped. */
  readonly ended: boolean;
  /** Null if the reply is not stored. */
  readonly reply: string | null;
}

const matchesReplyKey = ({ credential, key }: ReplyKey): Sql =>
  sql`credential=${value('text', credential)} AND key=${value('text', key)}`;

/** Locks a key until the transaction ends. @returns false if another transaction holds the lock. */
export async function tryLockReplyKey(
  database: Database,
  transaction: Transaction,
  replyKey: ReplyKey,
): Promise<boolean> {
  const lock = database.dialect.tryLock(value('text', `reply ${replyKey.credential} ${replyKey.key}`));
  if (lock === null) return true;
  const [isLocked] = requireRow(await runInTransaction<[isLocked: unknown]>(database, transaction, lock));
  return isLocked === true;
}

/**
 * The stored reply of a key, or null.
 *
 * @param transaction null reads the committed state.
 * @param since older replies have expired.
 */
export async function findReply(
  database: Database,
  transaction: Transaction | null,
  replyKey: ReplyKey,
  since: string,
): Promise<StoredReply | null> {
  const run = createRunner(database, transaction);
  const [row] = await run<[request: string, accessFingerprint: string, ended: unknown, reply: string | null]>(
    sql`SELECT request,power,ended,reply FROM _replies WHERE ${matchesReplyKey(replyKey)}
AND at>${value('datetime', since)}`,
  );
  if (!row) return null;
  const [request, accessFingerprint, ended, reply] = row;
  return { request, accessFingerprint, ended: Boolean(ended), reply };
}

/** Stores a reply, or the claim of a request that is running. It replaces an expired reply of the same key. */
export async function insertReply(
  database: Database,
  transaction: Transaction,
  replyKey: ReplyKey,
  { request, accessFingerprint, ended, reply, storedAt }: StoredReply & { readonly storedAt: string },
): Promise<void> {
  const run = createTxRunner(database, transaction);
  await run(sql`DELETE FROM _replies WHERE ${matchesReplyKey(replyKey)}`);
  const key = sql`${value('text', replyKey.credential)},${value('text', replyKey.key)}`;
  const state = sql`${value('datetime', storedAt)},${value('boolean', ended)},${value('text', reply)}`;
  const values = sql`${key},${value('text', request)},${value('text', accessFingerprint)},${state}`;
  await run(
    sql`INSERT INTO _replies (credential,key,request,power,at,ended,reply) VALUES (${values}) ON CONFLICT DO NOTHING`,
  );
}

/** Marks the request of a key as ended. @param reply null: the reply is not stored. */
export async function completeReply(
  database: Database,
  transaction: Transaction,
  replyKey: ReplyKey,
  reply: string | null,
): Promise<void> {
  const set = sql`ended=${value('boolean', true)},reply=${value('text', reply)}`;
  await runInTransaction(database, transaction, sql`UPDATE _replies SET ${set} WHERE ${matchesReplyKey(replyKey)}`);
}

/** Deletes the reply of a key. */
export async function deleteReply(database: Database, transaction: Transaction, replyKey: ReplyKey): Promise<void> {
  await runInTransaction(database, transaction, sql`DELETE FROM _replies WHERE ${matchesReplyKey(replyKey)}`);
}

const deleteBatchSize = 500;

/**
 * Deletes expired replies, and the oldest ones beyond `maxReplies`. Each transaction deletes one batch, so that other
 * writes wait for at most one batch.
 */
export async function deleteExpiredReplies(database: Database, since: string, maxReplies: number): Promise<void> {
  const over = sql`at<=${value('datetime', since)} OR id<=(SELECT max(id) FROM _replies)-${maxReplies}`;
  const some = sql`SELECT id FROM _replies WHERE ${over} LIMIT ${deleteBatchSize}`;
  while ((await createReader(database)(sql`SELECT id FROM _replies WHERE ${over} LIMIT 1`)).length > 0)
    await database.write((transaction) =>
      runInTransaction(database, transaction, sql`DELETE FROM _replies WHERE id IN (${some})`),
    );
}
