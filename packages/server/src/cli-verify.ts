/** `tablinum verify <folder or s3 address>`: reads a whole backup, restores it to a temporary location, and compares it with its manifest. */
import { parseArgs } from 'node:util';
import { openBackup, readIdentityFile } from './backup-work.ts';
import type { Config } from './base/config.ts';
import { withBackupFolder } from './cli-backup-address.ts';
import { UsageError } from './cli-commands.ts';
import { type BackupManifest, checkFiles, readManifest } from './database/backup-manifest.ts';
import { findLocations, mainStoreName, schemaName } from './open-stores.ts';

const usage =
  'Usage: tablinum verify [--identity <file>] <folder or s3://bucket/prefix/name>. With DATABASE_URL, a backup of PostgreSQL is also restored into temporary schemas and compared.';

/** Runs `tablinum verify`. @throws Error with a message for the operator. */
export async function runVerifyCommand(args: readonly string[], config: Config): Promise<void> {
  const { location, identity } = readArguments(args);
  await withBackupFolder(location, config, null, (folder) => verifyFolder({ folder, location, identity }, config));
}

interface VerifiedBackup {
  readonly folder: string;
  /** The folder or address that the operator named, for messages. */
  readonly location: string;
  readonly identity: string | undefined;
}

async function verifyFolder({ folder, location, identity }: VerifiedBackup, config: Config): Promise<void> {
  const manifest = await readManifest(folder);
  await checkFiles(folder, manifest);
  if (manifest.encryption && identity === undefined) {
    console.log(
      `The ${manifest.files.length} encrypted files of the backup in ${location} are good. Their content was not read: add --identity <file>.`,
    );
    return;
  }
  const identities = identity === undefined ? [] : await readIdentityFile(identity);
  await openBackup(folder, { source: config, identities }, (plain, decrypted) =>
    verify(plain, decrypted, config, location),
  );
}

function readArguments(args: readonly string[]): { location: string; identity?: string } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { identity: { type: 'string' } },
      allowPositionals: true,
    });
    const [location] = positionals;
    if (location !== undefined && location !== '' && positionals.length === 1) return { location, ...values };
  } catch {}
  throw new UsageError(usage);
}

/** @param backup its folder or address, for messages. */
async function verify(folder: string, manifest: BackupManifest, config: Config, backup: string): Promise<void> {
  const content = `${manifest.applications.length} applications, ${manifest.files.length} files, ${manifest.tables.length} tables`;
  if (manifest.engine === 'sqlite') {
    const { checkDatabases } = await import('./database/sqlite/check-copy.ts');
    await checkDatabases(folder, manifest);
    console.log(`The backup in ${backup} is good: ${content}. Its databases were opened and their tables counted.`);
    return;
  }
  const { checkSavedCounts, countSavedRows } = await import('./database/postgres/load-application.ts');
  const { schemaFolder } = await import('./database/postgres/backup-schemas.ts');
  for (const { store } of manifest.applications) {
    await checkSavedCounts(schemaFolder(folder, store), manifest, store);
    await countSavedRows(schemaFolder(folder, store));
  }
  if (config.databaseUrl === null) {
    console.log(
      `The files of the backup in ${backup} are good: ${content}. It was not restored for a comparison, because DATABASE_URL is not set.`,
    );
    return;
  }
  const { verifySchemas } = await import('./database/postgres/restore-schemas.ts');
  const location = await (await findLocations(config, config.databaseUrl)).find(schemaName(mainStoreName));
  await verifySchemas({ ...location, folder, manifest, mainStore: mainStoreName, schemaName });
  console.log(`The backup in ${backup} is good: ${content}. It was restored into temporary schemas and compared.`);
}
