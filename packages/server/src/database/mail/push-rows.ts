/** Statements about Web Push: subscriptions of browsers, waiting messages, and the key pair of the application. */
import { createHash } from 'node:crypto';
import type { Database, Transaction } from '../database.ts';
import { insertRows } from '../row-insert.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';

/** How many e-mails of one arrival cause messages; a first synchronisation may bring thousands. */
const maxNewMail = 10;

/** A subscription to store. */
export interface NewPushSubscription {
  readonly userId: number;
  readonly name: string;
  readonly newMail: boolean;
  readonly endpoint: string;
  /** Endpoint and keys, encrypted. */
  readonly secret: string;
  readonly loginId: number;
  readonly role: string;
  /** ISO 8601. */
  readonly now: string;
}

/** A message that is due, with its subscription. */
export interface DuePushMessage {
  readonly id: number;
  readonly subscriptionId: number;
  readonly notificationId: number | null;
  readonly emailId: number | null;
  readonly attempts: number;
  /** When it was queued, ISO 8601. */
  readonly at: string;
  readonly userId: number;
  readonly role: string;
  readonly secret: string;
  /** Whether the login with which the browser subscribed is still valid. */
  readonly isSignedIn: boolean;
}

function hashEndpoint(endpoint: string): string {
  return createHash('sha256').update(endpoint).digest('hex');
}

/** Stores a subscription. It replaces the previous one of the browser, even that of another user. @returns its key, and whether it is new. */
export async function putPushSubscription(
  database: Database,
  transaction: Transaction,
  { userId, name, newMail, endpoint, secret, loginId, role, now }: NewPushSubscription,
): Promise<{ readonly id: number; readonly isNew: boolean }> {
  transaction.touch('mailPushSubscriptions');
  const run = createTxRunner(database, transaction);
  const hash = value('text', hashEndpoint(endpoint));
  await run(
    sql`DELETE FROM "mailPushSubscriptions" WHERE "endpointHash"=${hash} AND "userId"<>${value('integer', userId)}`,
  );
  const present = await run(sql`SELECT id FROM "mailPushSubscriptions" WHERE "endpointHash"=${hash}`);
  const [row] = await insertRows(
    run,
    database.dialect,
    'mailPushSubscriptions',
    [
      ['userId', 'integer'],
      ['name', 'text'],
      ['newMail', 'boolean'],
      ['at', 'datetime'],
      ['endpointHash', 'text'],
      ['secret', 'text'],
      ['loginId', 'integer'],
      ['role', 'text'],
    ],
    [[userId, name, newMail, now, hashEndpoint(endpoint), secret, loginId, role]],
    sql` ON CONFLICT ("endpointHash") DO UPDATE SET name=excluded.name,"newMail"=excluded."newMail",secret=excluded.secret,"loginId"=excluded."loginId",role=excluded.role RETURNING id`,
  );
  return { id: Number(row?.[0]), isNew: present.length === 0 };
}

/** Deletes the subscriptions of a user whose login has ended. @returns how many are left, without that of `endpoint`. */
export async function countOtherSubscriptions(
  database: Database,
  transaction: Transaction,
  { userId, endpoint, now }: Pick<NewPushSubscription, 'userId' | 'endpoint' | 'now'>,
): Promise<number> {
  transaction.touch('mailPushSubscriptions');
  const run = createTxRunner(database, transaction);
  const isOwn = sql`"userId"=${value('integer', userId)}`;
  const isValid = sql`SELECT id FROM logins WHERE ${isOwn} AND "expiresAt">${value('datetime', now)}`;
  await run(sql`DELETE FROM "mailPushSubscriptions" WHERE ${isOwn} AND "loginId" NOT IN (${isValid})`);
  const [row] = await run(
    sql`SELECT count(*) FROM "mailPushSubscriptions" WHERE ${isOwn} AND "endpointHash"<>${value('text', hashEndpoint(endpoint))}`,
  );
  return Number(row?.[0] ?? 0);
}

/**
 * Gives the subscription of a user's browser a new endpoint, so that waiting messages are sent there. If the new endpoint has a
 * subscription already, the former one is deleted.
 *
 * @returns the key of the deleted subscription; null if none was deleted.
 */
export async function renewPushSubscription(
  database: Database,
  transaction: Transaction,
  { userId, from, to }: { readonly userId: number; readonly from: string; readonly to: string },
): Promise<number | null> {
  if (from === to) return null;
  transaction.touch('mailPushSubscriptions');
  const hash = value('text', hashEndpoint(to));
  const isFormer = sql`"userId"=${value('integer', userId)} AND "endpointHash"=${value('text', hashEndpoint(from))}`;
  const isTaken = sql`EXISTS (SELECT 1 FROM "mailPushSubscriptions" o WHERE o."endpointHash"=${hash})`;
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE "mailPushSubscriptions" SET "endpointHash"=${hash} WHERE ${isFormer} AND NOT ${isTaken}`);
  return removePushSubscription(database, transaction, userId, from);
}

/** Deletes the subscription of a user's browser. @returns its key; null if there is none. */
export async function removePushSubscription(
  database: Database,
  transaction: Transaction,
  userId: number,
  endpoint: string,
): Promise<number | null> {
  transaction.touch('mailPushSubscriptions');
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`DELETE FROM "mailPushSubscriptions" WHERE "userId"=${value('integer', userId)} AND "endpointHash"=${value('text', hashEndpoint(endpoint))} RETURNING id`,
  );
  return row ? Number(row[0]) : null;
}

/** Deletes a subscription that cannot be used any more, with its messages. */
export async function deletePushSubscription(database: Database, transaction: Transaction, id: number): Promise<void> {
  for (const table of ['mailPushSubscriptions', 'mailPushMessages']) transaction.touch(table);
  const run = createTxRunner(database, transaction);
  await run(sql`DELETE FROM "mailPushMessages" WHERE "subscriptionId"=${value('integer', id)}`);
  await run(sql`DELETE FROM "mailPushSubscriptions" WHERE id=${value('integer', id)}`);
}

/** Queues messages about notifications for all browsers of their users. @returns whether there are any. */
export function queueNotifications(
  database: Database,
  transaction: Transaction,
  keys: readonly number[],
  now: string,
): Promise<boolean> {
  const isNamed = database.dialect.isIn(sql`n.id`, listValue('integer', keys));
  const selected = sql`SELECT s.id,n.id,NULL FROM "mailNotifications" n JOIN "mailPushSubscriptions" s ON s."userId"=n."userId" WHERE ${isNamed}`;
  return queue(database, transaction, selected, now);
}

/** Queues messages about e-mails that have just arrived in inboxes, for members who want them. @returns whether there are any. */
export function queueNewMail(
  database: Database,
  transaction: Transaction,
  emails: readonly number[],
  now: string,
): Promise<boolean> {
  const { dialect } = database;
  const newest = [...emails].sort((one, other) => other - one).slice(0, maxNewMail);
  const isUnread = sql`${dialect.isIn(sql`e.id`, listValue('bigint', newest))} AND e.folder='inbox' AND NOT ${dialect.isTrue(sql`e.read`)} AND NOT ${dialect.isTrue(sql`e.outgoing`)}`;
  const selected = sql`SELECT s.id,NULL,e.id FROM emails e JOIN conversations c ON c.id=e."conversationId" AND NOT ${dialect.isTrue(sql`c.muted`)} JOIN "accountMembers" m ON m."accountId"=e."accountId" JOIN "mailPushSubscriptions" s ON s."userId"=m."userId" AND ${dialect.isTrue(sql`s."newMail"`)} WHERE ${isUnread} ORDER BY e.id`;
  return queue(database, transaction, selected, now);
}

async function queue(database: Database, transaction: Transaction, selected: Sql, now: string): Promise<boolean> {
  const run = createTxRunner(database, transaction);
  const rows = await run(selected);
  if (rows.length === 0) return false;
  transaction.touch('mailPushMessages');
  await insertRows(
    run,
    database.dialect,
    'mailPushMessages',
    [
      ['subscriptionId', 'integer'],
      ['notificationId', 'integer'],
      ['emailId', 'bigint'],
      ['attempts', 'integer'],
      ['at', 'datetime'],
      ['notBefore', 'datetime'],
    ],
    rows.map(([subscription, notification, email]) => [
      Number(subscription),
      notification === null ? null : Number(notification),
      email === null ? null : Number(email),
      0,
      now,
      now,
    ]),
  );
  return true;
}

/** Messages that are due, the oldest first. @param now ISO 8601. */
export async function readDuePushMessages(database: Database, now: string, max: number): Promise<DuePushMessage[]> {
  const { dialect } = database;
  const time = value('datetime', now);
  const isSignedIn = sql`EXISTS (SELECT 1 FROM logins l WHERE l.id=s."loginId" AND l."userId"=s."userId" AND l."expiresAt">${time})`;
  const rows = await createReader(database)(
    sql`SELECT m.id,m."subscriptionId",m."notificationId",m."emailId",m.attempts,${dialect.scalar('datetime', sql`m.at`)},s."userId",s.role,s.secret,CASE WHEN ${isSignedIn} THEN 1 ELSE 0 END FROM "mailPushMessages" m JOIN "mailPushSubscriptions" s ON s.id=m."subscriptionId" WHERE m."notBefore"<=${time} ORDER BY m.id LIMIT ${max}`,
  );
  return rows.map(([id, subscription, notification, email, attempts, at, user, role, secret, signedIn]) => ({
    id: Number(id),
    subscriptionId: Number(subscription),
    notificationId: notification === null ? null : Number(notification),
    emailId: email === null ? null : Number(email),
    attempts: Number(attempts),
    at: at as string,
    userId: Number(user),
    role: role as string,
    secret: secret as string,
    isSignedIn: Number(signedIn) === 1,
  }));
}

/**
 * Counts an attempt before it begins, so that a message at which the server fails is not sent again and again. @param
 * next ISO 8601.
 */
export async function beginPushAttempts(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
  next: string,
): Promise<void> {
  transaction.touch('mailPushMessages');
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE "mailPushMessages" SET attempts=attempts+1,"notBefore"=${value('datetime', next)} WHERE ${database.dialect.isIn(sql`id`, listValue('bigint', ids))}`,
  );
}

/** Sets the time of the next attempt. @param next ISO 8601. */
export async function postponePushMessage(
  database: Database,
  transaction: Transaction,
  id: number,
  next: string,
): Promise<void> {
  transaction.touch('mailPushMessages');
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE "mailPushMessages" SET "notBefore"=${value('datetime', next)} WHERE id=${value('bigint', id)}`);
}

export async function deletePushMessages(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
): Promise<void> {
  transaction.touch('mailPushMessages');
  await createTxRunner(
    database,
    transaction,
  )(sql`DELETE FROM "mailPushMessages" WHERE ${database.dialect.isIn(sql`id`, listValue('bigint', ids))}`);
}

/** When the next message is due, in milliseconds since the Unix epoch; null if none waits. */
export async function readNextPush(database: Database): Promise<number | null> {
  const [row] = await createReader(database)(
    sql`SELECT ${database.dialect.scalar('datetime', sql`min("notBefore")`)} FROM "mailPushMessages"`,
  );
  return typeof row?.[0] === 'string' ? Date.parse(row[0]) : null;
}

/** The key pair by which push services recognise the application. */
export interface StoredPushKey {
  /** Base64url. */
  readonly publicKey: string;
  /** The private key, encrypted. */
  readonly secret: string;
}

export async function readPushKey(database: Database): Promise<StoredPushKey | null> {
  const [row] = await createReader(database)(sql`SELECT "publicKey",secret FROM "mailPushKeys" ORDER BY id LIMIT 1`);
  return row ? { publicKey: row[0] as string, secret: row[1] as string } : null;
}

/** Replaces the key pair. Subscriptions with another one cannot be used any more, so they are deleted. */
export async function replacePushKey(
  database: Database,
  transaction: Transaction,
  { publicKey, secret }: StoredPushKey,
): Promise<void> {
  for (const table of ['mailPushKeys', 'mailPushSubscriptions', 'mailPushMessages']) transaction.touch(table);
  const run = createTxRunner(database, transaction);
  for (const table of [sql`"mailPushMessages"`, sql`"mailPushSubscriptions"`, sql`"mailPushKeys"`])
    await run(sql`DELETE FROM ${table}`);
  await run(
    sql`INSERT INTO "mailPushKeys" ("publicKey",secret) VALUES (${value('text', publicKey)},${value('text', secret)})`,
  );
}
