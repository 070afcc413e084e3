/** Statements about logins, and about when logins and API keys were last used. */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner, requireRow, runInTransaction } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

export interface StoredLogin {
  readonly id: number;
  readonly userId: number;
  readonly expiresAt: string;
}

export interface LoginRow {
  readonly id: number;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Up to a minute old; null before the first use. */
  readonly lastUsedAt: string | null;
}

/** The login of a token, or null. @param tokenHashes the hash of the token under each key that may have signed it. */
export function findLogin(database: Database, tokenHashes: readonly string[]): Promise<StoredLogin | null> {
  return findLoginWhere(database, database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes)));
}

/** The login of an id, or null. */
export function findLoginById(database: Database, id: number): Promise<StoredLogin | null> {
  return findLoginWhere(database, sql`id=${value('integer', id)}`);
}

async function findLoginWhere(database: Database, wanted: Sql): Promise<StoredLogin | null> {
  const { dialect } = database;
  const [row] = await createReader(database)<[id: number, userId: number, expiresAt: string]>(
    sql`SELECT id,"userId",${dialect.scalar('datetime', sql`"expiresAt"`)} FROM logins WHERE ${wanted}`,
  );
  if (!row) return null;
  const [id, userId, expiresAt] = row;
  return { id: Number(id), userId: Number(userId), expiresAt };
}

/** The logins of a user that are still valid at a moment, the newest first. */
export async function readLogins(database: Database, userId: number, now: string): Promise<LoginRow[]> {
  const { dialect } = database;
  const selectDatetime = (name: string): Sql => dialect.scalar('datetime', sql`${`"${name}"`}`);
  const times = sql`${selectDatetime('createdAt')},${selectDatetime('expiresAt')},${selectDatetime('lastUsedAt')}`;
  const isValid = sql`"userId"=${value('integer', userId)} AND "expiresAt">${value('datetime', now)}`;
  const rows = await createReader(database)<
    [id: number, createdAt: string, expiresAt: string, lastUsedAt: string | null]
  >(sql`SELECT id,${times} FROM logins WHERE ${isValid} ORDER BY id DESC`);
  return rows.map(([id, createdAt, expiresAt, lastUsedAt]) => ({ id: Number(id), createdAt, expiresAt, lastUsedAt }));
}

/** Creates a login. */
export async function insertLogin(
  database: Database,
  transaction: Transaction,
  login: {
    readonly userId: number;
    readonly tokenHash: string;
    readonly createdAt: string;
    readonly expiresAt: string;
  },
): Promise<void> {
  const { userId, tokenHash, createdAt, expiresAt } = login;
  const times = sql`${value('datetime', createdAt)},${value('datetime', expiresAt)}`;
  const values = sql`${value('integer', userId)},${value('text', tokenHash)},${times}`;
  const run = createTxRunner(database, transaction);
  await run(sql`INSERT INTO logins ("userId","tokenHash","createdAt","expiresAt") VALUES (${values})`);
}

/** Sets the end of a login. */
export async function extendLogin(database: Database, id: number, expiresAt: string): Promise<void> {
  const set = sql`"expiresAt"=${value('datetime', expiresAt)}`;
  await database.write((transaction) =>
    runInTransaction(database, transaction, sql`UPDATE logins SET ${set} WHERE id=${value('integer', id)}`),
  );
}

/** Ends a login. */
export async function deleteLogin(database: Database, transaction: Transaction, id: number): Promise<void> {
  await runInTransaction(database, transaction, sql`DELETE FROM logins WHERE id=${value('integer', id)}`);
}

/** Ends a login of a user; returns whether it existed. */
export async function deleteOwnLogin(
  database: Database,
  transaction: Transaction,
  userId: number,
  id: number,
): Promise<boolean> {
  const isOwn = sql`id=${value('integer', id)} AND "userId"=${value('integer', userId)}`;
  const rows = await runInTransaction(database, transaction, sql`DELETE FROM logins WHERE ${isOwn} RETURNING id`);
  return rows.length > 0;
}

/** Ends all logins of a user, or all except one; returns their number. */
export async function deleteUserLogins(
  database: Database,
  transaction: Transaction,
  userId: number,
  except: number | null = null,
): Promise<number> {
  const isOther = except === null ? sql`` : sql` AND id<>${value('integer', except)}`;
  const isOwn = sql`"userId"=${value('integer', userId)}${isOther}`;
  const rows = await runInTransaction(database, transaction, sql`DELETE FROM logins WHERE ${isOwn} RETURNING id`);
  return rows.length;
}

/** Deletes expired logins. @returns when the next login expires; null when none is left. */
export async function deleteExpiredLogins(database: Database, now: string): Promise<string | null> {
  const { dialect } = database;
  const isExpired = sql`"expiresAt"<=${value('datetime', now)}`;
  const read = createReader(database);
  if ((await read(sql`SELECT id FROM logins WHERE ${isExpired} LIMIT 1`)).length > 0)
    await database.write((transaction) =>
      runInTransaction(database, transaction, sql`DELETE FROM logins WHERE ${isExpired}`),
    );
  const rows = await read<[next: string | null]>(
    sql`SELECT ${dialect.scalar('datetime', sql`min("expiresAt")`)} FROM logins`,
  );
  const [next] = requireRow(rows);
  return next;
}

/** Stores when keys, or logins, were last used. @param used the times by id. */
export async function setLastUsedTimes(
  database: Database,
  table: 'apiKeys' | 'logins',
  used: ReadonlyMap<number, string>,
): Promise<void> {
  if (used.size === 0) return;
  await database.write(async (transaction) => {
    transaction.touch(table);
    const run = createTxRunner(database, transaction);
    for (const [id, time] of used) {
      const set = sql`"lastUsedAt"=${value('datetime', time)}`;
      await run(sql`UPDATE ${`"${table}"`} SET ${set} WHERE id=${value('integer', id)}`);
    }
  });
}
