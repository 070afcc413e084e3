/** `tablinum restore [--app <name> [--as <name>]] [--replace <name>] [--identity <file>] <folder or s3 address>`: restores a backup while no server runs. */
import { existsSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findSavedApplication, openBackup, readIdentityFile } from './backup-work.ts';
import { isoTime, systemClock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import { copyIfExists } from './base/copy-if-exists.ts';
import { withBackupFolder } from './cli-backup-address.ts';
import { UsageError } from './cli-commands.ts';
import { signRestoredJournal } from './cli-restore-journal.ts';
import { type BackupApplication, type BackupManifest, checkFiles } from './database/backup-manifest.ts';
import { findLocations, mainStoreName, schemaName } from './open-stores.ts';
import { isApplicationName } from './records/system/application-rules.ts';

const usage =
  'Usage: tablinum restore [--app <name> [--as <new name>]] [--replace all|<name>] [--identity <file>] <folder or s3://bucket/prefix/name>. Set DATA_DIR or DATABASE_URL as for the server, which must be stopped.';
const keyName = 'mail-secret.key';

interface RestoreRequest {
  readonly folder: string;
  readonly manifest: BackupManifest;
  /** Null: all, with `main`. */
  readonly application: BackupApplication | null;
  readonly replace: boolean;
  readonly isCopy: boolean;
  /** Now, ISO 8601. */
  readonly at: string;
}

/** Runs `tablinum restore`. @throws Error with a message for the operator. */
export async function runRestoreCommand(args: readonly string[], config: Config): Promise<void> {
  const { location, identity, ...options } = readArguments(args);
  const identities = identity === undefined ? [] : await readIdentityFile(identity);
  await withBackupFolder(location, config, options.app ?? null, (found) =>
    openBackup(found, { source: config, identities }, (plain, manifest) =>
      restore({ folder: plain, manifest, ...options }, config, location),
    ),
  );
}

interface Arguments {
  readonly app?: string;
  readonly as?: string;
  readonly replace?: string;
}

/** @param backup its folder or address, for messages. */
async function restore(
  { folder, manifest, app, as, replace }: Arguments & Pick<RestoreRequest, 'folder' | 'manifest'>,
  config: Config,
  backup: string,
): Promise<void> {
  const engine = config.databaseUrl === null ? 'sqlite' : 'postgres';
  if (manifest.engine !== engine)
    throw new Error(
      manifest.engine === 'sqlite'
        ? 'The backup was made on SQLite. Unset DATABASE_URL to restore it.'
        : 'The backup was made on PostgreSQL. Set DATABASE_URL to the database to restore it into.',
    );
  const application = chooseApplication(manifest, app, as);
  const target = application?.name ?? 'all';
  if (replace !== undefined && replace !== target)
    throw new Error(`--replace ${replace} does not match the data that is restored. Use --replace ${target}.`);
  const request = {
    folder,
    manifest,
    application,
    replace: replace !== undefined,
    isCopy: as !== undefined,
    at: isoTime(systemClock.now()),
  };
  const kept = await (config.databaseUrl === null
    ? restoreToFolder(request, config)
    : restoreToDatabase(request, config, config.databaseUrl));
  console.log(`The backup of ${manifest.at} in ${backup} is restored: ${application?.name ?? 'all applications'}.`);
  const original = app ?? manifest.applications[0]?.name;
  if (as !== undefined && original !== undefined && !config.appKeyIsRandom)
    await signRestoredJournal({ original, copy: as }, config);
  if (as !== undefined)
    console.log(
      'Webhooks and campaigns of the copy are paused, and its mail accounts have no mail servers, so that nothing is sent twice.',
    );
  if (as !== undefined && config.appKeyIsRandom)
    console.log(
      'APP_KEY is not set, so the audit journal of the copy is not signed, and audit:verify reports it as changed. Set APP_KEY as for the server.',
    );
  if (kept !== null) console.log(`What it replaced is kept: ${kept}. Remove it when it is no longer needed.`);
  if (manifest.bucket !== null)
    console.log(
      `The bytes of files and e-mails are not part of the backup. Restore the bucket "${manifest.bucket}" too.`,
    );
  if (application) warnOfOtherKey(folder, config);
}

function readArguments(args: readonly string[]): Arguments & { location: string; identity?: string } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        app: { type: 'string' },
        as: { type: 'string' },
        replace: { type: 'string' },
        identity: { type: 'string' },
      },
      allowPositionals: true,
    });
    const [location] = positionals;
    if (location !== undefined && location !== '' && positionals.length === 1) return { location, ...values };
  } catch {}
  throw new UsageError(usage);
}

/** @returns null for a backup of all applications that is restored as a whole. */
function chooseApplication(
  manifest: BackupManifest,
  name: string | undefined,
  as: string | undefined,
): BackupApplication | null {
  if (name === 'main')
    throw new Error(
      'The application "main" contains the list of all others and can only be restored together with them. Leave out --app.',
    );
  const { applications, scope } = manifest;
  const found =
    name === undefined ? (scope === 'all' ? null : (applications[0] ?? null)) : findSavedApplication(manifest, name);
  if (as === undefined || as === found?.name) return found;
  if (found === null) throw new Error('--as needs --app <name>, the application that is restored as a copy.');
  if (as === 'main' || !isApplicationName(as))
    throw new Error(
      '--as must be a name other than main. It starts with a letter and continues with letters, digits, _ and -.',
    );
  return { ...found, name: as, displayName: null };
}

async function restoreToFolder(request: RestoreRequest, { dataDir }: Config): Promise<string | null> {
  const { restoreFolder } = await import('./database/sqlite/restore-folder.ts');
  return restoreFolder({ ...request, dataDir, mainStore: mainStoreName });
}

async function restoreToDatabase(request: RestoreRequest, config: Config, url: string): Promise<string | null> {
  const { folder, manifest, at, application } = request;
  const { restoreSchemas } = await import('./database/postgres/restore-schemas.ts');
  const locations = await findLocations(config, url);
  const isCluster = await locations.isCluster();
  if (isCluster) requireWholeRestore(request);
  await checkFiles(folder, manifest);
  if (isCluster) return restoreToCluster(request, config, locations);
  const suffix = restoredSuffix(at);
  const kept = await restoreSchemas({
    ...request,
    ...(await locations.find(schemaName(mainStoreName))),
    suffix,
    mainStore: mainStoreName,
    schemaName,
  });
  if (!application) await restoreKey(folder, config.dataDir, suffix);
  return kept.length === 0 ? null : `the schemas ${kept.join(', ')}`;
}

/** @throws Error */
function requireWholeRestore({ application, replace }: RestoreRequest): void {
  if (application)
    throw new Error(
      'On a Citus cluster, this command restores all applications. Restore one while a server runs, with backups:restore.',
    );
  if (replace)
    throw new Error(
      'On a Citus cluster, this command replaces nothing. Create an empty database on all nodes, and leave out --replace.',
    );
}

async function restoreToCluster(
  { folder, manifest, at }: RestoreRequest,
  { dataDir }: Config,
  locations: Awaited<ReturnType<typeof findLocations>>,
): Promise<null> {
  const { restoreCluster } = await import('./database/postgres/restore-cluster.ts');
  await restoreCluster({ locations, folder, manifest, mainStore: mainStoreName, schemaName });
  await restoreKey(folder, dataDir, restoredSuffix(at));
  return null;
}

/** Ends the names of what a restore has replaced. */
const restoredSuffix = (at: string): string => `replaced_${at.replace(/[^\d]/g, '').slice(0, 14)}`;

/** The key of mail passwords is a file on both engines. An earlier one is kept under another name. */
async function restoreKey(folder: string, dataDir: string, suffix: string): Promise<void> {
  const [from, to] = [join(folder, keyName), join(dataDir, keyName)];
  if (!existsSync(from)) return;
  if (existsSync(to) && !readFileSync(to).equals(readFileSync(from))) await rename(to, `${to}.${suffix}`);
  await copyIfExists(from, to);
}

function warnOfOtherKey(folder: string, { dataDir }: Config): void {
  const [from, to] = [join(folder, keyName), join(dataDir, keyName)];
  if (existsSync(from) && !(existsSync(to) && readFileSync(to).equals(readFileSync(from))))
    console.log(
      `The ${keyName} of the backup differs from the one in DATA_DIR. Enter the passwords of the mail accounts of this application again.`,
    );
}
