/**
 * The end of a restore into a data folder. A file, `restore.json`, says that the restored data is complete in
 * `restore.part` and takes the place of the earlier data. The file exists until everything is moved, so that an
 * interrupted restore is completed at the next start.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncToDisk } from '../../base/sync-to-disk.ts';
import { listRestoredApplication } from '../application-rows.ts';
import type { BackupApplication } from '../backup-manifest.ts';
import { SqliteDatabase } from './sqlite-database.ts';

export const intentName = 'restore.json';
export const partName = 'restore.part';

/** What a decided restore does. */
export interface RestoreIntent {
  /** The folder, within the data folder, for what is replaced. */
  readonly keep: string;
  /** The only application that is restored. */
  readonly application?: RestoredApplication;
  /** The store of `main`, if only `main` is restored. Without both, all data is. */
  readonly main?: string;
}

/** An application whose files are in the part under the name of its new store. */
export interface RestoredApplication extends BackupApplication {
  readonly mainStore: string;
  /** The store that it had; null: none. */
  readonly replaced: string | null;
  /** ISO 8601. */
  readonly at: string;
}

/** Decides that the restored data takes effect. */
export async function decideRestore(dataDir: string, intent: RestoreIntent): Promise<void> {
  const path = join(dataDir, intentName);
  await writeFile(`${path}.part`, JSON.stringify(intent), { mode: 0o600 });
  await syncToDisk(`${path}.part`);
  await rename(`${path}.part`, path);
  await syncToDisk(dataDir);
}

/**
 * Moves the restored data of a decided restore to its place, and what it replaces to another folder. Call it while the folder is locked.
 *
 * @returns the folder with the replaced data; null if there was none, or no restore is pending.
 */
export async function finishRestore(dataDir: string): Promise<string | null> {
  if (!existsSync(join(dataDir, intentName))) return null;
  const intent = JSON.parse(await readFile(join(dataDir, intentName), 'utf8')) as RestoreIntent;
  const kept = join(dataDir, intent.keep);
  if (intent.application) await finishApplication(dataDir, intent.application, kept);
  else if (intent.main !== undefined) await finishMain(dataDir, intent.main, kept);
  else await replaceAll(dataDir, kept);
  await rm(join(dataDir, partName), { recursive: true, force: true });
  await rm(join(dataDir, intentName));
  await syncToDisk(dataDir);
  return existsSync(kept) ? kept : null;
}

async function replaceAll(dataDir: string, kept: string): Promise<void> {
  const part = join(dataDir, partName);
  for (const name of existsSync(part) ? await readdir(part) : []) {
    // Files that were moved before an interruption are no longer in the part, so restored files are not mistaken for
    // replaced ones.
    if (existsSync(join(dataDir, name))) {
      await mkdir(kept, { recursive: true, mode: 0o700 });
      await rename(join(dataDir, name), join(kept, name));
      await syncToDisk(kept);
    }
    await rename(join(part, name), join(dataDir, name));
    await syncToDisk(dataDir);
  }
}

/** Each step can be repeated: files that were moved are no longer where they were, and the application is listed under its new store. */
async function finishApplication(dataDir: string, application: RestoredApplication, kept: string): Promise<void> {
  const stores = join(dataDir, 'applications');
  const { store, replaced, mainStore, at } = application;
  await moveStore(join(dataDir, partName, 'applications'), stores, store);
  const path = join(stores, `${mainStore}.db`);
  const report = (): void => {};
  const database = new SqliteDatabase({ path, readerThreads: 0, report: { writes: report, log: report } });
  await listRestoredApplication(database, application, store, at).finally(() => database.close());
  if (replaced !== null) await moveStore(stores, join(kept, 'applications'), replaced);
}

/** Each step can be repeated: the name of the folder in the part says whether all replaced files were moved. */
async function finishMain(dataDir: string, store: string, kept: string): Promise<void> {
  const stores = join(dataDir, 'applications');
  const part = join(dataDir, partName);
  const [waiting, ready] = [join(part, 'applications'), join(part, 'ready')];
  if (existsSync(waiting)) {
    await moveStore(stores, join(kept, 'applications'), store);
    await rename(waiting, ready);
    await syncToDisk(part);
  }
  await moveStore(ready, stores, store);
}

/** Moves the files of a store. */
async function moveStore(from: string, to: string, store: string): Promise<void> {
  const names = existsSync(from) ? await readdir(from) : [];
  const own = names.filter((name) => name.startsWith(`${store}.`));
  if (own.length === 0) return;
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of own) await rename(join(from, name), join(to, name));
  for (const folder of [to, from]) await syncToDisk(folder);
}
