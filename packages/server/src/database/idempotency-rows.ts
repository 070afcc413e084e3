/** Statements about the replies that are kept for requests with an Idempotency-Key. */
import { bindFixed, type Database, type Transaction } from './database.ts';
import { createReader, createTxRunner } from './identity-store.ts';
import { type Sql, sql, value } from './sql.ts';

/** Whose key it is: the same key of another credential is another one. */
export interface ReplyKey {
  readonly credential: string;
  readonly key: string;
}

export interface StoredReply {
  /** Hash of path, query, role and body. */
  readonly request: string;
  /** Hash of what the role might do when the reply was made. */
  readonly power: string;
  /** False while the request runs, and for ever where its end was never heard of. */
  readonly ended: boolean;
  /** Null where it is not kept. */
  readonly reply: string | null;
}

const matchesReplyKey = ({ credential, key }: ReplyKey): Sql =>
  sql`credential=${value('text', credential)} AND key=${value('text', key)}`;

/** False where another transaction works under the same key. */
export async function tryLockReplyKey(
  database: Database,
  transaction: Transaction,
  replyKey: ReplyKey,
): Promise<boolean> {
  const lock = database.dialect.tryLock(value('text', `reply ${replyKey.credential} ${replyKey.key}`));
  if (lock === null) return true;
  const [row] = await transaction.run(bindFixed(database.dialect, lock));
  return row![0] === true;
}

/**
 * @param transaction null: as it is committed.
 * @param since what is older is over.
 */
export async function findReply(
  database: Database,
  transaction: Transaction | null,
  replyKey: ReplyKey,
  since: string,
): Promise<StoredReply | null> {
  const run = transaction ? createTxRunner(database, transaction) : createReader(database);
  const [row] = await run(
    sql`SELECT request,power,ended,reply FROM _replies WHERE ${matchesReplyKey(replyKey)} AND at>${value('datetime', since)}`,
  );
  if (!row) return null;
  const [request, power, ended, reply] = row;
  return { request: request as string, power: power as string, ended: Boolean(ended), reply: reply as string | null };
}

/** Takes the place of a reply under the same key that is over. */
export async function insertReply(
  database: Database,
  transaction: Transaction,
  replyKey: ReplyKey,
  storedAt: string,
  { request, power, ended, reply }: StoredReply,
): Promise<void> {
  const run = createTxRunner(database, transaction);
  await run(sql`DELETE FROM _replies WHERE ${matchesReplyKey(replyKey)}`);
  await run(
    sql`INSERT INTO _replies (credential,key,request,power,at,ended,reply) VALUES (${value('text', replyKey.credential)},${value('text', replyKey.key)},${value('text', request)},${value('text', power)},${value('datetime', storedAt)},${value('boolean', ended)},${value('text', reply)}) ON CONFLICT DO NOTHING`,
  );
}

export async function completeReply(
  database: Database,
  transaction: Transaction,
  replyKey: ReplyKey,
  reply: string | null,
): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE _replies SET ended=${value('boolean', true)},reply=${value('text', reply)} WHERE ${matchesReplyKey(replyKey)}`,
  );
}

export async function deleteReply(database: Database, transaction: Transaction, replyKey: ReplyKey): Promise<void> {
  await createTxRunner(database, transaction)(sql`DELETE FROM _replies WHERE ${matchesReplyKey(replyKey)}`);
}

const deleteBatchSize = 500;

/**
 * Deletes replies that are over, and the oldest beyond what is kept, a slice in each transaction: writers wait for one
 * slice at most.
 */
export async function deleteExpiredReplies(database: Database, since: string, maxReplies: number): Promise<void> {
  const over = sql`at<=${value('datetime', since)} OR id<=(SELECT max(id) FROM _replies)-${maxReplies}`;
  const some = sql`SELECT id FROM _replies WHERE ${over} LIMIT ${deleteBatchSize}`;
  while ((await createReader(database)(sql`SELECT id FROM _replies WHERE ${over} LIMIT 1`)).length > 0)
    await database.write((transaction) =>
      createTxRunner(database, transaction)(sql`DELETE FROM _replies WHERE id IN (${some})`),
    );
}
