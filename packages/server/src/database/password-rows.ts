/** Statements about the passwords of users: for what users do with their own, and for what was proved by one. */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner } from './identity-store.ts';
import { type Sql, sql, value } from './sql.ts';

export interface UserPassword {
  readonly email: string | null;
  readonly username: string | null;
  readonly status: string;
  readonly passwordHash: string | null;
}

export async function readPassword(database: Database, userId: number): Promise<UserPassword | null> {
  const [row] = await createReader(database)(selectPassword(userId));
  return row ? toUserPassword(row) : null;
}

/** The same, as the transaction sees it. */
export async function readPasswordInTx(
  database: Database,
  transaction: Transaction,
  userId: number,
): Promise<UserPassword | null> {
  const [row] = await createTxRunner(database, transaction)(selectPassword(userId));
  return row ? toUserPassword(row) : null;
}

/** Sets a password where the user is active, and the former one is still the one named; whether it did. */
export async function replacePassword(
  database: Database,
  transaction: Transaction,
  change: { readonly userId: number; readonly hash: string; readonly former: string | null; readonly at: string },
): Promise<boolean> {
  const matchesPrevious = change.former === null ? sql`` : sql` AND password=${value('text', change.former)}`;
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE users SET password=${value('text', change.hash)},"updatedAt"=${value('datetime', change.at)},_v=_v+1 WHERE id=${value('integer', change.userId)} AND status='active'${matchesPrevious} RETURNING id`,
  );
  return rows.length > 0;
}

/**
 * Whether a user is active and still has what was looked at before the transaction: what is begun on the strength of a
 * password or an address is not begun once that has changed.
 *
 * The row is written, as it is: on PostgreSQL a lock alone would let a change with an older view commit beside this, and
 * not end what is begun here.
 */
export async function hasUnchangedCredential(
  database: Database,
  transaction: Transaction,
  userId: number,
  known: { readonly password: string } | { readonly email: string },
): Promise<boolean> {
  const same =
    'password' in known ? sql`password=${value('text', known.password)}` : sql`email=${value('text', known.email)}`;
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE users SET status=status WHERE id=${value('integer', userId)} AND status='active' AND ${same} RETURNING id`,
  );
  return rows.length > 0;
}

function selectPassword(userId: number): Sql {
  return sql`SELECT email,username,status,password FROM users WHERE id=${value('integer', userId)}`;
}

function toUserPassword(row: readonly unknown[]): UserPassword {
  const [email, username, status, passwordHash] = row as (string | null)[];
  return { email: email!, username: username!, status: status!, passwordHash: passwordHash! };
}
