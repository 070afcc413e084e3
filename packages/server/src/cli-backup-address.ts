/** Addresses of backups in a bucket, `s3://<bucket>/<prefix>/<name>`, which commands accept instead of a folder. */
import { downloadBackup, withScratchFolder } from './backup-work.ts';
import { toBackupSource } from './base/backup-config.ts';
import type { Config } from './base/config.ts';
import { isBucketName, isPrefix, type S3Config } from './base/s3-config.ts';
import { isBackupName } from './database/backup-manifest.ts';

export interface BackupAddress {
  readonly backupBucket: S3Config;
  readonly name: string;
}

/**
 * Parses an address. It gives the bucket and the prefix; the settings `BACKUP_S3_…` give the service and its access key.
 *
 * @returns null if the text is a folder. @throws Error if the address is malformed or the settings are missing.
 */
export function readBackupAddress(location: string, { backups }: Config): BackupAddress | null {
  if (!location.startsWith('s3://')) return null;
  const [bucket = '', ...path] = location.slice('s3://'.length).split('/');
  const name = path.pop() ?? '';
  const prefix = path.map((part) => `${part}/`).join('');
  if (!isBucketName(bucket) || !isBackupName(name) || (prefix !== '' && !isPrefix(prefix)))
    throw new Error(
      `"${location}" is not the address of a backup. It must look like s3://bucket/name or s3://bucket/prefix/name, with letters, digits, dots, hyphens and underscores.`,
    );
  if (backups.s3 === null)
    throw new Error('BACKUP_S3_BUCKET is missing. Set it, BACKUP_S3_ENDPOINT and the access key as for the server.');
  return { backupBucket: { ...backups.s3, bucket, prefix }, name };
}

/**
 * Runs work on the folder of a backup. A backup in a bucket is first downloaded to a folder that is removed afterwards.
 *
 * @param application the application whose files are needed; null: all.
 */
export async function withBackupFolder<T>(
  location: string,
  config: Config,
  application: string | null,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const address = readBackupAddress(location, config);
  if (address === null) return work(location);
  const { backupBucket, name } = address;
  const source = { ...toBackupSource(config), backupBucket };
  return withScratchFolder(config.dataDir, async (folder) => {
    await downloadBackup(source, name, folder, application);
    return work(folder);
  });
}
