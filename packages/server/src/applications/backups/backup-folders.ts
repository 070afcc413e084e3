/** The folder for backups: each complete backup is a folder in it. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenBlob } from '../../base/blob-store.ts';
import { type BackupManifest, manifestName, readManifest, UnusableBackup } from '../../database/backup-manifest.ts';

/** A folder name without separators, so that it cannot lead to another folder. */
const folderName = /^[A-Za-z0-9][\w.-]{0,99}$/;
const partEnding = '.part';
const removedEnding = '.removed.part';

/** A complete backup, as its manifest describes it. */
export interface FoundBackup {
  readonly id: string;
  readonly manifest: BackupManifest;
}

export class BackupFolders {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  path(id: string): string {
    if (!folderName.test(id)) throw new Error('a backup has another name');
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
    return folderName.test(id) && !id.endsWith(partEnding) && existsSync(join(this.folder, id, manifestName));
  }

  /** The manifest of a complete backup; null if the backup does not exist or its manifest is damaged. */
  async read(id: string): Promise<BackupManifest | null> {
    if (!this.has(id)) return null;
    return readManifest(this.path(id)).catch((error: unknown) => {
      if (error instanceof UnusableBackup) return null;
      throw error;
    });
  }

  /** Opens the tar file of a backup. */
  async open({ id, manifest }: FoundBackup): Promise<OpenBlob> {
    const { openArchive } = await import('./backup-archive.ts');
    return openArchive(this.path(id), id, manifest);
  }

  /** Removes a backup. It is renamed first, so that it is never listed without some of its files. */
  async remove(id: string): Promise<void> {
    const path = this.path(id);
    if (!existsSync(path)) return;
    await rename(path, path + removedEnding);
    await rm(path + removedEnding, { recursive: true, force: true });
  }

  /** Removes the files of an interrupted backup. */
  async removePart(id: string): Promise<void> {
    await rm(this.path(id) + partEnding, { recursive: true, force: true });
  }

  /** Removes the files of backups whose creation or removal was interrupted. @param running the ids of running backups. */
  async sweep(running: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(this.folder).catch(() => [])) {
      const [, id] = /^(b\d{8}-\d{6}-[0-9a-f]{8})(?:\.removed)?\.part$/.exec(name) ?? [];
      if (id !== undefined && !running.has(id)) await rm(join(this.folder, name), { recursive: true, force: true });
    }
  }
}
