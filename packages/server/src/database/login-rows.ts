/** Statements about the logins of one user. */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner } from './identity-store.ts';
import { sql, value } from './sql.ts';

export interface LoginRow {
  readonly id: number;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** At most a minute behind; null until then. */
  readonly lastUsedAt: string | null;
}

/** A user's logins that still hold at a moment, the newest first. */
export async function readLogins(database: Database, userId: number, now: string): Promise<LoginRow[]> {
  const { dialect } = database;
  const selectDatetime = (name: string): ReturnType<typeof sql> => dialect.scalar('datetime', sql`${`"${name}"`}`);
  const rows = await createReader(database)(
    sql`SELECT id,${selectDatetime('createdAt')},${selectDatetime('expiresAt')},${selectDatetime('lastUsedAt')} FROM logins WHERE "userId"=${value('integer', userId)} AND "expiresAt">${value('datetime', now)} ORDER BY id DESC`,
  );
  return rows.map(([id, createdAt, expiresAt, lastUsedAt]) => ({
    id: Number(id),
    createdAt: createdAt as string,
    expiresAt: expiresAt as string,
    lastUsedAt: lastUsedAt as string | null,
  }));
}

/** Ends one login of a user; whether there was one. */
export async function deleteOwnLogin(
  database: Database,
  transaction: Transaction,
  userId: number,
  id: number,
): Promise<boolean> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`DELETE FROM logins WHERE id=${value('integer', id)} AND "userId"=${value('integer', userId)} RETURNING id`);
  return rows.length > 0;
}

/** Ends every login of a user except one, or none; returns how many. */
export async function deleteUserLogins(
  database: Database,
  transaction: Transaction,
  userId: number,
  except: number | null = null,
): Promise<number> {
  const isOther = except === null ? sql`` : sql` AND id<>${value('integer', except)}`;
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`DELETE FROM logins WHERE "userId"=${value('integer', userId)}${isOther} RETURNING id`);
  return rows.length;
}
