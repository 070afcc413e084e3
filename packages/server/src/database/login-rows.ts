/** Statements about the logins of one user. */
import type { Database, Transaction } from './database.ts';
import { reading, writing } from './identity-store.ts';
import { sql, value } from './sql.ts';

export interface LoginRow {
  readonly id: number;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** At most a minute behind; null until then. */
  readonly lastUsedAt: string | null;
}

/** A user's logins that still hold at a moment, the newest first. */
export async function loginsOf(database: Database, userId: number, now: string): Promise<LoginRow[]> {
  const { dialect } = database;
  const moment = (name: string): ReturnType<typeof sql> => dialect.scalar('datetime', sql`${`"${name}"`}`);
  const rows = await reading(database)(
    sql`SELECT id,${moment('createdAt')},${moment('expiresAt')},${moment('lastUsedAt')} FROM logins WHERE "userId"=${value('integer', userId)} AND "expiresAt">${value('datetime', now)} ORDER BY id DESC`,
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
  const rows = await writing(
    database,
    transaction,
  )(sql`DELETE FROM logins WHERE id=${value('integer', id)} AND "userId"=${value('integer', userId)} RETURNING id`);
  return rows.length > 0;
}

/** Ends every login of a user except one, or none; returns how many. */
export async function deleteLoginsOf(
  database: Database,
  transaction: Transaction,
  userId: number,
  except: number | null = null,
): Promise<number> {
  const others = except === null ? sql`` : sql` AND id<>${value('integer', except)}`;
  const rows = await writing(
    database,
    transaction,
  )(sql`DELETE FROM logins WHERE "userId"=${value('integer', userId)}${others} RETURNING id`);
  return rows.length;
}
