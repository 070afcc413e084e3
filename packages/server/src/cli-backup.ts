/** `tablinum backup [--app <name>] <folder>`: saves applications while the server runs, or while it does not. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isoTime, systemClock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import { UsageError } from './cli-commands.ts';
import type { BackupManifest } from './database/backup-manifest.ts';
import { mainStoreName, schemaName } from './open-stores.ts';

const usage =
  'Usage: tablinum backup [--app <name>] <folder>. Set DATA_DIR or DATABASE_URL as for the server. <folder> must not exist yet.';

/** Runs `tablinum backup`. @throws Error with a message for the operator. */
export async function runBackupCommand(args: readonly string[], config: Config): Promise<void> {
  const { folder, application } = readArguments(args);
  if (application === 'main')
    throw new Error(
      'The application "main" contains the list of all others and can only be backed up together with them. Leave out --app.',
    );
  const [megabytes, summary] = await (config.databaseUrl === null
    ? saveFolder(config, folder, application)
    : saveSchemas(config, config.databaseUrl, { folder, application }));
  for (const line of megabytes) console.log(line);
  console.log(`The backup in ${folder} is complete: ${summary}.${describeBucket(config)}`);
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

function describeManifest({ s3 }: Config): Pick<BackupManifest, 'at' | 'serverVersion' | 'bucket'> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return { at: isoTime(systemClock.now()), serverVersion: version, bucket: s3?.bucket ?? null };
}

async function saveFolder(config: Config, folder: string, application: string | null): Promise<[string[], string]> {
  const { backupFolder } = await import('./database/sqlite/backup-folder.ts');
  const manifest = describeManifest(config);
  const { databases, files } = await backupFolder(config.dataDir, folder, { application, manifest });
  return [
    databases.map(({ path, bytes }) => `${path} ${toMegabytes(bytes)}`),
    `${databases.length} databases, ${files} other files`,
  ];
}

async function saveSchemas(
  config: Config,
  url: string,
  { folder, application }: { readonly folder: string; readonly application: string | null },
): Promise<[string[], string]> {
  const { backupSchemas } = await import('./database/postgres/backup-schemas.ts');
  const { ConnectionBudget } = await import('./database/postgres/connection-budget.ts');
  const { copyIfExists } = await import('./base/copy-if-exists.ts');
  const manifest = await backupSchemas(folder, {
    url,
    budget: new ConnectionBudget(config.databaseConnections),
    application,
    mainStore: mainStoreName,
    schemaName,
    manifest: describeManifest(config),
    addFiles: async (part) => {
      await copyIfExists(join(config.dataDir, 'mail-secret.key'), join(part, 'mail-secret.key'));
    },
  });
  const lines = manifest.applications.map(({ name, store }) => {
    const files = manifest.files.filter(({ path }) => path.startsWith(`schemas/${store}/`));
    return `${name} ${toMegabytes(files.reduce((sum, { bytes }) => sum + bytes, 0))}`;
  });
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  return [lines, `${lines.length} applications, ${manifest.tables.length} tables, ${rows} rows`];
}

const toMegabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

/** What the backup lacks. Files that are no longer used stay in the bucket for at least a day, so that it may be copied later. */
function describeBucket({ s3 }: Config): string {
  if (s3 === null) return '';
  return ` The bytes of files and e-mails are not in it: they are in the bucket "${s3.bucket}" (FILES_S3_BUCKET). Copy the bucket within a day after this backup; a restore needs both.`;
}
