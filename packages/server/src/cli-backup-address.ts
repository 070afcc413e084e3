/** Addresses of backups in a bucket, `s3://<bucket>/<prefix>/<name>`, which commands take instead of a folder. */
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
 * Reads an address. The service and its key are those of `BACKUP_S3_BUCKET`; bucket and prefix are those of the address.
 *
 * @returns null if the text is a folder. @throws Error if the address is malformed, or the settings are missing.
 */
export function readBackupAddress(place: string, { backups }: Config): BackupAddress | null {
  if (!place.startsWith('s3://')) return null;
  const [bucket = '', ...path] = place.slice('s3://'.length).split('/');
  const name = path.pop() ?? '';
  const prefix = path.map((part) => `${part}/`).join('');
  if (!isBucketName(bucket) || !isBackupName(name) || (prefix !== '' && !isPrefix(prefix)))
    throw new Error(
      `"${place}" is not the address of a backup. It must look like s3://bucket/name or s3://bucket/prefix/name, with letters, digits, dots, hyphens and underscores.`,
    );
  if (backups.s3 === null)
    throw new Error('BACKUP_S3_BUCKET is missing. Set it with its endpoint and access key as for the server.');
  return { backupBucket: { ...backups.s3, bucket, prefix }, name };
}

/**
 * Runs work on the folder of a backup. One in a bucket is downloaded to a folder that is removed afterwards.
 *
 * @param application the only one whose files are needed; null: all.
 */
export async function withBackupFolder<T>(
  place: string,
  config: Config,
  application: string | null,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const address = readBackupAddress(place, config);
  if (address === null) return work(place);
  const { backupBucket, name } = address;
  const source = { ...toBackupSource(config), backupBucket };
  return withScratchFolder(config.dataDir, async (folder) => {
    await downloadBackup(source, name, folder, application);
    return work(folder);
  });
}
