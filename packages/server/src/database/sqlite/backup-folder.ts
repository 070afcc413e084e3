import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { thumbnailScope } from '../../base/blob-store.ts';
import { copyIfExists } from '../../base/copy-if-exists.ts';
import { incomingFolder } from '../../base/file-blobs.ts';
import { type BackupApplication, type BackupManifest, makeDurableFolder, nullIfNoFile } from '../backup-manifest.ts';
import type { CopyBlobs } from '../backup-task.ts';
import { completeManifest } from '../complete-manifest.ts';
import { countTableRows, openCopy } from './check-copy.ts';
import { copyDatabase } from './copy-database.ts';

const mainStore = '1';
/** Thumbnails are left out, because they are made again when they are requested. */
const thumbnailFolder = `${thumbnailScope}${sep}`;

export interface BackupOptions {
  /** The only application to copy; null for all. */
  readonly application: string | null;
  readonly manifest: Pick<BackupManifest, 'at' | 'serverVersion' | 'bucket' | 'reason'>;
  /** Public keys of age; empty: the backup is not encrypted. */
  readonly recipients: readonly string[];
  readonly copyBlobs?: CopyBlobs | undefined;
  /** Called when an application has been copied. @param total how many there are, as far as it is known. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/**
 * Copies a data folder, whether or not a server is using it. The copy of all applications can be used as a `DATA_DIR`.
 *
 * The order makes the copy consistent. The database of an application is copied before its audit journal, because the
 * journal may be newer than the database but not older. The bytes of files and mail are copied before the database, so that files
 * deleted meanwhile are included, and again after it for added ones. `main`, which lists the applications, is copied after
 * the others, followed by applications that were created meanwhile.
 *
 * @param target a folder that does not exist. It is created when the copy is complete and durable.
 */
export async function backupFolder(dataDir: string, target: string, options: BackupOptions): Promise<BackupManifest> {
  const source = join(dataDir, 'applications');
  const main = join(source, `${mainStore}.db`);
  if (!existsSync(main))
    throw new Error(`DATA_DIR "${dataDir}" contains no database of a Tablinum server (applications/${mainStore}.db).`);
  return makeDurableFolder(target, async (part) => {
    const copy = new BackupCopy(source, join(part, 'applications'), options);
    const { application } = options;
    let applications = listApplications(new DatabaseSync(main, { readOnly: true, timeout: 5000 })).filter(
      ({ name }) => application === null || name === application,
    );
    if (applications.length === 0) throw new Error(`There is no application "${application ?? ''}" to back up.`);
    await mkdir(join(part, 'applications'), { recursive: true, mode: 0o700 });
    if (application === null) {
      await copyAll(source, copy);
      applications = listApplications(openCopy(join(part, 'applications', `${mainStore}.db`)));
    } else for (const { store } of applications) await copy.store(store);
    await copyIfExists(join(dataDir, 'mail-secret.key'), join(part, 'mail-secret.key'));
    const manifest: Omit<BackupManifest, 'format' | 'files'> = {
      ...options.manifest,
      engine: 'sqlite',
      scope: application === null ? 'all' : 'application',
      applications,
      tables: copy.databases.flatMap((path) => countTableRows(part, path)),
    };
    return completeManifest(part, manifest, options.recipients);
  });
}

async function copyAll(source: string, copy: BackupCopy): Promise<void> {
  const others = (await listStores(source)).filter((store) => store !== mainStore);
  copy.total = others.length + 1;
  for (const store of [...others, mainStore]) await copy.store(store);
  const copied = new Set([...others, mainStore]);
  for (const store of await listStores(source)) if (!copied.has(store)) await copy.store(store);
}

/** The applications that the database of `main` lists. Closes it. */
function listApplications(database: DatabaseSync): BackupApplication[] {
  try {
    const rows = database
      .prepare(
        `SELECT name,CASE WHEN name='main' THEN '${mainStore}' ELSE store END AS store,"displayName",options FROM applications
WHERE status<>'destroying' AND born AND (name='main' OR store IS NOT NULL) ORDER BY name`,
      )
      .all();
    return rows as unknown as BackupApplication[];
  } finally {
    database.close();
  }
}

class BackupCopy {
  readonly #source: string;
  readonly #target: string;
  readonly #options: Pick<BackupOptions, 'onProgress' | 'copyBlobs'>;
  /** Paths of the copied databases, within the backup. */
  readonly databases: string[] = [];
  /** The number of applications, as far as it is known. */
  total = 1;
  #done = 0;

  constructor(source: string, target: string, options: Pick<BackupOptions, 'onProgress' | 'copyBlobs'>) {
    this.#source = source;
    this.#target = target;
    this.#options = options;
  }

  async store(store: string): Promise<void> {
    await this.#newFiles(`${store}.files`);
    await this.#database(`${store}.db`);
    await this.#database(`${store}.audit.db`);
    await this.#newFiles(`${store}.files`);
    await this.#options.copyBlobs?.(store, join(this.#target, `${store}.files`));
    this.#done += 1;
    this.#options.onProgress?.(this.#done, Math.max(this.#done, this.total));
  }

  async #database(name: string): Promise<void> {
    const path = join(this.#source, name);
    if (!existsSync(path)) return; // the journal does not exist yet, or the application was destroyed meanwhile
    await copyDatabase(path, join(this.#target, name));
    this.databases.push(`applications/${name}`);
  }

  /** Copies files that are missing in the copy. A file never changes, because its name is the hash of its bytes. */
  async #newFiles(name: string): Promise<void> {
    const root = join(this.#source, name);
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(nullIfNoFile);
    for (const entry of entries ?? []) {
      if (!entry.isFile() || basename(entry.parentPath) === incomingFolder) continue;
      const path = join(entry.parentPath, entry.name);
      if (relative(root, path).startsWith(thumbnailFolder)) continue;
      const to = join(this.#target, name, relative(root, path));
      if (!existsSync(to)) await copyIfExists(path, to);
    }
  }
}

/** The database files of all applications, without the journals. */
async function listStores(folder: string): Promise<string[]> {
  return (await readdir(folder))
    .filter((name) => name.endsWith('.db') && !name.endsWith('.audit.db'))
    .map((name) => name.slice(0, -'.db'.length));
}
