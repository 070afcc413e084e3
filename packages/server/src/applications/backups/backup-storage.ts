/** The storage of backups: a folder and, if one is set, a bucket. With a bucket, new backups are stored there. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenBlob } from '../../base/blob-store.ts';
import type { BackupBucket, PartialBackup } from '../../database/backup-bucket.ts';
import { type BackupManifest, manifestName, UnusableBackup } from '../../database/backup-manifest.ts';
import type { StoredBackup } from '../../database/backup-task.ts';
import { BackupFolders } from './backup-folders.ts';

/** A complete backup, as its manifest describes it. */
export interface FoundBackup {
  readonly id: string;
  readonly manifest: BackupManifest;
}

/** Incomplete backups that the list of `main` does not contain are only removed after this time: they may belong to another server. */
const unlistedMilliseconds = 86_400_000;
const ownName = /^b\d{8}-\d{6}-[0-9a-f]{8}$/;

/** The ids of jobs in the list of `main`. */
export interface KnownJobs {
  readonly running: ReadonlySet<string>;
  readonly listed: ReadonlySet<string>;
}

export class BackupStorage {
  readonly folders: BackupFolders;
  readonly bucket: BackupBucket | null;

  constructor(folder: string, bucket: BackupBucket | null) {
    this.folders = new BackupFolders(folder);
    this.bucket = bucket;
  }

  /** The names of all complete backups. @throws ApiError 503 if the bucket cannot be used, like all methods. */
  async list(): Promise<Set<string>> {
    return new Set([...(await this.folders.list()), ...((await this.bucket?.list()) ?? [])]);
  }

  async has(id: string): Promise<boolean> {
    return this.folders.has(id) || ((await this.bucket?.has(id)) ?? false);
  }

  /** The manifest of a complete backup; null if the backup does not exist or its manifest is damaged. */
  async read(id: string): Promise<BackupManifest | null> {
    try {
      return (await this.folders.read(id)) ?? (await this.bucket?.read(id)) ?? null;
    } catch (error) {
      if (error instanceof UnusableBackup) return null;
      throw error;
    }
  }

  /** Opens the tar file of a backup. */
  async open({ id, manifest }: FoundBackup): Promise<OpenBlob> {
    const { openArchive } = await import('./backup-archive.ts');
    const { bucket } = this;
    if (bucket === null || this.folders.has(id)) {
      const folder = this.folders.path(id);
      const manifestBytes = await readFile(join(folder, manifestName));
      return openArchive({
        name: id,
        manifest,
        manifestBytes,
        openFile: ({ path }) => createReadStream(join(folder, path)),
      });
    }
    const manifestBytes = await bucket.readManifestBytes(id);
    return openArchive({ name: id, manifest, manifestBytes, openFile: (file) => bucket.openFile(id, file) });
  }

  /** Chooses where a new backup is made. @param isUrgent whether something waits for it; it is then only made in the folder. */
  async prepare(id: string, isUrgent: boolean): Promise<StoredBackup> {
    await this.folders.create();
    return this.bucket === null || isUrgent
      ? { folder: this.folders.path(id), inBucket: null }
      : { folder: this.folders.scratchPath(id), inBucket: id };
  }

  /** Returns where a complete backup can be read. @param job the id of the job that reads it. */
  async locate(id: string, job: string): Promise<StoredBackup> {
    if (this.bucket === null || this.folders.has(id)) return { folder: this.folders.path(id), inBucket: null };
    await this.folders.create();
    return { folder: this.folders.scratchPath(job), inBucket: id };
  }

  /** Removes a backup. While it is removed, it is never listed as complete. */
  async remove(id: string): Promise<void> {
    await this.bucket?.remove(id);
    await this.folders.remove(id);
  }

  /** Removes the files of an interrupted job. */
  async removePart(id: string): Promise<void> {
    await this.folders.removePart(id);
    if (this.bucket && ownName.test(id) && !(await this.bucket.has(id))) await this.bucket.removePart(id);
  }

  /** Removes the remains of interrupted jobs and removals. @param readJobs reads the list of `main`. */
  async sweep(readJobs: () => Promise<KnownJobs>, now: number): Promise<void> {
    const folderParts = await this.folders.findParts();
    const parts = (await this.bucket?.findParts()) ?? [];
    // The list is read after folder and bucket, so that it contains every running backup that was found there.
    const { running, listed } = await readJobs();
    const isLeftover = ({ name, changedAt }: PartialBackup): boolean =>
      ownName.test(name) && !running.has(name) && (listed.has(name) || changedAt < now - unlistedMilliseconds);
    await this.folders.removeParts(folderParts, running);
    for (const { name } of parts.filter(isLeftover)) await this.removePart(name);
  }
}
