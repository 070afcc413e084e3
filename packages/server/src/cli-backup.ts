/** `tablinum backup [--app <name>] <folder or s3 address>`: saves applications, whether or not the server runs. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { saveBackup, withScratchFolder } from './backup-work.ts';
import { type BackupSource, toBackupSource } from './base/backup-config.ts';
import type { Config } from './base/config.ts';
import { readBackupAddress } from './cli-backup-address.ts';
import { UsageError } from './cli-commands.ts';
import type { BackupManifest } from './database/backup-manifest.ts';

const usage =
  'Usage: tablinum backup [--app <name>] <folder or s3://bucket/prefix/name>. Set DATA_DIR or DATABASE_URL as for the server. The backup must not exist yet.';

/** Runs `tablinum backup`. @throws Error with a message for the operator. */
export async function runBackupCommand(args: readonly string[], config: Config): Promise<void> {
  const { location, application } = readArguments(args);
  if (application === 'main')
    throw new Error(
      'The application "main" contains the list of all others and can only be backed up together with them. Leave out --app.',
    );
  const manifest = await save(toBackupSource(config), location, application, config);
  for (const line of listSizes(manifest)) console.log(line);
  const encrypted = manifest.encryption ? ' It is encrypted.' : '';
  console.log(`The backup in ${location} is complete: ${summarise(manifest)}.${encrypted}${describeBucket(config)}`);
}

async function save(
  source: BackupSource,
  location: string,
  application: string | null,
  config: Config,
): Promise<BackupManifest> {
  const request = { application, reason: null };
  const address = readBackupAddress(location, config);
  if (address === null) return saveBackup(source, { ...request, folder: location, inBucket: null });
  const { name, backupBucket } = address;
  return withScratchFolder(source.dataDir, (scratch) =>
    saveBackup({ ...source, backupBucket }, { ...request, folder: join(scratch, 'backup'), inBucket: name }),
  );
}

function readArguments(args: readonly string[]): { location: string; application: string | null } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { app: { type: 'string' } },
      allowPositionals: true,
    });
    const [location] = positionals;
    if (location !== undefined && location !== '' && positionals.length === 1)
      return { location, application: values.app ?? null };
  } catch {}
  throw new UsageError(usage);
}

const databaseFile = /\.db(?:\.age)?$/;

/** The size of each database or application. */
function listSizes({ engine, applications, files }: BackupManifest): string[] {
  if (engine === 'sqlite')
    return files
      .filter(({ path }) => databaseFile.test(path))
      .map(({ path, bytes }) => `${path} ${toMegabytes(bytes)}`);
  return applications.map(({ name, store }) => {
    const own = files.filter(
      ({ path }) => path.startsWith(`schemas/${store}/`) || path.startsWith(`schemas/${store}.files/`),
    );
    return `${name} ${toMegabytes(own.reduce((sum, { bytes }) => sum + bytes, 0))}`;
  });
}

function summarise({ engine, applications, files, tables }: BackupManifest): string {
  if (engine === 'sqlite') {
    const databases = files.filter(({ path }) => databaseFile.test(path)).length;
    return `${databases} databases, ${files.length - databases} other files`;
  }
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return `${applications.length} applications, ${tables.length} tables, ${rows} rows`;
}

const toMegabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

/**
 * Describes what the backup lacks with `BACKUP_FILES=off`. Unused files stay in the bucket for a day, so that the
 * bucket can be copied after the backup.
 */
function describeBucket({ s3, backups }: Config): string {
  if (s3 === null || backups.includesFiles) return '';
  return ` The bytes of files and e-mails are not in it: they are in the bucket "${s3.bucket}" (FILES_S3_BUCKET). Copy the bucket within a day after this backup; a restore needs both.`;
}
