/** `tablinum verify <folder>`: reads a whole backup, restores it into a scratch place, and compares it with its manifest. */
import type { Config } from './base/config.ts';
import { UsageError } from './cli-commands.ts';
import { checkFiles, readManifest } from './database/backup-manifest.ts';
import { mainStoreName, schemaName } from './open-stores.ts';

const usage =
  'Usage: tablinum verify <folder>. With DATABASE_URL, a backup of PostgreSQL is also restored into temporary schemas and compared.';

/** Runs `tablinum verify`. @throws Error with a message for the operator. */
export async function runVerifyCommand(args: readonly string[], config: Config): Promise<void> {
  const [folder, ...extraArgs] = args;
  if (folder === undefined || folder.startsWith('-') || extraArgs.length > 0) throw new UsageError(usage);
  const manifest = await readManifest(folder);
  await checkFiles(folder, manifest);
  const content = `${manifest.applications.length} applications, ${manifest.files.length} files, ${manifest.tables.length} tables`;
  if (manifest.engine === 'sqlite') {
    const { checkDatabases } = await import('./database/sqlite/check-copy.ts');
    await checkDatabases(folder, manifest);
    console.log(`The backup in ${folder} is good: ${content}. Its databases were opened and their tables counted.`);
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
      `The files of the backup in ${folder} are good: ${content}. It was not restored for a comparison, because DATABASE_URL is not set.`,
    );
    return;
  }
  const { verifySchemas } = await import('./database/postgres/restore-schemas.ts');
  const { ConnectionBudget } = await import('./database/postgres/connection-budget.ts');
  const budget = new ConnectionBudget(config.databaseConnections);
  await verifySchemas({ url: config.databaseUrl, budget, folder, manifest, mainStore: mainStoreName, schemaName });
  console.log(`The backup in ${folder} is good: ${content}. It was restored into temporary schemas and compared.`);
}
