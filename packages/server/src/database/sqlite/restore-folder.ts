/** Restores a backup into a data folder that no server uses. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { copyIfExists } from '../../base/copy-if-exists.ts';
import { syncToDisk, syncTree } from '../../base/sync-to-disk.ts';
import { listRestoredApplication } from '../application-rows.ts';
import { type BackupApplication, type BackupManifest, checkFiles } from '../backup-manifest.ts';
import { checkDatabases } from './check-copy.ts';
import { decideRestore, finishRestore, partName } from './finish-restore.ts';
import { FolderLock } from './folder-lock.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { SqliteDatabase } from './sqlite-database.ts';

export interface FolderRestoreOptions {
  readonly folder: string;
  readonly manifest: BackupManifest;
  readonly dataDir: string;
  readonly mainStore: string;
  /** The application to restore into the existing data; null: all, with `main`. */
  readonly application: BackupApplication | null;
  /** Whether existing data may be replaced. */
  readonly replace: boolean;
  /** Now, ISO 8601. */
  readonly at: string;
}

/**
 * Restores a backup. The files are copied beside the data and checked there, so a restore that fails or is interrupted changes nothing.
 *
 * @returns the folder with the data that was replaced; null if there was none.
 * @throws Error if a server uses the folder, or it contains data that may not be replaced; UnusableBackup if the backup is damaged.
 */
export async function restoreFolder(options: FolderRestoreOptions): Promise<string | null> {
  const { dataDir, application, at } = options;
  const lock = await FolderLock.acquire(dataDir, at);
  const part = join(dataDir, partName);
  try {
    await finishRestore(dataDir); // one that was interrupted
    const keep = `replaced-${at.replace(/[^\d]/g, '').slice(0, 14)}-${randomUUID().slice(0, 8)}`;
    if (application) return await restoreApplication({ ...options, application }, part, join(dataDir, keep));
    const hasData =
      existsSync(join(dataDir, 'applications')) && (await readdir(join(dataDir, 'applications'))).length > 0;
    if (hasData && !options.replace)
      throw new Error(
        `DATA_DIR "${dataDir}" contains data. Use an empty folder, or add --replace all. What is replaced is kept in the folder.`,
      );
    await copyChecked(options, part);
    await decideRestore(dataDir, keep);
    return await finishRestore(dataDir);
  } catch (error) {
    if (!existsSync(join(dataDir, 'restore.json'))) await rm(part, { recursive: true, force: true });
    throw error;
  } finally {
    lock.release();
  }
}

/** Copies a backup, checks the copy, and gives each event log a new name, so that clients with cursors of another history reload. */
async function copyChecked({ folder, manifest }: FolderRestoreOptions, part: string): Promise<void> {
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true, mode: 0o700 });
  for (const { path } of manifest.files) await copyIfExists(join(folder, path), join(part, path));
  await checkFiles(part, manifest, folder);
  await checkDatabases(part, manifest);
  for (const { store } of manifest.applications) renewEpoch(join(part, 'applications', `${store}.db`));
  await syncTree(part);
}

function renewEpoch(path: string): void {
  const connection = new SqliteConnection(path);
  try {
    connection.run({ text: 'UPDATE _meta SET epoch=?', values: [randomUUID()] });
    connection.run({ text: 'PRAGMA wal_checkpoint(TRUNCATE)', values: [] });
  } finally {
    connection.close();
  }
}

/** Restores one application under a new store, which takes effect when `main` lists it. */
async function restoreApplication(
  options: FolderRestoreOptions & { readonly application: BackupApplication },
  part: string,
  kept: string,
): Promise<string | null> {
  const { application, dataDir, mainStore, at } = options;
  const stores = join(dataDir, 'applications');
  const main = join(stores, `${mainStore}.db`);
  if (!existsSync(main))
    throw new Error(`DATA_DIR "${dataDir}" has no "main". Restore a backup of all applications first.`);
  const listed = findListed(main, application.name);
  if (listed && !options.replace)
    throw new Error(
      `The application "${application.name}" exists. Add --replace ${application.name} to replace it. What is replaced is kept in the folder.`,
    );
  const belongs = (path: string): boolean => path.startsWith(`applications/${application.store}.`);
  const { manifest } = options;
  const own: BackupManifest = {
    ...manifest,
    applications: [application],
    files: manifest.files.filter(({ path }) => belongs(path)),
    tables: manifest.tables.filter(({ file }) => belongs(file)),
  };
  await copyChecked({ ...options, manifest: own }, part);
  const store = randomUUID();
  // The database is moved last: without it, the other files belong to no store.
  for (const ending of ['files', 'audit.db', 'db'])
    if (existsSync(join(part, 'applications', `${application.store}.${ending}`)))
      await rename(join(part, 'applications', `${application.store}.${ending}`), join(stores, `${store}.${ending}`));
  await syncToDisk(stores);
  await list(main, application, store, at);
  await rm(part, { recursive: true, force: true });
  return listed?.store ? keepStore(stores, listed.store, kept) : null;
}

async function list(path: string, application: BackupApplication, store: string, at: string): Promise<void> {
  const report = (): void => {};
  const database = new SqliteDatabase({ path, readerThreads: 0, report: { writes: report, log: report } });
  await listRestoredApplication(database, application, store, at).finally(() => database.close());
}

/** The store of a listed application; null where `main` does not list it. */
function findListed(path: string, name: string): { readonly store: string | null } | null {
  const connection = new SqliteConnection(path);
  try {
    const [row] = connection.run({ text: 'SELECT store FROM applications WHERE name=?', values: [name] });
    return row ? { store: row[0] as string | null } : null;
  } finally {
    connection.close();
  }
}

/** Moves the files of a store that is no longer listed. */
async function keepStore(stores: string, store: string, kept: string): Promise<string> {
  await mkdir(join(kept, 'applications'), { recursive: true, mode: 0o700 });
  for (const name of await readdir(stores))
    if (name.startsWith(`${store}.`)) await rename(join(stores, name), join(kept, 'applications', name));
  await syncToDisk(dirname(kept));
  return kept;
}
