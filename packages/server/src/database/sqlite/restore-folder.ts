/** Restores a backup into a data folder that no server uses. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { copyIfExists } from '../../base/copy-if-exists.ts';
import { syncToDisk, syncTree } from '../../base/sync-to-disk.ts';
import { type BackupApplication, type BackupManifest, checkFiles } from '../backup-manifest.ts';
import { quietStatements } from '../quiet-copy.ts';
import { checkDatabases } from './check-copy.ts';
import { decideRestore, finishRestore, intentName, partName, type RestoredApplication } from './finish-restore.ts';
import { FolderLock } from './folder-lock.ts';
import { SqliteConnection } from './sqlite-connection.ts';

export interface FolderRestoreOptions {
  readonly folder: string;
  readonly manifest: BackupManifest;
  readonly dataDir: string;
  readonly mainStore: string;
  /** The application to restore into the existing data; null: all, with `main`. */
  readonly application: BackupApplication | null;
  /** Whether existing data may be replaced. */
  readonly replace: boolean;
  /** Whether the application is a copy next to the original, which must not send the same messages. */
  readonly isCopy: boolean;
  /** Now, ISO 8601. */
  readonly at: string;
}

/**
 * Restores a backup. The files are copied to another folder and checked there, so a restore that fails or is interrupted changes nothing.
 *
 * @returns the folder with the data that was replaced; null if there was none.
 * @throws Error if a server uses the folder, or it contains data that may not be replaced; UnusableBackup if the backup is damaged.
 */
export async function restoreFolder(options: FolderRestoreOptions): Promise<string | null> {
  const { dataDir, application, at } = options;
  const lock = await FolderLock.acquire(dataDir, at);
  const part = join(dataDir, partName);
  try {
    await finishRestore(dataDir); // a restore that was interrupted
    const keep = `replaced-${at.replace(/[^\d]/g, '').slice(0, 14)}-${randomUUID().slice(0, 8)}`;
    if (application) {
      await decideRestore(dataDir, { keep, application: await prepareApplication({ ...options, application }, part) });
      return await finishRestore(dataDir);
    }
    const hasData =
      existsSync(join(dataDir, 'applications')) && (await readdir(join(dataDir, 'applications'))).length > 0;
    if (hasData && !options.replace)
      throw new Error(
        `DATA_DIR "${dataDir}" contains data. Use an empty folder, or add --replace all. What is replaced is kept in the folder.`,
      );
    await copyChecked(options, part);
    await decideRestore(dataDir, { keep });
    return await finishRestore(dataDir);
  } catch (error) {
    if (!existsSync(join(dataDir, intentName))) await rm(part, { recursive: true, force: true });
    throw error;
  } finally {
    lock.release();
  }
}

/** Copies a backup, checks the copy, and gives each event log a new name, so that clients with cursors of another history reload. */
async function copyChecked(
  { folder, manifest }: Pick<FolderRestoreOptions, 'folder' | 'manifest'>,
  part: string,
): Promise<void> {
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

/** Copies one application under the name of a new store, so that it can be moved to the others. */
async function prepareApplication(
  options: FolderRestoreOptions & { readonly application: BackupApplication },
  part: string,
): Promise<RestoredApplication> {
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
  const store = randomUUID();
  await copyStore({ ...options, store }, part);
  return { ...application, store, mainStore, at, replaced: listed?.store ?? null };
}

/** Copies the files of one application to `<part>/applications` under the name of another store, and checks the copy. */
export async function copyStore(
  { folder, manifest, application, store, isCopy }: NewStoreOptions,
  part: string,
): Promise<void> {
  const belongs = (path: string): boolean => path.startsWith(`applications/${application.store}.`);
  const own: BackupManifest = {
    ...manifest,
    applications: [application],
    files: manifest.files.filter(({ path }) => belongs(path)),
    tables: manifest.tables.filter(({ file }) => belongs(file)),
  };
  await copyChecked({ folder, manifest: own }, part);
  const copies = join(part, 'applications');
  for (const name of await readdir(copies))
    await rename(join(copies, name), join(copies, name.replace(application.store, store)));
  if (isCopy) quieten(join(copies, `${store}.db`));
  await syncToDisk(copies);
}

function quieten(path: string): void {
  const connection = new SqliteConnection(path);
  try {
    for (const { table, text } of quietStatements) {
      const [found] = connection.run({ text: 'SELECT 1 FROM sqlite_schema WHERE name=?', values: [table] });
      if (found) connection.run({ text, values: [] });
    }
    connection.run({ text: 'PRAGMA wal_checkpoint(TRUNCATE)', values: [] });
  } finally {
    connection.close();
  }
}

export interface NewStoreOptions {
  readonly folder: string;
  readonly manifest: BackupManifest;
  readonly application: BackupApplication;
  /** The name of the store to create. */
  readonly store: string;
  /** As of {@link FolderRestoreOptions}. */
  readonly isCopy: boolean;
}

/**
 * Creates a store from the copy of an application, next to those that a server is using. Until `main` lists it, nobody uses it.
 *
 * @param part a folder for the copy, on the file system of the data folder. It is removed.
 * @throws UnusableBackup if the backup is damaged.
 */
export async function createRestoredStore(options: NewStoreOptions, dataDir: string, part: string): Promise<void> {
  try {
    await copyStore(options, part);
    const [copies, stores] = [join(part, 'applications'), join(dataDir, 'applications')];
    // The database comes last, because backups take each database for a store.
    const names = (await readdir(copies)).sort((one, other) => other.length - one.length);
    for (const name of names) await rename(join(copies, name), join(stores, name));
    await syncToDisk(stores);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
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
