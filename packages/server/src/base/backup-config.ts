/** The settings of backups that the server makes. */
import { join } from 'node:path';
import type { PlacementPolicy } from './address-settings.ts';
import { defineBucket, readBucket, type S3Config } from './s3-config.ts';
import { atRuntime, ConfigError, defineSetting, parseChoice, parseInteger, type Setting } from './setting.ts';

export interface BackupConfig {
  /** The folder for backups; null: `backups` in the data folder. */
  readonly folder: string | null;
  /** A cron expression in UTC; null: none. Its form was checked, its values were not. */
  readonly schedule: string | null;
  /** How many backups of the schedule are kept. */
  readonly keep: number;
  /** Public keys of age for which backups are encrypted; empty: they are not encrypted. */
  readonly recipients: readonly string[];
  /** Whether backups contain the bytes of files that are in the bucket of files. */
  readonly includesFiles: boolean;
  /** The bucket for backups; null: backups are in the folder. */
  readonly s3: S3Config | null;
}

/** Every environment variable about backups that the server reads. */
export const backupSettings: readonly Setting[] = [
  defineSetting(
    'BACKUP_DIR',
    '',
    'Folder for backups that the server makes; empty: `backups` in `DATA_DIR`. Several servers need a folder that all of them can use.',
  ),
  atRuntime(
    defineSetting(
      'BACKUP_SCHEDULE',
      '',
      'When the server makes a backup of all applications: a cron expression in UTC, such as 0 3 * * *; empty: never.',
    ),
    { group: 'backups' },
  ),
  atRuntime(
    defineSetting(
      'BACKUP_KEEP',
      '7',
      'Number of backups of the schedule that are kept (1–1000); older ones are removed.',
    ),
    { group: 'backups', range: { min: 1, max: 1000, unit: 'backups' } },
  ),
  defineSetting(
    'BACKUP_AGE_RECIPIENTS',
    '',
    'Public keys of age (age1…), separated by commas, for which backups are encrypted; empty: not encrypted.',
  ),
  defineSetting(
    'BACKUP_FILES',
    'on',
    'on or off. off: backups do not contain the bytes of files and e-mails in FILES_S3_BUCKET. A restore then also needs that bucket, and is only possible with the command line.',
  ),
  ...defineBucket('BACKUP_S3', 'backups; empty: the server stores them in `BACKUP_DIR`.'),
];

/**
 * Reads the settings of backups.
 *
 * @param read the value of a setting, empty if it is not set.
 * @throws ConfigError naming the setting and the cure.
 */
export function readBackupConfig(read: (name: string) => string): BackupConfig {
  const schedule = read('BACKUP_SCHEDULE');
  if (schedule !== '' && !/^[\w*/,#?+-]+( +[\w*/,#?+-]+){4}$/.test(schedule))
    throw new ConfigError(
      'BACKUP_SCHEDULE must be a cron expression with five fields (minute, hour, day, month, weekday), such as "0 3 * * *" for 3 o\'clock UTC.',
    );
  const keep = parseInteger('BACKUP_KEEP', read('BACKUP_KEEP'), 1, 1000);
  const recipients = read('BACKUP_AGE_RECIPIENTS')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  for (const recipient of recipients)
    if (!/^age1[0-9a-z]{20,}$/.test(recipient))
      throw new ConfigError(
        'BACKUP_AGE_RECIPIENTS must be public keys such as age1…, separated by commas. "age-keygen" makes them.',
      );
  const s3 = readBucket('BACKUP_S3', read);
  const includesFiles = parseChoice('BACKUP_FILES', read('BACKUP_FILES'), ['on', 'off']) === 'on';
  return { folder: read('BACKUP_DIR') || null, schedule: schedule || null, keep, recipients, includesFiles, s3 };
}

/** Where the data of a server is, in a form that can be sent to a thread. */
export interface BackupSource {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly databaseConnections: number;
  readonly citusPlacement: PlacementPolicy;
  /** The bucket of files, if backups copy its bytes; null: they copy none. */
  readonly filesBucket: S3Config | null;
  /** The name of the bucket of files, if backups do not copy its bytes; null: none. */
  readonly bucket: string | null;
  /** Public keys of age. */
  readonly recipients: readonly string[];
  /** The bucket for backups; null: none. */
  readonly backupBucket: S3Config | null;
}

interface DataSettings {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly databaseConnections: number;
  readonly citusPlacement: PlacementPolicy;
  readonly s3: S3Config | null;
  readonly backups: BackupConfig;
}

export function toBackupSource({ s3, backups, ...data }: DataSettings): BackupSource {
  const { dataDir, databaseUrl, databaseConnections, citusPlacement } = data;
  const { recipients, includesFiles, s3: backupBucket } = backups;
  const files = includesFiles ? { filesBucket: s3, bucket: null } : { filesBucket: null, bucket: s3?.bucket ?? null };
  return { dataDir, databaseUrl, databaseConnections, citusPlacement, ...files, recipients, backupBucket };
}

/** The folder for the backups of a server. */
export const backupsFolder = ({ dataDir, backups }: Pick<DataSettings, 'dataDir' | 'backups'>): string =>
  backups.folder ?? join(dataDir, 'backups');
