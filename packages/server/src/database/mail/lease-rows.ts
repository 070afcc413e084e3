/**
 * Statements about the leases of accounts: which server synchronises an account, and until when. The server renews its leases while it
 * works. If it dies, they expire and other servers claim the accounts.
 */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { deletingStatus } from './account-status.ts';

/**
 * The status of an account whose server refused the sign-in. It is not claimed until the account is changed or a retry
 * is requested.
 */
export const refusedStatus = 'authError';

/** The time after which a server has noticed that it lost a lease. */
export const leaseNoticeMilliseconds = 4000;

/** An account that has a mail server to synchronise with. */
export interface SyncAccount {
  readonly id: number;
  readonly address: string;
  readonly host: string;
  readonly status: string;
  /** ISO 8601; the account is not tried before. */
  readonly retryAt: string | null;
  /** Failed attempts in succession. */
  readonly failures: number;
  readonly leasedBy: string | null;
  /** ISO 8601. */
  readonly leasedUntil: string | null;
  /** Messages older than this date (`2026-01-31`) are not synchronised; null: all are. */
  readonly since: string | null;
}

/** All accounts that have a mail server to synchronise with, also those that wait or were refused. */
export async function readSyncAccounts(database: Database): Promise<SyncAccount[]> {
  const { dialect } = database;
  const time = (name: string): Sql => dialect.scalar('datetime', sql`${name}`);
  const rows = await createReader(database)(
    sql`SELECT id,address,imap,status,${time('"retryAt"')},coalesce(failures,0),"leasedBy",${time('"leasedUntil"')},since FROM accounts WHERE imap IS NOT NULL AND status<>${value('text', deletingStatus)} ORDER BY id`,
  );
  return rows.map(([id, address, imap, status, retryAt, failures, leasedBy, leasedUntil, since]) => ({
    id: Number(id),
    address: address as string,
    host: String((parseJsonColumn(imap) as { host?: unknown } | null)?.host ?? '').toLowerCase(),
    status: status as string,
    retryAt: retryAt as string | null,
    failures: Number(failures),
    leasedBy: leasedBy as string | null,
    leasedUntil: leasedUntil as string | null,
    since: since as string | null,
  }));
}

/** The status of an account that has a mail server to synchronise with; null for other accounts. */
export async function readSyncStatus(database: Database, account: number): Promise<string | null> {
  const [row] = await createReader(database)(
    sql`SELECT status FROM accounts WHERE id=${value('integer', account)} AND imap IS NOT NULL AND status<>${value('text', deletingStatus)}`,
  );
  return row ? (row[0] as string) : null;
}

/** The times of a lease, ISO 8601. */
export interface LeaseTimes {
  readonly now: string;
  readonly until: string;
}

/**
 * Claims accounts that no other server has a valid lease of.
 *
 * @returns the keys of those that this server has the lease of now.
 */
export function claimLeases(
  database: Database,
  owner: string,
  accounts: readonly number[],
  { now, until }: LeaseTimes,
): Promise<number[]> {
  const which = database.dialect.isIn(sql`id`, listValue('integer', accounts));
  const isFree = sql`("leasedUntil" IS NULL OR "leasedUntil"<${value('datetime', now)} OR "leasedBy"=${value('text', owner)})`;
  const isWanted = sql`imap IS NOT NULL AND status NOT IN (${value('text', deletingStatus)},${value('text', refusedStatus)})`;
  return setLeases(
    database,
    sql`"leasedBy"=${value('text', owner)},"leasedUntil"=${value('datetime', until)} WHERE ${which} AND ${isFree} AND ${isWanted}`,
  );
}

/** Extends leases that this server has. @returns the keys of those that it still has. */
export function renewLeases(
  database: Database,
  owner: string,
  accounts: readonly number[],
  until: string,
): Promise<number[]> {
  const which = database.dialect.isIn(sql`id`, listValue('integer', accounts));
  return setLeases(
    database,
    sql`"leasedUntil"=${value('datetime', until)} WHERE ${which} AND "leasedBy"=${value('text', owner)}`,
  );
}

/** Releases leases, so that another server can claim the accounts at once. */
export async function releaseLeases(database: Database, owner: string, accounts: readonly number[]): Promise<void> {
  const which = database.dialect.isIn(sql`id`, listValue('integer', accounts));
  await setLeases(
    database,
    sql`"leasedBy"=NULL,"leasedUntil"=NULL WHERE ${which} AND "leasedBy"=${value('text', owner)}`,
  );
}

/**
 * Ends the lease of an account, whichever server has it, and resets its failures, so that it is connected again at once. For
 * changes of its servers or secrets, and for requested retries.
 *
 * @param freeAt ISO 8601; when the present owner has noticed that it lost the lease, so that another server can claim
 * the account.
 */
export async function restartSync(
  database: Database,
  transaction: Transaction,
  account: number,
  freeAt: string,
): Promise<void> {
  const isWaiting = sql`status IN (${value('text', refusedStatus)},'backoff','disabled')`;
  const status = sql`CASE WHEN imap IS NULL THEN 'disabled' WHEN ${isWaiting} THEN 'connecting' ELSE status END`;
  const leasedUntil = sql`CASE WHEN "leasedBy" IS NULL THEN NULL ELSE ${value('datetime', freeAt)} END`;
  transaction.touch('accounts');
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE accounts SET status=${status},problem=CASE WHEN imap IS NULL THEN NULL ELSE problem END,"retryAt"=NULL,failures=0,"leasedUntil"=${leasedUntil},"leasedBy"=NULL WHERE id=${value('integer', account)} AND status<>${value('text', deletingStatus)}`,
  );
}

/** Ends the leases of an earlier process on a store that only one process uses, and forgets that process. */
export async function endFormerLeases(database: Database): Promise<void> {
  const isHeld = sql`"leasedUntil" IS NOT NULL`;
  const held = sql`SELECT 1 FROM accounts WHERE ${isHeld} UNION ALL SELECT 1 FROM "mailWorkers" LIMIT 1`;
  if ((await createReader(database)(held)).length === 0) return; // without a write, the disk is not synced
  await database.write(async (transaction) => {
    const run = createTxRunner(database, transaction);
    await run(sql`UPDATE accounts SET "leasedBy"=NULL,"leasedUntil"=NULL WHERE ${isHeld}`);
    await run(sql`DELETE FROM "mailWorkers"`);
  });
}

/** Leases are hidden and change often, so caches of what clients see stay valid: no table is touched. */
async function setLeases(database: Database, assignment: Sql): Promise<number[]> {
  const rows = await database.write((transaction) =>
    createTxRunner(database, transaction)(sql`UPDATE accounts SET ${assignment} RETURNING id`),
  );
  return rows.map(([id]) => Number(id));
}

/** Reports that a server works on this store, and removes servers that were not seen since `deadSince`. */
export async function reportWorker(
  database: Database,
  name: string,
  { now, deadSince }: { readonly now: string; readonly deadSince: string },
): Promise<void> {
  await database.write(async (transaction) => {
    const run = createTxRunner(database, transaction);
    const seenAt = value('datetime', now);
    await run(sql`DELETE FROM "mailWorkers" WHERE "seenAt"<${value('datetime', deadSince)}`);
    await run(
      sql`INSERT INTO "mailWorkers" (name,"seenAt") VALUES (${value('text', name)},${seenAt}) ON CONFLICT (name) DO UPDATE SET "seenAt"=${seenAt}`,
    );
  });
}

/** Removes a server that stops from the list immediately. */
export async function removeWorker(database: Database, name: string): Promise<void> {
  await database.write((transaction) =>
    createTxRunner(database, transaction)(sql`DELETE FROM "mailWorkers" WHERE name=${value('text', name)}`),
  );
}

/** The number of servers that were seen since a time, ISO 8601. */
export async function countWorkers(database: Database, since: string): Promise<number> {
  const [row] = await createReader(database)(
    sql`SELECT count(*) FROM "mailWorkers" WHERE "seenAt">=${value('datetime', since)}`,
  );
  return Number(row?.[0] ?? 0);
}
