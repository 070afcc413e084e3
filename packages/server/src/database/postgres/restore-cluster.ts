/** Restores a backup of all applications to a Citus cluster that has none. */
import type { BackupManifest } from '../backup-manifest.ts';
import { readNodes } from './cluster-moves.ts';
import type { PostgresClient } from './postgres-client.ts';
import { loadPart, requireNoServers, restorePart } from './restore-schemas.ts';
import { runQuery } from './run-query.ts';
import type { SchemaLocation, SchemaLocations } from './schema-locations.ts';
import { connectForCopies } from './schema-snapshot.ts';

export interface ClusterRestoreParts {
  readonly locations: SchemaLocations;
  readonly folder: string;
  readonly manifest: BackupManifest;
  readonly mainStore: string;
  readonly schemaName: (store: string) => string;
}

type Place = Pick<SchemaLocation, 'url' | 'budget'>;

/** A schema on its node, complete but for its name. */
interface LoadedSchema {
  readonly place: Place;
  readonly schema: string;
}

/**
 * Each application gets a node as a new one does. All are loaded under other names and then get theirs, `main` last: a server only uses
 * what `main` lists. Interrupted before that, a restore can be repeated.
 *
 * @throws Error if the cluster contains applications, or a server uses it; UnusableBackup
 */
export async function restoreCluster(parts: ClusterRestoreParts): Promise<void> {
  const { locations, mainStore, schemaName } = parts;
  const coordinator = locations.locate(null);
  const nodes = await locations.onCoordinator(readNodes);
  const places = [coordinator, ...nodes.filter((node) => !node.isCoordinator).map((node) => locations.locate(node))];
  for (const place of places) await withConnection(place, requireEmpty);
  const loaded: LoadedSchema[] = [];
  const others = parts.manifest.applications.filter(({ store }) => store !== mainStore);
  for (const { store } of others) {
    const schema = schemaName(store);
    loaded.push(await load(parts, store, { place: await locations.place(schema), schema }));
  }
  loaded.push(await load(parts, mainStore, { place: coordinator, schema: schemaName(mainStore) }));
  for (const place of places) await withConnection(place, requireNoServers);
  await publish(loaded);
}

async function load(
  { folder, manifest }: ClusterRestoreParts,
  store: string,
  target: LoadedSchema,
): Promise<LoadedSchema> {
  const { place, schema } = target;
  await withConnection(place, (client) => loadPart(client, { ...place, folder, manifest }, store, restorePart(schema)));
  return target;
}

async function publish(loaded: readonly LoadedSchema[]): Promise<void> {
  const renamed: LoadedSchema[] = [];
  try {
    for (const each of loaded) {
      await rename(each, restorePart(each.schema), each.schema);
      renamed.push(each);
    }
  } catch (error) {
    for (const each of renamed) await rename(each, each.schema, restorePart(each.schema)).catch(() => {});
    throw error;
  }
}

async function rename({ place }: LoadedSchema, from: string, to: string): Promise<void> {
  await withConnection(place, (client) => runQuery(client, `ALTER SCHEMA ${from} RENAME TO ${to}`));
}

async function requireEmpty(client: PostgresClient): Promise<void> {
  await requireNoServers(client);
  const rows = await runQuery<{ name: string }>(
    client,
    "SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^app_[0-9a-f]+$' ORDER BY 1",
  );
  if (rows.length > 0)
    throw new Error(
      `The node ${client.host}:${client.port} contains data of a Tablinum server (${rows.map(({ name }) => name).join(', ')}). On a Citus cluster, a restore replaces nothing: create an empty database on all nodes, or restore one application with backups:restore.`,
    );
}

async function withConnection<T>({ url, budget }: Place, work: (client: PostgresClient) => Promise<T>): Promise<T> {
  const client = await connectForCopies(url, budget);
  return work(client).finally(() => client.end());
}
