/** Restores the schemas of a backup, and verifies a backup by restoring it to schemas that no server uses. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type BackupApplication, type BackupManifest, UnusableBackup } from '../backup-manifest.ts';
import { quietStatements } from '../quiet-copy.ts';
import { blobsFolder, schemaFolder } from './backup-schemas.ts';
import type { ConnectionBudget } from './connection-budget.ts';
import { checkSavedCounts, compareRows, loadApplication } from './load-application.ts';
import { loadBlobs } from './load-blobs.ts';
import type { PostgresClient } from './postgres-client.ts';
import { dropPostgres } from './postgres-open.ts';
import { runQuery } from './run-query.ts';
import { connectForCopies } from './schema-snapshot.ts';

export interface SchemaRestoreParts {
  readonly url: string;
  readonly budget: ConnectionBudget;
  readonly folder: string;
  readonly manifest: BackupManifest;
  readonly mainStore: string;
  readonly schemaName: (store: string) => string;
  /** Whether the application is a copy next to the original, which must not send the same messages. */
  readonly isCopy?: boolean;
}

export interface SchemaRestoreOptions extends SchemaRestoreParts {
  /** The application to restore into the existing data; null: all, with `main`. */
  readonly application: BackupApplication | null;
  /** Whether existing data may be replaced. */
  readonly replace: boolean;
  /** Ends the names of schemas that are replaced: letters, digits and `_`. */
  readonly suffix: string;
}

/** Held while a backup is verified, so that the schemas of one that was interrupted are known as such. */
const verifyLock = 7_236_418;

/**
 * Restores each schema under another name, compares it with the backup, and drops it. Also drops the schemas of an interrupted call.
 *
 * @throws UnusableBackup; Error if another call is using the database.
 */
export async function verifySchemas({ url, budget, folder, manifest, schemaName }: SchemaRestoreParts): Promise<void> {
  const holder = await connectForCopies(url, budget);
  try {
    const [lock] = await runQuery<{ free: boolean }>(holder, `SELECT pg_try_advisory_lock(${verifyLock}) AS free`);
    if (!lock?.free)
      throw new Error('Another "tablinum verify" is using the database of DATABASE_URL. Try again when it has ended.');
    const leftovers = await runQuery<{ name: string }>(
      holder,
      "SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^app_[0-9a-f]+_v[0-9a-f]{8}$'",
    );
    for (const { name } of leftovers) await dropPostgres(url, name, budget);
    await verifyEach({ url, budget, folder, manifest, schemaName });
  } finally {
    await holder.end();
  }
}

async function verifyEach({
  url,
  budget,
  folder,
  manifest,
  schemaName,
}: Omit<SchemaRestoreParts, 'mainStore'>): Promise<void> {
  for (const { store } of manifest.applications) {
    const schema = `${schemaName(store)}_v${randomUUID().slice(0, 8)}`;
    const client = await connectForCopies(url, budget);
    try {
      await compareRows(client, await loadApplication(client, schema, schemaFolder(folder, store)));
    } finally {
      await client.end();
      await dropPostgres(url, schema, budget);
    }
  }
}

/**
 * Restores applications. They are loaded under other names and get theirs in one transaction, so an interrupted restore changes nothing.
 *
 * @returns the new names of the schemas that were replaced.
 * @throws Error if there is data that may not be replaced, or a server uses the database.
 */
export async function restoreSchemas(options: SchemaRestoreOptions): Promise<string[]> {
  const { url, budget, manifest, application, schemaName } = options;
  const client = await connectForCopies(url, budget);
  try {
    await requireNoServers(client);
    const existing = await listSchemas(client, options);
    const applications = application ? [application] : manifest.applications;
    const loaded = new Map<string, string>();
    for (const { store } of applications) {
      const part = `${schemaName(store)}_part`;
      await loadPart(client, options, store, part);
      loaded.set(part, application ? schemaName(randomUUID()) : schemaName(store));
    }
    await runQuery(client, 'SET search_path TO public');
    await requireNoServers(client);
    return await publish(client, options, { existing, loaded });
  } finally {
    await client.end();
  }
}

/** Loads an application into a schema, replacing what an interrupted call has left there, and gives its event log a new name. */
export async function loadPart(
  client: PostgresClient,
  { url, budget, folder, manifest, isCopy = false }: Omit<SchemaRestoreParts, 'mainStore' | 'schemaName'>,
  store: string,
  part: string,
): Promise<void> {
  await checkSavedCounts(schemaFolder(folder, store), manifest, store);
  await dropPostgres(url, part, budget);
  const saved = await loadApplication(client, part, schemaFolder(folder, store));
  if (!saved.tables.some(({ table }) => table === '_meta'))
    throw new UnusableBackup(`The schema of the store ${store} has no table _meta. Use another backup.`);
  await loadBlobs(client, blobsFolder(folder, store));
  await runQuery(client, 'UPDATE _meta SET epoch=$1', [randomUUID()]);
  const quiet = isCopy ? quietStatements : [];
  for (const { table, text } of quiet)
    if (saved.tables.some((each) => each.table === table)) await runQuery(client, text);
}

/** The name of a schema while it is restored next to those that servers use. */
export const restorePart = (schema: string): string => `${schema}_part`;

/**
 * Creates a schema from the copy of an application, next to those that servers are using. Until `main` lists it, nobody uses it.
 *
 * @param saved the name of its store in the backup. @param schema its name, when it is complete.
 * @throws UnusableBackup if the backup is damaged.
 */
export async function createRestoredSchema(
  parts: Omit<SchemaRestoreParts, 'mainStore' | 'schemaName'>,
  saved: string,
  schema: string,
): Promise<void> {
  const client = await connectForCopies(parts.url, parts.budget);
  try {
    const part = restorePart(schema);
    await loadPart(client, parts, saved, part);
    await runQuery(client, `ALTER SCHEMA ${part} RENAME TO ${schema}`);
  } finally {
    await client.end();
  }
}

interface Change {
  /** The schemas that are replaced. */
  readonly existing: readonly string[];
  /** The final names of the loaded schemas. */
  readonly loaded: ReadonlyMap<string, string>;
}

async function publish(
  client: PostgresClient,
  { application, mainStore, schemaName, suffix }: SchemaRestoreOptions,
  { existing, loaded }: Change,
): Promise<string[]> {
  const kept = existing.map((schema) => `${schema}_${suffix}`);
  await runQuery(client, 'BEGIN');
  try {
    for (const [index, schema] of existing.entries())
      await runQuery(client, `ALTER SCHEMA ${schema} RENAME TO ${kept[index]}`);
    for (const [part, schema] of loaded) {
      await runQuery(client, `ALTER SCHEMA ${part} RENAME TO ${schema}`);
      if (application) await list(client, `${schemaName(mainStore)}.applications`, application, schema);
    }
    await runQuery(client, 'COMMIT');
    return kept;
  } catch (error) {
    await runQuery(client, 'ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Lists the restored application in `main`, which gives the store of a schema as a UUID. */
async function list(
  client: PostgresClient,
  table: string,
  application: BackupApplication,
  schema: string,
): Promise<void> {
  const { name, displayName, options } = application;
  await runQuery(
    client,
    `INSERT INTO ${table} (name,"displayName",options,status,born,store,"createdAt","updatedAt")
VALUES ($1,$2,$3::json,'running',true,$4::uuid,now(),now())
ON CONFLICT (name) DO UPDATE SET store=EXCLUDED.store,status='running',born=true,"updatedAt"=now()`,
    [name, displayName, options ?? '{}', schema.replace(/^app_/, '')],
  );
}

/** The schemas that the restore replaces. @throws Error if that is not allowed, or `main` is missing. */
async function listSchemas(client: PostgresClient, options: SchemaRestoreOptions): Promise<string[]> {
  const { application, mainStore, schemaName, replace } = options;
  const rows = await runQuery<{ name: string }>(
    client,
    "SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^app_[0-9a-f]+$' ORDER BY 1",
  );
  const schemas = rows.map(({ name }) => name);
  const main = schemaName(mainStore);
  if (!application) {
    if (schemas.length > 0 && !replace)
      throw new Error(
        'The database of DATABASE_URL contains data of a Tablinum server. Use an empty database, or add --replace all. What is replaced is kept under other names.',
      );
    return schemas;
  }
  if (!schemas.includes(main))
    throw new Error('The database of DATABASE_URL has no "main". Restore a backup of all applications first.');
  const listed = await runQuery<{ store: string | null }>(
    client,
    `SELECT store::text AS store FROM ${main}.applications WHERE name=$1`,
    [application.name],
  );
  if (listed.length > 0 && !replace)
    throw new Error(
      `The application "${application.name}" exists. Add --replace ${application.name} to replace it. What is replaced is kept under another name.`,
    );
  return listed
    .flatMap(({ store }) => (store === null ? [] : [schemaName(store)]))
    .filter((name) => schemas.includes(name));
}

/** Connections that have just ended are still listed for a moment. */
const maxConnectionReads = 20;
const connectionReadMilliseconds = 100;

/** A server would continue with what it has read of the replaced data. Connections of Citus itself are ignored. @throws Error naming the connections. */
export async function requireNoServers(client: PostgresClient): Promise<void> {
  let processes: readonly number[] = [];
  for (let attempt = 0; attempt < maxConnectionReads; attempt += 1) {
    const rows = await runQuery<{ pid: number }>(
      client,
      "SELECT pid FROM pg_stat_activity WHERE datname=current_database() AND backend_type='client backend' AND pid<>pg_backend_pid() AND application_name NOT LIKE 'citus%'",
    );
    if (rows.length === 0) return;
    processes = rows.map(({ pid }) => pid);
    await pause(connectionReadMilliseconds);
  }
  throw new Error(
    `The database of DATABASE_URL is in use by other connections (processes ${processes.join(', ')} of PostgreSQL). Stop the servers and other programs that use it, then try again.`,
  );
}
