/** `tablinum backup [--app <name>] <folder>`: saves applications while the server runs, or while it does not. */
import { parseArgs } from 'node:util';
import { saveBackup } from './backup-work.ts';
import { toBackupSource } from './base/backup-config.ts';
import type { Config } from './base/config.ts';
import { UsageError } from './cli-commands.ts';
import type { BackupManifest } from './database/backup-manifest.ts';

const usage =
  'Usage: tablinum backup [--app <name>] <folder>. Set DATA_DIR or DATABASE_URL as for the server. <folder> must not exist yet.';

/** Runs `tablinum backup`. @throws Error with a message for the operator. */
export async function runBackupCommand(args: readonly string[], config: Config): Promise<void> {
  const { folder, application } = readArguments(args);
  if (application === 'main')
    throw new Error(
      'The application "main" contains the list of all others and can only be backed up together with them. Leave out --app.',
    );
  const manifest = await saveBackup(toBackupSource(config), { folder, application, reason: null });
  for (const line of listSizes(manifest)) console.log(line);
  const encrypted = manifest.encryption ? ' It is encrypted.' : '';
  console.log(`The backup in ${folder} is complete: ${summarise(manifest)}.${encrypted}${describeBucket(config)}`);
}

function readArguments(args: readonly string[]): { folder: string; application: string | null } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { app: { type: 'string' } },
      allowPositionals: true,
    });
    const [folder] = positionals;
    if (folder !== undefined && folder !== '' && positionals.length === 1)
      return { folder, application: values.app ?? null };
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
    const own = files.filter(({ path }) => path.startsWith(`schemas/${store}/`));
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

/** What the backup lacks. Files that are no longer used stay in the bucket for at least a day, so that it may be copied later. */
function describeBucket({ s3 }: Config): string {
  if (s3 === null) return '';
  return ` The bytes of files and e-mails are not in it: they are in the bucket "${s3.bucket}" (FILES_S3_BUCKET). Copy the bucket within a day after this backup; a restore needs both.`;
}
