/** Statements about the passwords of users. */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner, runInTransaction } from './run-statement.ts';
import { type Sql, sql, value } from './sql.ts';

export interface UserPassword {
  readonly email: string | null;
  readonly username: string | null;
  readonly status: string;
  readonly passwordHash: string | null;
}

/** The password hash of a user with its address and status; null for an unknown user. */
export async function readPassword(database: Database, userId: number): Promise<UserPassword | null> {
  const [row] = await createReader(database)<PasswordRow>(selectPassword(userId));
  return row ? toUserPassword(row) : null;
}

/** Like {@link readPassword}, as the transaction sees it. */
export async function readPasswordInTx(
  database: Database,
  transaction: Transaction,
  userId: number,
): Promise<UserPassword | null> {
  const [row] = await runInTransaction<PasswordRow>(database, transaction, selectPassword(userId));
  return row ? toUserPassword(row) : null;
}

/**
 * Sets the password of an active user.
 *
 * @param change `former`: the hash that the user must still have; null for any.
 * @returns whether the password was set.
 */
export async function replacePassword(
  database: Database,
  transaction: Transaction,
  change: { readonly userId: number; readonly hash: string; readonly former: string | null; readonly at: string },
): Promise<boolean> {
  const matchesPrevious = change.former === null ? sql`` : sql` AND password=${value('text', change.former)}`;
  const set = sql`password=${value('text', change.hash)},"updatedAt"=${value('datetime', change.at)},_v=_v+1`;
  const isActive = sql`id=${value('integer', change.userId)} AND status='active'`;
  const run = createTxRunner(database, transaction);
  const rows = await run(sql`UPDATE users SET ${set} WHERE ${isActive}${matchesPrevious} RETURNING id`);
  return rows.length > 0;
}

/**
 * Whether a user is active and still has the password or address that was checked before the transaction.
 *
 * The row is updated without a change. On PostgreSQL, a lock would not be enough: a concurrent password change with an
 * older snapshot could commit and would not end the login that this transaction creates.
 */
export async function hasUnchangedCredential(
  database: Database,
  transaction: Transaction,
  userId: number,
  known: { readonly password: string } | { readonly email: string },
): Promise<boolean> {
  const same =
    'password' in known ? sql`password=${value('text', known.password)}` : sql`email=${value('text', known.email)}`;
  const update = sql`UPDATE users SET status=status WHERE id=${value('integer', userId)} AND status='active' AND ${same}
RETURNING id`;
  const rows = await runInTransaction(database, transaction, update);
  return rows.length > 0;
}

function selectPassword(userId: number): Sql {
  return sql`SELECT email,username,status,password FROM users WHERE id=${value('integer', userId)}`;
}

type PasswordRow = [email: string | null, username: string | null, status: string, passwordHash: string | null];

function toUserPassword([email, username, status, passwordHash]: PasswordRow): UserPassword {
  return { email, username, status, passwordHash };
}
