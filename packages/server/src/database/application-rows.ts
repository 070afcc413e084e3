/** Statements about the list of applications, which is part of the store of `main`. */
import { isWellFormedText } from '../base/well-formed.ts';
import type { Database, Transaction } from './database.ts';
import { readRows, runInTransaction } from './run-statement.ts';
import { listValue, sql, value } from './sql.ts';

/** The names that applications may have. */
export const applicationNamePattern = /^[A-Za-z][A-Za-z0-9_-]{0,59}$/;

/** `destroying` stays until the store is removed, so that an interrupted removal is completed later. */
export type ApplicationStatus = 'starting' | 'running' | 'stopped' | 'failed' | 'destroying';

/** An application in the list. */
export interface ApplicationRow {
  readonly name: string;
  /** The name of the store. An application that is created again under the same name gets another store. */
  readonly store: string;
  readonly status: ApplicationStatus;
  /** Whether the store was once created completely. After that, an empty or missing store is an error. */
  readonly isBootstrapped: boolean;
  /** The user of `main` who created it. */
  readonly ownerId: number | null;
}

const columns = sql`name,store,status,born,"ownerId"`;

/** The application of a name, or null. */
export async function findApplication(database: Database, name: string): Promise<ApplicationRow | null> {
  if (!isWellFormedText(name)) return null;
  const [row] = await readRows<ListedRow>(
    database,
    sql`SELECT ${columns} FROM applications WHERE name=${value('text', name)}`,
  );
  return row ? toApplicationRow(row) : null;
}

/** The stores of the given applications that are in service, by name. */
export async function readServedStores(
  database: Database,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const isNamed = database.dialect.isIn(sql`name`, listValue('text', names));
  const rows = await readRows<ListedRow>(
    database,
    sql`SELECT ${columns} FROM applications WHERE ${isNamed} AND status NOT IN ('stopped','destroying')`,
  );
  return new Map(rows.map(toApplicationRow).map(({ name, store }) => [name, store]));
}

/** The names of the stores of all applications that are not being removed. */
export async function readStores(database: Database): Promise<string[]> {
  const rows = await readRows<[store: string]>(
    database,
    sql`SELECT store FROM applications WHERE status<>'destroying' AND store IS NOT NULL`,
  );
  return rows.map(([store]) => store);
}

/** The names of the stores of all applications that are not being removed, by the name of the application. */
export async function readStoresByName(database: Database): Promise<[name: string, store: string][]> {
  return readRows<[name: string, store: string]>(
    database,
    sql`SELECT name,store FROM applications WHERE status<>'destroying' AND store IS NOT NULL ORDER BY name`,
  );
}

/** The display name of an application, or null. */
export async function readDisplayName(database: Database, name: string): Promise<string | null> {
  const [row] = await readRows<[displayName: string | null]>(
    database,
    sql`SELECT "displayName" FROM applications WHERE name=${value('text', name)}`,
  );
  return row ? row[0] : null;
}

/** The applications with a status, by name. */
export async function readApplicationsByStatus(
  database: Database,
  status: ApplicationStatus,
): Promise<ApplicationRow[]> {
  const rows = await readRows<ListedRow>(
    database,
    sql`SELECT ${columns} FROM applications WHERE status=${value('text', status)} ORDER BY name`,
  );
  return rows.map(toApplicationRow);
}

/** The names of running applications that are opened when the server starts. */
export async function readAutoStartedNames(database: Database): Promise<string[]> {
  const rows = await readRows<[name: string, options: string]>(
    database,
    sql`SELECT name,options FROM applications WHERE status=${value('text', 'running')} ORDER BY name`,
  );
  return rows.filter(([, options]) => (JSON.parse(options) as { autoStart?: boolean }).autoStart).map(([name]) => name);
}

/** Adds `main` to the list, if it is missing. */
export async function insertMainApplication(
  database: Database,
  transaction: Transaction,
  name: string,
  createdAt: string,
): Promise<void> {
  const time = value('datetime', createdAt);
  const main = sql`${value('text', name)},'Main',${value('json', {})},'running',${value('boolean', true)}`;
  const insert = sql`INSERT INTO applications (name,"displayName",options,status,born,"createdAt","updatedAt")
VALUES (${main},${time},${time}) ON CONFLICT (name) DO NOTHING`;
  await runInTransaction(database, transaction, insert);
}

interface RestoredApplication {
  readonly name: string;
  readonly displayName: string | null;
  /** JSON text. */
  readonly options: string | null;
}

/**
 * Lists an application whose store was restored; one of the same name gets this store.
 *
 * @param status without it, an application that is stopped stays stopped.
 */
export async function writeRestoredApplication(
  database: Database,
  transaction: Transaction,
  { name, displayName, options }: RestoredApplication,
  { store, at, status }: { readonly store: string; readonly at: string; readonly status?: 'running' | 'stopped' },
): Promise<void> {
  const time = value('datetime', at);
  const bootstrapped = value('boolean', true);
  const described = sql`${value('text', name)},${value('text', displayName)},${value('json', JSON.parse(options ?? '{}'))}`;
  const next = status
    ? value('text', status)
    : sql`CASE WHEN applications.status='stopped' THEN 'stopped' ELSE 'running' END`;
  const insert = sql`INSERT INTO applications (name,"displayName",options,status,born,store,"createdAt","updatedAt")
VALUES (${described},'running',${bootstrapped},${value('uuid', store)},${time},${time})
ON CONFLICT (name) DO UPDATE SET store=excluded.store,status=${next},born=${bootstrapped},"updatedAt"=${time}`;
  transaction.touch('applications');
  await runInTransaction(database, transaction, insert);
}

/** The store of an application that is not being destroyed; null if there is none of the name. */
export async function findStore(database: Database, transaction: Transaction, name: string): Promise<string | null> {
  const select = sql`SELECT store FROM applications WHERE name=${value('text', name)} AND status<>'destroying'`;
  const [row] = await runInTransaction<[store: string | null]>(database, transaction, select);
  return row?.[0] ?? null;
}

/** As {@link writeRestoredApplication}, in a transaction of its own. */
export async function listRestoredApplication(
  database: Database,
  application: RestoredApplication,
  store: string,
  at: string,
): Promise<void> {
  await database.write((transaction) => writeRestoredApplication(database, transaction, application, { store, at }));
}

/** Sets the owner of an application; null: none. */
export async function setApplicationOwner(
  database: Database,
  transaction: Transaction,
  name: string,
  ownerId: number | null,
): Promise<void> {
  const update = sql`UPDATE applications SET "ownerId"=${value('integer', ownerId)} WHERE name=${value('text', name)}`;
  await runInTransaction(database, transaction, update);
}

/** Sets the status of an application, unless it is being destroyed. @returns whether the status changed. */
export async function setApplicationStatus(
  database: Database,
  transaction: Transaction,
  name: string,
  { status, updatedAt }: { readonly status: ApplicationStatus; readonly updatedAt: string },
): Promise<boolean> {
  const setBootstrapped = status === 'running' ? sql`,born=${value('boolean', true)}` : sql``;
  transaction.touch('applications');
  const set = sql`status=${value('text', status)}${setBootstrapped},"updatedAt"=${value('datetime', updatedAt)}`;
  const isOther = sql`name=${value('text', name)} AND status NOT IN (${value('text', status)},'destroying')`;
  const update = sql`UPDATE applications SET ${set} WHERE ${isOther} RETURNING name`;
  const rows = await runInTransaction(database, transaction, update);
  return rows.length > 0;
}

/** Adds an entry to the error log of an application, which only keeps the newest `maxEntries`. */
export async function addApplicationError(
  database: Database,
  transaction: Transaction,
  error: { readonly application: string; readonly at: string; readonly stage: string; readonly message: string },
  maxEntries: number,
): Promise<void> {
  const application = value('text', error.application);
  const { at, stage, message } = error;
  const values = sql`${value('datetime', at)},${value('text', stage)},${value('text', message)}`;
  transaction.touch('applicationErrors');
  const insert = sql`INSERT INTO "applicationErrors" (application,at,stage,message) VALUES (${application},${values})`;
  await runInTransaction(database, transaction, insert);
  const excess = sql`SELECT id FROM "applicationErrors" WHERE application=${application}
ORDER BY id DESC LIMIT 1 OFFSET ${maxEntries}`;
  const remove = sql`DELETE FROM "applicationErrors" WHERE application=${application} AND id<=(${excess})`;
  await runInTransaction(database, transaction, remove);
}

/** Removes an application that is being destroyed from the list, with the tokens recorded for it. */
export async function deleteApplication(database: Database, transaction: Transaction, name: string): Promise<void> {
  transaction.touch('applications');
  transaction.touch('applicationErrors');
  const remove = sql`DELETE FROM applications WHERE name=${value('text', name)} AND status='destroying' RETURNING name`;
  // Another server may have removed it already, and another application may have the name now.
  if ((await runInTransaction(database, transaction, remove)).length === 0) return;
  await runInTransaction(database, transaction, sql`DELETE FROM "keyHomes" WHERE application=${value('text', name)}`);
}

/** Sets when an application must be opened next without a request; null: never. */
export async function setWakeTime(database: Database, name: string, wakeAt: string | null): Promise<void> {
  const time = value('datetime', wakeAt);
  await database.write((transaction) =>
    runInTransaction(
      database,
      transaction,
      sql`UPDATE applications SET "wakeAt"=${time} WHERE name=${value('text', name)}`,
    ),
  );
}

/** Sets when applications must be opened again without a request. */
export async function setWakeTimes(database: Database, names: readonly string[], wakeAt: string): Promise<void> {
  const which = database.dialect.isIn(sql`name`, listValue('text', names));
  await database.write((transaction) =>
    runInTransaction(
      database,
      transaction,
      sql`UPDATE applications SET "wakeAt"=${value('datetime', wakeAt)} WHERE ${which}`,
    ),
  );
}

/** Claims the running applications whose wake time has passed, so that no other server opens them. @returns their names. */
export async function claimDueApplications(database: Database, now: string): Promise<string[]> {
  const due = sql`status='running' AND "wakeAt"<=${value('datetime', now)}`;
  if ((await readRows(database, sql`SELECT name FROM applications WHERE ${due} LIMIT 1`)).length === 0) return [];
  const rows = await database.write((transaction) =>
    runInTransaction<[name: string]>(
      database,
      transaction,
      sql`UPDATE applications SET "wakeAt"=NULL WHERE ${due} RETURNING name`,
    ),
  );
  return rows.map(([name]) => name);
}

/** Records to which application the token of a key or login belongs. */
export async function insertTokenApplication(
  database: Database,
  tokenHash: string,
  application: string,
): Promise<void> {
  await database.write((transaction) =>
    runInTransaction(
      database,
      transaction,
      sql`INSERT INTO "keyHomes" ("tokenHash",application)
VALUES (${value('text', tokenHash)},${value('text', application)}) ON CONFLICT ("tokenHash") DO NOTHING`,
    ),
  );
}

/** The next token hashes recorded for an application, in order, at most `limit`. */
export async function readTokenHashes(
  database: Database,
  application: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const isNext = sql`application=${value('text', application)} AND "tokenHash">${value('text', after)}`;
  const rows = await readRows<[hash: string]>(
    database,
    sql`SELECT "tokenHash" FROM "keyHomes" WHERE ${isNext} ORDER BY "tokenHash" LIMIT ${limit}`,
  );
  return rows.map(([hash]) => hash);
}

/** Deletes the records of tokens. */
export async function deleteTokenApplications(database: Database, tokenHashes: readonly string[]): Promise<void> {
  const isDeleted = database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  await database.write((transaction) =>
    runInTransaction(database, transaction, sql`DELETE FROM "keyHomes" WHERE ${isDeleted}`),
  );
}

/** Which of the token hashes belong to a key or login of this application. */
export async function findKnownTokens(database: Database, tokenHashes: readonly string[]): Promise<Set<string>> {
  const wanted = database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  const rows = await readRows<[hash: string]>(
    database,
    sql`SELECT "tokenHash" FROM logins WHERE ${wanted} UNION ALL SELECT "tokenHash" FROM "apiKeys" WHERE ${wanted}`,
  );
  return new Set(rows.map(([hash]) => hash));
}

/** The application of a key or login; null for tokens of `main` and for unknown tokens. */
export async function findTokenApplication(database: Database, tokenHashes: readonly string[]): Promise<string | null> {
  const wanted = database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  const [row] = await readRows<[application: string]>(
    database,
    sql`SELECT application FROM "keyHomes" WHERE ${wanted}`,
  );
  return row ? row[0] : null;
}

type ListedRow = [
  name: string,
  store: string | null,
  status: ApplicationStatus,
  isBootstrapped: unknown,
  ownerId: number | null,
];

function toApplicationRow([name, store, status, isBootstrapped, ownerId]: ListedRow): ApplicationRow {
  return { name, store: store ?? '', status, isBootstrapped: Boolean(isBootstrapped), ownerId };
}
