import { join } from 'node:path';
import {
  type BackupApplication,
  type BackupManifest,
  type BackupTable,
  backupFormat,
  describeFiles,
  makeDurableFolder,
  writeManifest,
} from '../backup-manifest.ts';
import type { ConnectionBudget } from './connection-budget.ts';
import { runQuery } from './run-query.ts';
import { saveApplication } from './save-application.ts';
import { connectForCopies } from './schema-snapshot.ts';

export interface SchemaBackupOptions {
  readonly url: string;
  readonly budget: ConnectionBudget;
  /** The only application to save; null for all. */
  readonly application: string | null;
  readonly mainStore: string;
  readonly schemaName: (store: string) => string;
  readonly manifest: Pick<BackupManifest, 'at' | 'serverVersion' | 'bucket'>;
  /** Adds further files of the server to the backup. */
  readonly addFiles: (folder: string) => Promise<void>;
}

/**
 * Saves the schemas of applications into a folder, whether or not servers use them. `main`, which lists the applications, is saved after
 * the others, so that each one that it lists is in the backup.
 *
 * @param target a folder that does not exist. It is created when the backup is complete and durable.
 */
export async function backupSchemas(target: string, options: SchemaBackupOptions): Promise<BackupManifest> {
  return makeDurableFolder(target, async (part) => {
    const tables: BackupTable[] = [];
    const saved = new Set<string>();
    const save = async (store: string): Promise<void> => {
      if (saved.has(store)) return;
      saved.add(store);
      const { url, budget } = options;
      const path = `schemas/${store}`;
      tables.push(...(await saveApplication({ url, budget, schema: options.schemaName(store), root: part, path })));
    };
    const applications = await listApplications(options);
    for (const { store } of applications) if (store !== options.mainStore) await save(store);
    let listed = applications;
    if (options.application === null) {
      await save(options.mainStore);
      // Applications that were created before the copy of `main` are listed in it.
      listed = await listApplications(options);
      for (const { store } of listed) await save(store);
    }
    await options.addFiles(part);
    const manifest: BackupManifest = {
      format: backupFormat,
      ...options.manifest,
      engine: 'postgres',
      scope: options.application === null ? 'all' : 'application',
      applications: listed,
      files: await describeFiles(part),
      tables,
    };
    await writeManifest(part, manifest);
    return manifest;
  });
}

/** The applications to save. @throws Error where there are none, or the one that is named does not exist. */
async function listApplications(options: SchemaBackupOptions): Promise<BackupApplication[]> {
  const { application, mainStore, schemaName } = options;
  const client = await connectForCopies(options.url, options.budget);
  try {
    const schema = schemaName(mainStore);
    const [found] = await runQuery(client, 'SELECT 1 FROM pg_tables WHERE schemaname=$1 AND tablename=$2', [
      schema,
      'applications',
    ]);
    if (!found) throw new Error('DATABASE_URL names a database without data of a Tablinum server.');
    const rows = await runQuery<BackupApplication>(
      client,
      `SELECT name,CASE WHEN name='main' THEN $1::text ELSE store::text END AS store,"displayName",options::text AS options
FROM ${schema}.applications WHERE status<>'destroying' AND born AND (name='main' OR store IS NOT NULL) AND ($2::text IS NULL OR name=$2) ORDER BY name`,
      [mainStore, application],
    );
    if (rows.length === 0) throw new Error(`There is no application "${application ?? ''}" to back up.`);
    return rows;
  } finally {
    await client.end();
  }
}

/** The folder of an application within a backup. */
export const schemaFolder = (folder: string, store: string): string => join(folder, 'schemas', store);
