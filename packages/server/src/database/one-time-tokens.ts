/** Statements about one-time tokens: for setting a new password, creating the first admin, and signing in at mail providers. */
import type { Database, Transaction } from './database.ts';
import { createReader, readNumberInTx, runInTransaction } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

export type Purpose = 'reset' | 'setup' | 'mailSignIn';

export interface OneTimeToken {
  readonly purpose: Purpose;
  /** The user who may use the token, or whose password it sets; null for the first admin, who does not exist yet. */
  readonly userId: number | null;
  readonly tokenHash: string;
  readonly expiresAt: string;
}

/** Creates a one-time token. */
export async function insertOneTimeToken(
  database: Database,
  transaction: Transaction,
  token: OneTimeToken,
): Promise<void> {
  const { purpose, userId, tokenHash, expiresAt } = token;
  const user = sql`${value('text', purpose)},${value('integer', userId)}`;
  const secret = sql`${value('text', tokenHash)},${value('datetime', expiresAt)}`;
  const insert = sql`INSERT INTO "oneTimeTokens" (purpose,"userId","tokenHash","expiresAt") VALUES (${user},${secret})`;
  await runInTransaction(database, transaction, insert);
}

/** The user of a valid token; null for an invalid one. The token stays valid. */
export async function findOneTimeToken(
  database: Database,
  purpose: Purpose,
  tokenHashes: readonly string[],
  now: string,
): Promise<{ readonly userId: number | null } | null> {
  const isValid = matchesValidToken(database, { purpose, tokenHashes, now });
  const [row] = await createReader(database)<[userId: number | null]>(
    sql`SELECT "userId" FROM "oneTimeTokens" WHERE ${isValid}`,
  );
  if (!row) return null;
  const [userId] = row;
  return { userId: userId === null ? null : Number(userId) };
}

/** Deletes a valid token. @returns whether it was valid: of two transactions that consume it, only one gets true. */
export async function consumeOneTimeToken(
  database: Database,
  transaction: Transaction,
  presented: PresentedToken,
): Promise<boolean> {
  const isValid = matchesValidToken(database, presented);
  const remove = sql`DELETE FROM "oneTimeTokens" WHERE ${isValid} RETURNING id`;
  const rows = await runInTransaction(database, transaction, remove);
  return rows.length > 0;
}

/** The number of valid tokens of a user for a purpose. */
export async function countOneTimeTokens(
  database: Database,
  transaction: Transaction,
  { userId, purpose, now }: { readonly userId: number; readonly purpose: Purpose; readonly now: string },
): Promise<number> {
  const select = sql`SELECT count(*) FROM "oneTimeTokens" WHERE "userId"=${value('integer', userId)}
AND purpose=${value('text', purpose)} AND "expiresAt">${value('datetime', now)}`;
  return readNumberInTx(database, transaction, select);
}

/** Deletes all tokens of a user. */
export async function deleteUserOneTimeTokens(
  database: Database,
  transaction: Transaction,
  userId: number,
): Promise<void> {
  const remove = sql`DELETE FROM "oneTimeTokens" WHERE "userId"=${value('integer', userId)}`;
  await runInTransaction(database, transaction, remove);
}

/** Deletes all tokens for creating the first admin. */
export async function deleteSetupTokens(database: Database, transaction: Transaction): Promise<void> {
  const remove = sql`DELETE FROM "oneTimeTokens" WHERE purpose=${value('text', 'setup')}`;
  await runInTransaction(database, transaction, remove);
}

/** Deletes expired tokens. */
export async function deleteExpiredTokens(database: Database, now: string): Promise<void> {
  const over = sql`"expiresAt"<=${value('datetime', now)}`;
  if ((await createReader(database)(sql`SELECT id FROM "oneTimeTokens" WHERE ${over} LIMIT 1`)).length === 0) return;
  await database.write((transaction) =>
    runInTransaction(database, transaction, sql`DELETE FROM "oneTimeTokens" WHERE ${over}`),
  );
}

/** A token as a request presents it. */
export interface PresentedToken {
  readonly purpose: Purpose;
  /** The hash of the token under each key that may have signed it. */
  readonly tokenHashes: readonly string[];
  readonly now: string;
}

function matchesValidToken(database: Database, { purpose, tokenHashes, now }: PresentedToken): Sql {
  const isPresented = database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  return sql`${isPresented} AND purpose=${value('text', purpose)} AND "expiresAt">${value('datetime', now)}`;
}
