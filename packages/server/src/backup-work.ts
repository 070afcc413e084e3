/** Makes and reads backups on either engine. The command line and the backup process of the server call it. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupSource } from './base/backup-config.ts';
import { isoTime, systemClock } from './base/clock.ts';
import { copyIfExists } from './base/copy-if-exists.ts';
import type { BackupBucket } from './database/backup-bucket.ts';
import {
  type BackupApplication,
  type BackupManifest,
  checkFiles,
  readManifest,
  UnusableBackup,
} from './database/backup-manifest.ts';
import type { CopyBlobs, NewStoreRequest, SaveRequest, StoredBackup, UploadRequest } from './database/backup-task.ts';
import type { BackupOptions } from './database/sqlite/backup-folder.ts';
import { hasProcessExited } from './database/sqlite/folder-lock.ts';
import { findLocations, mainStoreName, schemaName } from './open-stores.ts';

export interface SaveListeners {
  /** @param total the number of applications, as far as it is known. */
  readonly onProgress?: (done: number, total: number) => void;
  /** @param stored bytes stored in the bucket so far. @param all bytes of the backup. */
  readonly onStored?: (stored: number, all: number) => void;
}

/**
 * Saves applications, whether or not servers use them. For a bucket, the backup is first made in the folder, which is then removed.
 *
 * @throws Error with a message for the operator.
 */
export async function saveBackup(
  source: BackupSource,
  request: SaveRequest,
  { onProgress, onStored }: SaveListeners = {},
): Promise<BackupManifest> {
  const { folder, inBucket } = request;
  if (inBucket === null) return saveToFolder(source, request, onProgress);
  return useBucket(source, async (bucket) => {
    await bucket.requireFree(inBucket); // before anything is copied
    try {
      const { files } = await saveToFolder(source, request, onProgress);
      const all = files.reduce((sum, { bytes }) => sum + bytes, 0);
      return await bucket.upload(folder, inBucket, (stored) => onStored?.(stored, all));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** Stores a complete backup in the bucket. */
export async function uploadBackup(source: BackupSource, { folder, inBucket }: UploadRequest): Promise<void> {
  await useBucket(source, (bucket) => bucket.upload(folder, inBucket));
}

/** Runs work with the bucket of a source. */
async function useBucket<T>({ backupBucket }: BackupSource, work: (bucket: BackupBucket) => Promise<T>): Promise<T> {
  if (backupBucket === null) throw new Error('BACKUP_S3_BUCKET is missing.');
  const { BackupBucket } = await import('./database/backup-bucket.ts');
  const bucket = new BackupBucket(backupBucket);
  return work(bucket).finally(() => bucket.close());
}

async function saveToFolder(
  source: BackupSource,
  request: SaveRequest,
  onProgress: SaveListeners['onProgress'],
): Promise<BackupManifest> {
  if (source.filesBucket === null) return saveData(source, request, { onProgress });
  const { BlobCopies } = await import('./base/s3-blob-copies.ts');
  const copies = new BlobCopies(source.filesBucket);
  const copyBlobs: CopyBlobs = (store, target) => copies.copyTo(target, store);
  return saveData(source, request, { onProgress, copyBlobs }).finally(() => copies.close());
}

async function saveData(
  source: BackupSource,
  { folder, application, reason }: SaveRequest,
  options: Pick<BackupOptions, 'onProgress' | 'copyBlobs'>,
): Promise<BackupManifest> {
  const { dataDir, databaseUrl: url, bucket, recipients } = source;
  const manifest = {
    at: isoTime(systemClock.now()),
    serverVersion: readVersion(),
    bucket,
    ...(reason !== null && { reason }),
  };
  if (url === null) {
    const { backupFolder } = await import('./database/sqlite/backup-folder.ts');
    return backupFolder(dataDir, folder, { application, manifest, recipients, ...options });
  }
  const { backupSchemas } = await import('./database/postgres/backup-schemas.ts');
  return backupSchemas(folder, {
    locations: await findLocations(source, url),
    application,
    mainStore: mainStoreName,
    schemaName,
    manifest,
    recipients,
    ...options,
    addFiles: async (part) => {
      await copyIfExists(join(dataDir, 'mail-secret.key'), join(part, 'mail-secret.key'));
    },
  });
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Creates a store from a backup. No server uses the store until `main` lists it. @throws UnusableBackup */
export async function createStore(source: BackupSource, request: NewStoreRequest): Promise<BackupApplication> {
  return withBackup(source, request, () => createStoreFromFolder(source, request));
}

/** Downloads a backup to a folder. @param application the application whose files are needed; null: all. */
export async function downloadBackup(
  source: BackupSource,
  name: string,
  folder: string,
  application: string | null,
): Promise<void> {
  await useBucket(source, async (bucket) => {
    const manifest = await bucket.read(name);
    const store = application !== null && manifest ? findSavedApplication(manifest, application).store : null;
    await bucket.download(name, folder, (path) => !path.includes('/') || isOfStore(path, store));
  });
}

/** Whether a file of a backup belongs to a store. @param store null: any. */
export const isOfStore = (path: string, store: string | null): boolean =>
  store === null || path.includes(`/${store}.`) || path.includes(`/${store}/`);

/**
 * Runs work with the folder of a backup. A backup in the bucket is downloaded first, limited to the files that the
 * application needs. The download is removed afterwards.
 */
export async function withBackup<T>(
  source: BackupSource,
  { folder, inBucket, application }: StoredBackup & { readonly application: string },
  work: () => Promise<T>,
): Promise<T> {
  if (inBucket === null) return work();
  try {
    await downloadBackup(source, inBucket, folder, application);
    return await work();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function createStoreFromFolder(
  source: BackupSource,
  { folder, application: name, store, identities, isCopy }: NewStoreRequest,
): Promise<BackupApplication> {
  return openBackup(folder, { source, identities, only: name }, async (plain, manifest) => {
    const application = findSavedApplication(manifest, name);
    const { dataDir, databaseUrl: url } = source;
    if (url === null) {
      const { createRestoredStore } = await import('./database/sqlite/restore-folder.ts');
      const options = { folder: plain, manifest, application, store, isCopy };
      await createRestoredStore(options, dataDir, storePart(dataDir, store));
      return application;
    }
    const { createRestoredSchema } = await import('./database/postgres/restore-schemas.ts');
    const location = await (await findLocations(source, url)).place(schemaName(store));
    const own = manifest.files.filter(({ path }) => isOfStore(path, application.store));
    await checkFiles(plain, { ...manifest, files: own });
    await createRestoredSchema({ ...location, folder: plain, manifest, isCopy }, application.store, schemaName(store));
    return application;
  });
}

/** Removes the files of an interrupted {@link createStore}, except a complete store. */
export async function removeStorePart(source: BackupSource, store: string): Promise<void> {
  const { dataDir, databaseUrl } = source;
  await rm(storePart(dataDir, store), { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  if (databaseUrl === null) return;
  const { dropPostgres } = await import('./database/postgres/postgres-open.ts');
  const { restorePart } = await import('./database/postgres/restore-schemas.ts');
  const { url, budget } = await (await findLocations(source, databaseUrl)).find(schemaName(store));
  await dropPostgres(url, restorePart(schemaName(store)), budget);
}

const storePart = (dataDir: string, store: string): string => join(dataDir, `restore-${store}.part`);

export function findSavedApplication({ applications }: BackupManifest, name: string): BackupApplication {
  const found = applications.find((each) => each.name === name);
  if (found) return found;
  throw new UnusableBackup(
    `The backup has no application "${name}". It has ${applications.map((each) => each.name).join(', ')}.`,
  );
}

/** The scratch folders in use. There can be two: for a downloaded backup, and for its decrypted files. */
const scratchFolders = new Set<string>();

/** Runs work with a new folder in the data folder, which is removed afterwards. */
export async function withScratchFolder<T>(dataDir: string, work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await removeLeftovers(dataDir);
  const folder = await mkdtemp(join(dataDir, `scratch-${process.pid}-`));
  scratchFolders.add(folder);
  return work(folder).finally(async () => {
    await rm(folder, { recursive: true, force: true });
    scratchFolders.delete(folder);
  });
}

export interface OpenOptions {
  readonly source: Pick<BackupSource, 'dataDir' | 'databaseUrl'>;
  /** Secret keys of age. */
  readonly identities: readonly string[];
  /** The only application whose files are needed. */
  readonly only?: string;
}

/**
 * Runs work on the files of a backup. An encrypted backup is decrypted to a folder that is removed afterwards.
 *
 * @throws UnusableBackup if it was made on the other engine, or if identities are missing or do not match.
 */
export async function openBackup<T>(
  folder: string,
  { source, identities, only }: OpenOptions,
  work: (folder: string, manifest: BackupManifest) => Promise<T>,
): Promise<T> {
  const manifest = await readManifest(folder);
  if (!manifest.encryption) return work(folder, manifest);
  if (identities.length === 0)
    throw new UnusableBackup(
      `The backup "${folder}" is encrypted with age. Give the identity (secret key) of one of its recipients.`,
    );
  const { decryptFiles } = await import('./database/backup-encryption.ts');
  const store = only === undefined ? null : findSavedApplication(manifest, only).store;
  const needed = { ...manifest, files: manifest.files.filter(({ path }) => isOfStore(path, store)) };
  return withScratchFolder(source.dataDir, async (plain) =>
    work(plain, await decryptFiles(folder, needed, plain, identities)),
  );
}

/** Removes the scratch folders of interrupted calls: their process has ended, or had the same id as this process. */
async function removeLeftovers(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const [, pid] = /^scratch-(\d+)-/.exec(name) ?? [];
    const isOwn = Number(pid) === process.pid;
    if (pid !== undefined && (isOwn ? !scratchFolders.has(join(dataDir, name)) : hasProcessExited(Number(pid))))
      await rm(join(dataDir, name), { recursive: true, force: true });
  }
}

/** The secret keys of an identity file of age. @throws Error if it cannot be read or has none. */
export async function readIdentityFile(path: string): Promise<string[]> {
  const { readIdentities } = await import('./database/backup-encryption.ts');
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`The identity file "${path}" cannot be read. Check its path and permissions.`, { cause });
  });
  return readIdentities(text);
}
