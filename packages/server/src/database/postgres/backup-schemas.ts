import { join } from 'node:path';
import {
  type BackupApplication,
  type BackupManifest,
  type BackupTable,
  makeDurableFolder,
} from '../backup-manifest.ts';
import type { CopyBlobs } from '../backup-task.ts';
import { completeManifest } from '../complete-manifest.ts';
import type { PostgresClient } from './postgres-client.ts';
import { runQuery } from './run-query.ts';
import { saveApplication } from './save-application.ts';
import type { SchemaLocations } from './schema-locations.ts';
import { connectForCopies } from './schema-snapshot.ts';

export interface SchemaBackupOptions {
  readonly locations: SchemaLocations;
  /** The only application to save; null for all. */
  readonly application: string | null;
  readonly mainStore: string;
  readonly schemaName: (store: string) => string;
  readonly manifest: Pick<BackupManifest, 'at' | 'serverVersion' | 'bucket' | 'reason'>;
  /** Public keys of age; empty: the backup is not encrypted. */
  readonly recipients: readonly string[];
  readonly copyBlobs?: CopyBlobs | undefined;
  /** Called when an application has been saved. @param total how many there are, as far as it is known. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
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
    let listed: BackupApplication[] = [];
    const save = async (store: string): Promise<void> => {
      if (!saved.has(store)) await saveReading(store, async () => {});
    };
    const saveReading = async <T>(store: string, read: (client: PostgresClient) => Promise<T>): Promise<T> => {
      saved.add(store);
      const schema = options.schemaName(store);
      const source = { ...(await options.locations.find(schema)), schema };
      const result = await saveApplication({ ...source, root: part, path: `schemas/${store}` }, read);
      tables.push(...result.tables);
      await options.copyBlobs?.(store, blobsFolder(part, store));
      options.onProgress?.(saved.size, Math.max(saved.size, listed.length));
      return result.read;
    };
    listed = await listApplications(options);
    const isAll = options.application === null;
    for (const { store } of listed) if (!isAll || store !== options.mainStore) await save(store);
    if (isAll) {
      // The list of the copy of `main`: others may have been created or destroyed since.
      listed = await saveReading(options.mainStore, (client) => readApplications(client, options));
      for (const { store } of listed) await save(store);
    }
    await options.addFiles(part);
    const manifest: Omit<BackupManifest, 'format' | 'files'> = {
      ...options.manifest,
      engine: 'postgres',
      scope: isAll ? 'all' : 'application',
      applications: listed,
      tables,
    };
    return completeManifest(part, manifest, options.recipients);
  });
}

/** The applications to save. @throws Error where there are none, or the one that is named does not exist. */
async function listApplications(options: SchemaBackupOptions): Promise<BackupApplication[]> {
  const { url, budget } = await options.locations.find(options.schemaName(options.mainStore));
  const client = await connectForCopies(url, budget);
  return readApplications(client, options).finally(() => client.end());
}

async function readApplications(
  client: PostgresClient,
  { application, mainStore, schemaName }: SchemaBackupOptions,
): Promise<BackupApplication[]> {
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
}

/** The folder, within a backup, of the blobs that are not in the tables of an application. */
export const blobsFolder = (folder: string, store: string): string => `${schemaFolder(folder, store)}.files`;

/** The folder of an application within a backup. */
export const schemaFolder = (folder: string, store: string): string => join(folder, 'schemas', store);
