/**
 * A Citus cluster whose nodes hold the schemas of applications. The coordinator lists the nodes and says on which one each schema is;
 * all statements of an application run on its node.
 *
 * The schemas are local ones, which Citus does not distribute: see decisions/046.
 */
import { createSchemaOnce } from './create-schema.ts';
import type { PostgresClient } from './postgres-client.ts';
import { runQuery } from './run-query.ts';

/** A node of the cluster. */
export interface ClusterNode {
  readonly id: number;
  readonly host: string;
  readonly port: number;
}

/** Without these settings, Citus distributes new schemas or refuses to create them. */
export const localSchemaSettings = '-c citus.enable_schema_based_sharding=off -c citus.enable_ddl_propagation=off';

/** The coordinator's list of the schemas on other nodes; schemas that it does not contain are on the coordinator. */
const listSchema = 'tablinum_cluster';
const list = `${listSchema}.placements`;

const selectPlacement = `SELECT p.node,n.nodename AS host,n.nodeport AS port
FROM ${list} p LEFT JOIN pg_dist_node n ON n.nodeid=p.node WHERE p.schema_name=$1`;

/** Nodes that may hold data, by Citus's own settings, those with the fewest schemas first. */
const insertPlacement = `INSERT INTO ${list} (schema_name,node)
SELECT $1,nodeid FROM pg_dist_node WHERE groupid<>0 AND isactive AND shouldhaveshards AND noderole='primary'
ORDER BY (SELECT count(*) FROM ${list} WHERE node=nodeid),nodeid LIMIT 1 ON CONFLICT DO NOTHING`;

/**
 * Finds out whether a connection leads to the coordinator of a cluster. False: this is a PostgreSQL without Citus.
 *
 * @throws Error if it leads to a worker.
 */
export async function isCoordinator(client: PostgresClient): Promise<boolean> {
  const extensions = await runQuery(client, "SELECT 1 FROM pg_extension WHERE extname='citus'");
  if (extensions.length === 0) return false;
  const workers = await runQuery(client, 'SELECT 1 FROM pg_dist_local_group WHERE groupid<>0');
  if (workers.length > 0)
    throw new Error('the node is a worker of a Citus cluster. Set DATABASE_URL to the address of the coordinator');
  return true;
}

/**
 * The node of a schema; null: the coordinator.
 *
 * @param client a connection to the coordinator.
 * @throws Error if the node was removed from the cluster.
 */
export async function findNode(client: PostgresClient, schema: string): Promise<ClusterNode | null> {
  if (!(await hasList(client))) return null;
  const [row] = await runQuery<FoundPlacement>(client, selectPlacement, [schema]);
  if (!row) return null;
  const { node: id, host, port } = row;
  if (host === null || port === null)
    throw new Error(`The schema ${schema} is on node ${id}, which was removed from the Citus cluster.`);
  return { id, host, port };
}

async function hasList(client: PostgresClient): Promise<boolean> {
  const [exists] = await runQuery<{ found: boolean }>(client, 'SELECT to_regclass($1) IS NOT NULL AS found', [list]);
  return exists?.found === true;
}

interface FoundPlacement {
  readonly node: number;
  readonly host: string | null;
  readonly port: number | null;
}

/**
 * Chooses a node for a schema, unless it has one or is on the coordinator. The choice is durable before the schema is created, so an
 * interrupted creation continues on the same node. In a cluster without other nodes, the schema will be on the coordinator.
 *
 * @param client a connection to the coordinator.
 */
export async function placeSchema(client: PostgresClient, schema: string): Promise<void> {
  const existing = await runQuery(client, 'SELECT 1 FROM pg_namespace WHERE nspname=$1', [schema]);
  if (existing.length > 0) return;
  await createSchemaOnce(client, listSchema, [
    `CREATE TABLE IF NOT EXISTS ${list} (schema_name text PRIMARY KEY, node int4 NOT NULL)`,
  ]);
  await runQuery(client, 'BEGIN');
  // One choice after another, so that schemas that are created at the same time get different nodes.
  await runQuery(client, `LOCK TABLE ${list} IN SHARE ROW EXCLUSIVE MODE`);
  await runQuery(client, insertPlacement, [schema]);
  await runQuery(client, 'COMMIT');
}

/** Removes a dropped schema from the list. @param client a connection to the coordinator. */
export async function forgetSchema(client: PostgresClient, schema: string): Promise<void> {
  if (await hasList(client)) await runQuery(client, `DELETE FROM ${list} WHERE schema_name=$1`, [schema]);
}
