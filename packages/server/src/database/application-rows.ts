/** Statements about the list of applications, which the store of `main` keeps. */
import { isWellFormedText } from '../base/well-formed.ts';
import type { Database, Row, Transaction } from './database.ts';
import { readRows, runInTransaction } from './run-statement.ts';
import { listValue, sql, value } from './sql.ts';

/** `destroying` is kept until the store is gone, so that a destruction that was cut short is ended later. */
export type ApplicationStatus = 'starting' | 'running' | 'stopped' | 'failed' | 'destroying';

/** An application as the list has it. */
export interface ApplicationRow {
  readonly name: string;
  /** Names the store: an application made again under the same name has another. */
  readonly store: string;
  readonly status: ApplicationStatus;
  /** Its store has been made whole once: an empty or missing one is a fault from then on. */
  readonly born: boolean;
  /** The user of `main` who made it. */
  readonly ownerId: number | null;
}

const columns = sql`name,store,status,born,"ownerId"`;

export async function findApplication(database: Database, name: string): Promise<ApplicationRow | null> {
  if (!isWellFormedText(name)) return null;
  const [row] = await readRows(database, sql`SELECT ${columns} FROM applications WHERE name=${value('text', name)}`);
  return row ? toApplicationRow(row) : null;
}

/** What people call an application; null where it has no display name. */
export async function readDisplayName(database: Database, name: string): Promise<string | null> {
  const [row] = await readRows(database, sql`SELECT "displayName" FROM applications WHERE name=${value('text', name)}`);
  return (row?.[0] ?? null) as string | null;
}

export async function readApplicationsByStatus(
  database: Database,
  status: ApplicationStatus,
): Promise<ApplicationRow[]> {
  const rows = await readRows(
    database,
    sql`SELECT ${columns} FROM applications WHERE status=${value('text', status)} ORDER BY name`,
  );
  return rows.map(toApplicationRow);
}

/** Names of running applications that are to be open from the start. */
export async function readAutoStartedNames(database: Database): Promise<string[]> {
  const rows = await readRows(
    database,
    sql`SELECT name,options FROM applications WHERE status=${value('text', 'running')} ORDER BY name`,
  );
  return rows
    .filter(([, options]) => (JSON.parse(options as string) as { autoStart?: boolean }).autoStart)
    .map(([name]) => name as string);
}

export async function insertMainApplication(
  database: Database,
  transaction: Transaction,
  name: string,
  createdAt: string,
): Promise<void> {
  const time = value('datetime', createdAt);
  await runInTransaction(
    database,
    transaction,
    sql`INSERT INTO applications (name,"displayName",options,status,born,"createdAt","updatedAt") VALUES (${value('text', name)},'Main',${value('json', {})},'running',${value('boolean', true)},${time},${time}) ON CONFLICT (name) DO NOTHING`,
  );
}

export async function setApplicationOwner(
  database: Database,
  transaction: Transaction,
  name: string,
  ownerId: number | null,
): Promise<void> {
  await runInTransaction(
    database,
    transaction,
    sql`UPDATE applications SET "ownerId"=${value('integer', ownerId)} WHERE name=${value('text', name)}`,
  );
}

/** Returns whether it was another one before. */
export async function setApplicationStatus(
  database: Database,
  transaction: Transaction,
  name: string,
  status: ApplicationStatus,
  updatedAt: string,
): Promise<boolean> {
  const setBorn = status === 'running' ? sql`,born=${value('boolean', true)}` : sql``;
  transaction.touch('applications');
  const rows = await runInTransaction(
    database,
    transaction,
    sql`UPDATE applications SET status=${value('text', status)}${setBorn},"updatedAt"=${value('datetime', updatedAt)} WHERE name=${value('text', name)} AND status NOT IN (${value('text', status)},'destroying') RETURNING name`,
  );
  return rows.length > 0;
}

/** Adds to an application's error log, which keeps the newest. */
export async function addApplicationError(
  database: Database,
  transaction: Transaction,
  error: { readonly application: string; readonly at: string; readonly stage: string; readonly message: string },
  maxEntries: number,
): Promise<void> {
  const application = value('text', error.application);
  transaction.touch('applicationErrors');
  await runInTransaction(
    database,
    transaction,
    sql`INSERT INTO "applicationErrors" (application,at,stage,message) VALUES (${application},${value('datetime', error.at)},${value('text', error.stage)},${value('text', error.message)})`,
  );
  await runInTransaction(
    database,
    transaction,
    sql`DELETE FROM "applicationErrors" WHERE application=${application} AND id<=(SELECT id FROM "applicationErrors" WHERE application=${application} ORDER BY id DESC LIMIT 1 OFFSET ${maxEntries})`,
  );
}

export async function deleteApplication(database: Database, transaction: Transaction, name: string): Promise<void> {
  transaction.touch('applications');
  transaction.touch('applicationErrors');
  await runInTransaction(database, transaction, sql`DELETE FROM "keyHomes" WHERE application=${value('text', name)}`);
  await runInTransaction(database, transaction, sql`DELETE FROM applications WHERE name=${value('text', name)}`);
}

/** Notes when an application has to be opened next without being asked for; null: not at all. */
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

/** Running applications whose time has come, taken by this server: another one finds them no longer. */
export async function claimDueApplications(database: Database, now: string): Promise<string[]> {
  const due = sql`status='running' AND "wakeAt"<=${value('datetime', now)}`;
  if ((await readRows(database, sql`SELECT name FROM applications WHERE ${due} LIMIT 1`)).length === 0) return [];
  const rows = await database.write((transaction) =>
    runInTransaction(database, transaction, sql`UPDATE applications SET "wakeAt"=NULL WHERE ${due} RETURNING name`),
  );
  return rows.map(([name]) => name as string);
}

/** Notes in which application the token of a key or login holds. */
export async function insertTokenApplication(
  database: Database,
  tokenHash: string,
  application: string,
): Promise<void> {
  await database.write((transaction) =>
    runInTransaction(
      database,
      transaction,
      sql`INSERT INTO "keyHomes" ("tokenHash",application) VALUES (${value('text', tokenHash)},${value('text', application)}) ON CONFLICT ("tokenHash") DO NOTHING`,
    ),
  );
}

/** The next page of token hashes recorded for an application, in their order. */
export async function readTokenHashes(
  database: Database,
  application: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await readRows(
    database,
    sql`SELECT "tokenHash" FROM "keyHomes" WHERE application=${value('text', application)} AND "tokenHash">${value('text', after)} ORDER BY "tokenHash" LIMIT ${limit}`,
  );
  return rows.map(([hash]) => hash as string);
}

export async function deleteTokenApplications(database: Database, tokenHashes: readonly string[]): Promise<void> {
  const isDeleted = database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  await database.write((transaction) =>
    runInTransaction(database, transaction, sql`DELETE FROM "keyHomes" WHERE ${isDeleted}`),
  );
}

/** Those of some token hashes that are of a key or login of this application. */
export async function findKnownTokens(database: Database, tokenHashes: readonly string[]): Promise<Set<string>> {
  const wanted = database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  const rows = await readRows(
    database,
    sql`SELECT "tokenHash" FROM logins WHERE ${wanted} UNION ALL SELECT "tokenHash" FROM "apiKeys" WHERE ${wanted}`,
  );
  return new Set(rows.map(([hash]) => hash as string));
}

/** The application in which a key or login was made, or null for one of `main` and for unknown ones. */
export async function findTokenApplication(database: Database, tokenHashes: readonly string[]): Promise<string | null> {
  const wanted = database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  const [row] = await readRows(database, sql`SELECT application FROM "keyHomes" WHERE ${wanted}`);
  return row ? (row[0] as string) : null;
}

function toApplicationRow(row: Row): ApplicationRow {
  const [name, store, status, born, ownerId] = row;
  return {
    name: name as string,
    store: (store as string | null) ?? '',
    status: status as ApplicationStatus,
    born: Boolean(born),
    ownerId: ownerId as number | null,
  };
}
