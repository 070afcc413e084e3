import { constants, existsSync, statSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { thumbnailScope } from '../../base/blob-store.ts';
import { incomingFolder } from '../../base/file-blobs.ts';
import { copyDatabase, syncToDisk } from './copy-database.ts';

const mainStore = '1';
/** Thumbnails are left out, because they are made again when they are requested. */
const thumbnailFolder = `${thumbnailScope}${sep}`;

export interface BackupReport {
  /** Paths of the copied files, and their sizes in bytes. */
  readonly databases: readonly { readonly path: string; readonly bytes: number }[];
  readonly files: number;
}

/**
 * Copies a data folder, whether or not a server is using it. The copy can be used as a `DATA_DIR`.
 *
 * The order makes the copy consistent. The database of an application is copied before its audit journal, because the
 * journal may be newer than the database but not older. The bytes of files and mail are copied before the database, so that files
 * deleted meanwhile are included, and again after it for added ones. `main`, which lists the applications, is copied after
 * the others, followed by applications that were created meanwhile.
 *
 * @param target a folder that does not exist. It is created when the copy is complete and durable.
 */
export async function backupFolder(dataDir: string, target: string): Promise<BackupReport> {
  const source = join(dataDir, 'applications');
  if (!existsSync(join(source, `${mainStore}.db`)))
    throw new Error(`DATA_DIR "${dataDir}" contains no database of a Tablinum server (applications/${mainStore}.db).`);
  if (existsSync(target)) throw new Error(`"${target}" already exists. Name a folder that does not exist yet.`);
  const part = `${target}.part`;
  await rm(part, { recursive: true, force: true });
  const copy = new BackupCopy(source, join(part, 'applications'));
  await mkdir(join(part, 'applications'), { recursive: true, mode: 0o700 });
  const others = (await listStores(source)).filter((store) => store !== mainStore);
  for (const store of [...others, mainStore]) await copy.store(store);
  const copied = new Set([...others, mainStore]);
  for (const store of await listStores(source)) if (!copied.has(store)) await copy.store(store);
  await copyIfExists(join(dataDir, 'mail-secret.key'), join(part, 'mail-secret.key'));
  await rename(part, target);
  await syncToDisk(dirname(target));
  return copy.report;
}

class BackupCopy {
  readonly #source: string;
  readonly #target: string;
  readonly #databases: { path: string; bytes: number }[] = [];
  #files = 0;

  constructor(source: string, target: string) {
    this.#source = source;
    this.#target = target;
  }

  get report(): BackupReport {
    return { databases: this.#databases, files: this.#files };
  }

  async store(store: string): Promise<void> {
    await this.#newFiles(`${store}.files`);
    await this.#database(`${store}.db`);
    await this.#database(`${store}.audit.db`);
    await this.#newFiles(`${store}.files`);
  }

  async #database(name: string): Promise<void> {
    const path = join(this.#source, name);
    if (!existsSync(path)) return; // the journal does not exist yet, or the application was destroyed meanwhile
    await copyDatabase(path, join(this.#target, name));
    this.#databases.push({ path: `applications/${name}`, bytes: statSync(join(this.#target, name)).size });
  }

  /** Copies files that are missing in the copy. A file never changes, because its name is the hash of its bytes. */
  async #newFiles(name: string): Promise<void> {
    const root = join(this.#source, name);
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(ignoreMissing);
    for (const entry of entries ?? []) {
      if (!entry.isFile() || basename(entry.parentPath) === incomingFolder) continue;
      const path = join(entry.parentPath, entry.name);
      if (relative(root, path).startsWith(thumbnailFolder)) continue;
      const to = join(this.#target, name, relative(root, path));
      if (!existsSync(to) && (await copyIfExists(path, to))) this.#files += 1;
    }
  }
}

/** The database files of all applications, without the journals. */
async function listStores(folder: string): Promise<string[]> {
  return (await readdir(folder))
    .filter((name) => name.endsWith('.db') && !name.endsWith('.audit.db'))
    .map((name) => name.slice(0, -'.db'.length));
}

async function copyIfExists(from: string, to: string): Promise<boolean> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  // Shares blocks with the original if the file system supports it.
  if ((await copyFile(from, to, constants.COPYFILE_FICLONE).catch(ignoreMissing)) === null) return false;
  await syncToDisk(to);
  return true;
}

function ignoreMissing(error: unknown): null {
  if ((error as { code?: string }).code === 'ENOENT') return null;
  throw error;
}
