/** Statements about tokens that work once: to set a new password, or to make the first admin. */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner } from './identity-store.ts';
import { listValue, sql, value } from './sql.ts';

export type Purpose = 'reset' | 'setup';

export interface OneTimeToken {
  readonly purpose: Purpose;
  /** Whose password it sets; null for the first admin, who is not there yet. */
  readonly userId: number | null;
  readonly tokenHash: string;
  readonly expiresAt: string;
}

export async function insertOneTimeToken(
  database: Database,
  transaction: Transaction,
  token: OneTimeToken,
): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO "oneTimeTokens" (purpose,"userId","tokenHash","expiresAt") VALUES (${value('text', token.purpose)},${value('integer', token.userId)},${value('text', token.tokenHash)},${value('datetime', token.expiresAt)})`,
  );
}

/** Whose token it is while it works; null when it does not. Looks only. */
export async function findOneTimeToken(
  database: Database,
  purpose: Purpose,
  tokenHashes: readonly string[],
  now: string,
): Promise<{ readonly userId: number | null } | null> {
  const wanted = database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  const [row] = await createReader(database)(
    sql`SELECT "userId" FROM "oneTimeTokens" WHERE ${wanted} AND purpose=${value('text', purpose)} AND "expiresAt">${value('datetime', now)}`,
  );
  return row ? { userId: row[0] === null ? null : Number(row[0]) } : null;
}

/** Uses a token up; whether it still worked. Of two transactions that try, one is told so. */
export async function consumeOneTimeToken(
  database: Database,
  transaction: Transaction,
  purpose: Purpose,
  tokenHashes: readonly string[],
  now: string,
): Promise<boolean> {
  const wanted = database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`DELETE FROM "oneTimeTokens" WHERE ${wanted} AND purpose=${value('text', purpose)} AND "expiresAt">${value('datetime', now)} RETURNING id`,
  );
  return rows.length > 0;
}

/** How many tokens of a user work now. */
export async function countOneTimeTokens(
  database: Database,
  transaction: Transaction,
  userId: number,
  now: string,
): Promise<number> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT count(*) FROM "oneTimeTokens" WHERE "userId"=${value('integer', userId)} AND "expiresAt">${value('datetime', now)}`,
  );
  return Number(row![0]);
}

export async function deleteUserOneTimeTokens(
  database: Database,
  transaction: Transaction,
  userId: number,
): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(sql`DELETE FROM "oneTimeTokens" WHERE "userId"=${value('integer', userId)}`);
}

export async function deleteSetupTokens(database: Database, transaction: Transaction): Promise<void> {
  await createTxRunner(database, transaction)(sql`DELETE FROM "oneTimeTokens" WHERE purpose=${value('text', 'setup')}`);
}

export async function deleteExpiredTokens(database: Database, now: string): Promise<void> {
  const over = sql`"expiresAt"<=${value('datetime', now)}`;
  if ((await createReader(database)(sql`SELECT id FROM "oneTimeTokens" WHERE ${over} LIMIT 1`)).length === 0) return;
  await database.write((transaction) =>
    createTxRunner(database, transaction)(sql`DELETE FROM "oneTimeTokens" WHERE ${over}`),
  );
}
