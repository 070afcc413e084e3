/** Statements about the backups and restores of the server. They are listed in the store of `main`. */
import type { Database, Transaction } from './database.ts';
import { readRows, runInTransaction } from './run-statement.ts';
import { sql, value } from './sql.ts';

export type BackupStatus = 'running' | 'done' | 'failed';

/** A backup or restore. Ids begin with the time, so they sort by it. */
export interface BackupRow {
  readonly id: string;
  readonly status: BackupStatus;
  /** The time of the schedule, ISO 8601; null: it was not made by the schedule. */
  readonly slot: string | null;
  /** JSON text. */
  readonly job: string;
}

type Columns = [id: string, status: BackupStatus, slot: string | null, job: string];
const columns = sql`id,status,slot,job`;
const toRow = ([id, status, slot, job]: Columns): BackupRow => ({ id, status, slot, job });

/** Adds a backup. @returns false if another server has added one for the same time of the schedule. */
export async function insertBackup(database: Database, { id, status, slot, job }: BackupRow): Promise<boolean> {
  const values = sql`${value('text', id)},${value('text', status)},${value('text', slot)},${value('text', job)}`;
  const insert = sql`INSERT INTO _backups (id,status,slot,job) VALUES (${values}) ON CONFLICT (slot) DO NOTHING RETURNING id`;
  return (await database.write((transaction) => runInTransaction(database, transaction, insert))).length > 0;
}

/** Replaces the stored state of a backup. Does nothing if the backup no longer exists. */
export async function updateBackup(
  database: Database,
  { id, status, job }: Pick<BackupRow, 'id' | 'status' | 'job'>,
): Promise<void> {
  const set = sql`status=${value('text', status)},job=${value('text', job)}`;
  const update = sql`UPDATE _backups SET ${set} WHERE id=${value('text', id)}`;
  await database.write((transaction) => runInTransaction(database, transaction, update));
}

export async function deleteBackup(database: Database, id: string): Promise<void> {
  const remove = sql`DELETE FROM _backups WHERE id=${value('text', id)}`;
  await database.write((transaction) => runInTransaction(database, transaction, remove));
}

/** Removes failed backups and finished restores, except the newest `keep`. */
export async function pruneBackupReports(database: Database, keep: number): Promise<void> {
  const isReport = sql`(status='failed' OR (status='done' AND id LIKE 'r%'))`;
  const last = sql`SELECT id FROM _backups WHERE ${isReport} ORDER BY substr(id,2) DESC LIMIT 1 OFFSET ${keep}`;
  const remove = sql`DELETE FROM _backups WHERE ${isReport} AND substr(id,2)<=(SELECT substr(o.id,2) FROM (${last}) o)`;
  await database.write((transaction) => runInTransaction(database, transaction, remove));
}

/** All backups and restores, the newest first. */
export async function readBackups(database: Database): Promise<BackupRow[]> {
  const rows = await readRows<Columns>(database, sql`SELECT ${columns} FROM _backups ORDER BY substr(id,2) DESC`);
  return rows.map(toRow);
}

/** Backups and restores that are running, or that were interrupted. */
export async function readRunningBackups(
  database: Database,
  transaction: Transaction | null = null,
): Promise<BackupRow[]> {
  const select = sql`SELECT ${columns} FROM _backups WHERE status='running' ORDER BY id`;
  const rows = await (transaction
    ? runInTransaction<Columns>(database, transaction, select)
    : readRows<Columns>(database, select));
  return rows.map(toRow);
}

/** Whether a backup was made, or is being made, for a time of the schedule. */
export async function hasBackupOfSlot(database: Database, slot: string): Promise<boolean> {
  const rows = await readRows(database, sql`SELECT id FROM _backups WHERE slot=${value('text', slot)}`);
  return rows.length > 0;
}

/** The newest backup that is complete; null if there is none. */
export async function readLastBackup(database: Database): Promise<BackupRow | null> {
  const [row] = await readRows<Columns>(
    database,
    sql`SELECT ${columns} FROM _backups WHERE status='done' AND id LIKE 'b%' ORDER BY id DESC LIMIT 1`,
  );
  return row ? toRow(row) : null;
}
