/** Statements about the state of accounts' synchronisation and the log of their problems. */
import type { Database, Transaction } from '../database.ts';
import { createTxRunner } from '../run-statement.ts';
import { identifier, join, type Sql, sql, value } from '../sql.ts';
import { deletingStatus } from './account-status.ts';

/** Problems that are stored for each account. */
const maxProblems = 100;

/** A problem in the log. */
export interface LoggedProblem {
  /** ISO 8601. */
  readonly at: string;
  readonly source: string;
  readonly code: string;
  readonly message: string;
  readonly cure: string;
}

/**
 * Adds a problem to the log of an account, and deletes the oldest ones above the limit. The same problem as the last one is
 * counted instead of being added again.
 *
 * @returns the key of the log entry, and whether it is new; null if the account is deleted.
 */
export async function logProblem(
  database: Database,
  transaction: Transaction,
  account: number,
  problem: LoggedProblem,
): Promise<{ readonly id: number; readonly isNew: boolean } | null> {
  const run = createTxRunner(database, transaction);
  const accountId = value('integer', account);
  const { at, source, code, message, cure } = problem;
  const [open] = await run(
    sql`SELECT 1 FROM accounts WHERE id=${accountId} AND status<>${value('text', deletingStatus)}`,
  );
  if (!open) return null;
  transaction.touch('mailProblems');
  const newest = sql`SELECT max(id) FROM "mailProblems" WHERE "accountId"=${accountId}`;
  const isSame = sql`source=${value('text', source)} AND code=${value('text', code)} AND message=${value('text', message)}`;
  const [repeated] = await run(
    sql`UPDATE "mailProblems" SET count=count+1,at=${value('datetime', at)},_v=_v+1 WHERE id=(${newest}) AND ${isSame} RETURNING id`,
  );
  if (repeated) return { id: Number(repeated[0]), isNew: false };
  const [row] = await run(
    sql`INSERT INTO "mailProblems" ("accountId",at,source,code,message,cure,count) VALUES (${accountId},${value('datetime', at)},${value('text', source)},${value('text', code)},${value('text', message)},${value('text', cure)},1) RETURNING id`,
  );
  await run(
    sql`DELETE FROM "mailProblems" WHERE "accountId"=${accountId} AND id<=(SELECT id FROM "mailProblems" WHERE "accountId"=${accountId} ORDER BY id DESC LIMIT 1 OFFSET ${value('integer', maxProblems)})`,
  );
  return row ? { id: Number(row[0]), isNew: true } : null;
}

/** The fields of an account that its synchronisation sets. Absent ones stay as they are. */
export interface AccountState {
  readonly status?: string;
  /** Null: there is none. */
  readonly problem?: Readonly<Record<string, string>> | null;
  /** ISO 8601; null: no retry is planned. */
  readonly retryAt?: string | null;
  /** Failed attempts in succession. */
  readonly failures?: number;
  readonly backfillDone?: number;
  readonly backfillTotal?: number;
  readonly bodiesWaiting?: number;
  /** ISO 8601. */
  readonly lastSyncAt?: string;
  readonly capabilities?: readonly string[];
}

const storages = {
  status: 'text',
  problem: 'json',
  retryAt: 'datetime',
  failures: 'integer',
  backfillDone: 'integer',
  backfillTotal: 'integer',
  bodiesWaiting: 'integer',
  lastSyncAt: 'datetime',
  capabilities: 'json',
} as const satisfies Record<keyof AccountState, string>;

/**
 * Stores the state of an account that is not being deleted.
 *
 * @param isNewVersion whether the version of the record changes, so that a client's `If-Match` no longer holds.
 * @returns whether the account exists.
 */
export async function setAccountState(
  database: Database,
  transaction: Transaction,
  account: number,
  { state, isNewVersion }: { readonly state: AccountState; readonly isNewVersion: boolean },
): Promise<boolean> {
  const names = (Object.keys(storages) as (keyof AccountState)[]).filter((name) => state[name] !== undefined);
  const assignments: Sql[] = names.map((name) => sql`${identifier(name)}=${value(storages[name], state[name])}`);
  if (isNewVersion) assignments.push(sql`_v=_v+1`);
  if (assignments.length === 0) return true;
  transaction.touch('accounts');
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE accounts SET ${join(assignments, ',')} WHERE id=${value('integer', account)} AND status<>${value('text', deletingStatus)} RETURNING id`,
  );
  return rows.length > 0;
}
