/** Statements about e-mails that have arrived and wait for the rules of their account. */
import type { Database, Transaction } from '../database.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';

/** An e-mail that waits for the rules of its account. */
export interface Arrival {
  readonly id: number;
  readonly accountId: number;
  readonly emailId: number;
  /** Failed attempts so far. */
  readonly attempts: number;
}

/** Adds e-mails, if their account has an enabled rule or a vacation reply. @returns whether it has. */
export async function addArrivals(
  database: Database,
  transaction: Transaction,
  account: number,
  emails: readonly number[],
): Promise<boolean> {
  const { dialect } = database;
  const accountId = value('integer', account);
  const hasRule = sql`SELECT 1 FROM "mailRules" WHERE "accountId"=${accountId} AND ${dialect.isTrue(sql`enabled`)}`;
  const hasVacation = sql`SELECT 1 FROM accounts WHERE id=${accountId} AND vacation IS NOT NULL`;
  transaction.touch('mailArrivals');
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO "mailArrivals" ("accountId","emailId",attempts) SELECT ${accountId},e.id,0 FROM emails e WHERE ${dialect.isIn(sql`e.id`, listValue('bigint', emails))} AND (EXISTS (${hasRule}) OR EXISTS (${hasVacation})) RETURNING id`,
  );
  return rows.length > 0;
}

/** Accounts with e-mails that are due. @param now ISO 8601. */
export async function readAccountsWithArrivals(database: Database, now: string): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT DISTINCT "accountId" FROM "mailArrivals" WHERE "notBefore" IS NULL OR "notBefore"<=${value('datetime', now)} ORDER BY "accountId"`,
  );
  return rows.map(([account]) => Number(account));
}

/** E-mails of an account that are due, the oldest first. @param now ISO 8601. */
export async function readDueArrivals(
  database: Database,
  account: number,
  now: string,
  limit: number,
): Promise<Arrival[]> {
  const rows = await createReader(database)(
    sql`SELECT id,"accountId","emailId",attempts FROM "mailArrivals" WHERE "accountId"=${value('integer', account)} AND ("notBefore" IS NULL OR "notBefore"<=${value('datetime', now)}) ORDER BY id LIMIT ${limit}`,
  );
  return rows.map(([id, accountId, emailId, attempts]) => ({
    id: Number(id),
    accountId: Number(accountId),
    emailId: Number(emailId),
    attempts: Number(attempts),
  }));
}

/**
 * Removes arrivals, in the transaction that carries out the actions of the rules. @returns the ids of those that still
 * waited.
 */
export async function takeArrivals(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
): Promise<number[]> {
  transaction.touch('mailArrivals');
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`DELETE FROM "mailArrivals" WHERE ${database.dialect.isIn(sql`id`, listValue('bigint', ids))} RETURNING id`);
  return rows.map(([id]) => Number(id));
}

/** Counts a failed attempt. @param notBefore when the next one may begin, ISO 8601. */
export async function delayArrival(database: Database, id: number, notBefore: string): Promise<void> {
  await database.write(async (transaction) => {
    transaction.touch('mailArrivals');
    await createTxRunner(
      database,
      transaction,
    )(
      sql`UPDATE "mailArrivals" SET attempts=attempts+1,"notBefore"=${value('datetime', notBefore)} WHERE id=${value('bigint', id)}`,
    );
  });
}
