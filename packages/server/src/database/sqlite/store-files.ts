import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartFailure } from '../../base/start-failure.ts';

export interface ExpectedStore {
  readonly path: string;
  /** Whether it may be made where it does not exist. */
  readonly mayCreate: boolean;
  /** Whether every other store belongs to this one, which lists them. */
  readonly isMainStore: boolean;
}

/**
 * Refuses a database file that went missing or was emptied: SQLite would make a new empty one, and the server would
 * come up healthy without its data.
 *
 * @throws Error if it is missing or empty and may not be created; StartFailure if it may be created, but other files
 * show that it existed before.
 */
export function requireStoreFile({ path, mayCreate, isMainStore }: ExpectedStore): void {
  const size = readFileSize(path);
  if (size > 0) return;
  const state = size === 0 ? 'empty' : 'missing';
  if (!mayCreate) throw new Error(`the store is ${state}`);
  const remains = findRemains(path, isMainStore);
  if (remains === null) return;
  throw new StartFailure(
    `The database file "${resolve(path)}" is ${state}, but "${remains}" next to it exists: its data was lost. Restore the file from a backup. To begin with an empty database, remove the whole folder.`,
  );
}

/** The random name of the event log of a database file, which a server may be using. */
export function readStoreEpoch(path: string): string | null {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  try {
    const row = database.prepare('SELECT epoch FROM _meta').get();
    return (row?.['epoch'] as string | undefined) ?? null;
  } finally {
    database.close();
  }
}

/** A file of the same store that is only made after the database; null if there is none. */
function findRemains(path: string, isMainStore: boolean): string | null {
  const folder = dirname(path);
  const store = basename(path, '.db');
  const ownFile = [`${store}.db-wal`, `${store}.audit.db`].find((name) => readFileSize(join(folder, name)) > 0);
  if (ownFile !== undefined) return ownFile;
  if (existsSync(join(folder, `${store}.files`))) return `${store}.files`;
  if (!isMainStore || !existsSync(folder)) return null;
  return readdirSync(folder).find((name) => name.endsWith('.db') && readFileSize(join(folder, name)) > 0) ?? null;
}

/** In bytes; -1 where there is no such file. */
function readFileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1;
}

/** Removes a closed database's files. */
export function removeSqlite(path: string): void {
  for (const each of [path, `${path}-wal`, `${path}-shm`]) rmSync(each, { force: true });
}
