/** The folder for backups: each complete backup is a folder in it. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type BackupManifest, isBackupName, manifestName, readManifest } from '../../database/backup-manifest.ts';

const partEnding = '.part';
/** Removals are retried, because the backup process of a killed server may still write for some milliseconds. */
const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 };
const removedEnding = '.removed.part';
const partName = /^([br]\d{8}-\d{6}-[0-9a-f]{8})(?:\.removed|\.part)?\.part$/;

export class BackupFolders {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  path(id: string): string {
    if (!isBackupName(id)) throw new Error('not the name of a backup');
    return join(this.folder, id);
  }

  /** Creates the folder for backups. @throws Error with a message for administrators. */
  async create(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
      const { code } = cause as { code?: string };
      throw new Error(
        `The backup folder (BACKUP_DIR) cannot be created: ${code}. Check the path and the permissions of its parent folder.`,
        { cause },
      );
    });
  }

  /** The names of the folders with a manifest. */
  async list(): Promise<string[]> {
    const entries = await readdir(this.folder, { withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isDirectory() && this.has(entry.name)).map(({ name }) => name);
  }

  /** Whether a complete backup with this name exists. */
  has(id: string): boolean {
    return isBackupName(id) && existsSync(join(this.folder, id, manifestName));
  }

  /** The manifest of a complete backup; null if the backup does not exist. @throws UnusableBackup if its manifest is damaged. */
  async read(id: string): Promise<BackupManifest | null> {
    return this.has(id) ? readManifest(this.path(id)) : null;
  }

  /** The path of a folder for temporary files, which are removed when the job ends. It is not listed. */
  scratchPath(id: string): string {
    return this.path(id) + partEnding;
  }

  /** Removes a backup. It is renamed first, so that it is never listed without some of its files. */
  async remove(id: string): Promise<void> {
    const path = this.path(id);
    if (!existsSync(path)) return;
    await rename(path, path + removedEnding);
    await rm(path + removedEnding, { recursive: true, force: true });
  }

  /** Removes the files of an interrupted job. */
  async removePart(id: string): Promise<void> {
    for (const ending of [partEnding, partEnding + partEnding]) await rm(this.path(id) + ending, removal);
  }

  /** The names of the folders of jobs and removals that are not complete. */
  async findParts(): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => []);
    return names.filter((name) => partName.test(name));
  }

  /** Removes the folders of interrupted jobs and removals. @param running the ids of running jobs. */
  async removeParts(names: readonly string[], running: ReadonlySet<string>): Promise<void> {
    for (const name of names) {
      const [, id] = partName.exec(name) ?? [];
      if (id !== undefined && !running.has(id)) await rm(join(this.folder, name), removal);
    }
  }
}
