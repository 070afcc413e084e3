/**
 * A Citus cluster whose nodes hold the schemas of applications. The coordinator lists the nodes and says on which one each schema is;
 * all statements of an application run on its node.
 *
 * The schemas are local ones, which Citus does not distribute: see decisions/046.
 */
import type { PlacementPolicy } from '../../base/address-settings.ts';
import { coordinatorName, type NodeMoveStep } from '../store-nodes.ts';
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

/** Schemas of the server's own lists, on the coordinator. Schemas that `placements` does not contain are on the coordinator. */
const listSchema = 'tablinum_cluster';
export const placementList = `${listSchema}.placements`;
export const moveList = `${listSchema}.moves`;

const createLists = [
  `CREATE TABLE IF NOT EXISTS ${placementList} (schema_name text PRIMARY KEY, node int4 NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS ${moveList} (schema_name text PRIMARY KEY, id uuid NOT NULL, source int4 NOT NULL, target int4 NOT NULL,
step text, definition text, started_at timestamptz NOT NULL, finished_at timestamptz, problem text, arrived uuid)`,
];

const selectPlacements = `SELECT schema_name AS schema,p.node,n.nodename AS host,n.nodeport AS port,m.step,m.arrived::text AS arrived
FROM unnest($1::text[]) AS s(schema_name) LEFT JOIN ${placementList} p USING (schema_name)
LEFT JOIN ${moveList} m USING (schema_name) LEFT JOIN pg_dist_node n ON n.nodeid=p.node`;

/** Nodes that may hold data, by Citus's own settings. */
const selectTargets = `SELECT nodeid AS id,nodename AS host,nodeport AS port FROM pg_dist_node
WHERE groupid<>0 AND isactive AND shouldhaveshards AND noderole='primary' ORDER BY `;
const fewestSchemas = `(SELECT count(*) FROM ${placementList} WHERE node=nodeid),`;

/** Where a schema is. */
export interface SchemaPlacement {
  /** Null: the coordinator. */
  readonly node: ClusterNode | null;
  /** The step of a running move; null: none. */
  readonly step: NodeMoveStep;
  /** Identifies the last completed move. */
  readonly arrived: string | null;
}

/** `host:port`, as people name a node. @param node null: the coordinator. */
export const nameNode = (node: Pick<ClusterNode, 'host' | 'port'> | null): string =>
  node === null ? coordinatorName : `${node.host}:${node.port}`;

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
 * Finds the nodes of schemas.
 *
 * @param client a connection to the coordinator.
 * @returns those of schemas whose node was removed from the cluster are missing.
 */
export async function findPlacements(
  client: PostgresClient,
  schemas: readonly string[],
): Promise<ReadonlyMap<string, SchemaPlacement>> {
  if (!(await hasLists(client))) return new Map(schemas.map((schema) => [schema, onCoordinator]));
  const rows = await runQuery<FoundPlacement>(client, selectPlacements, [schemas]);
  const placements = new Map<string, SchemaPlacement>();
  for (const { schema, node: id, host, port, step, arrived } of rows)
    if (id === null) placements.set(schema, { node: null, step, arrived });
    else if (host !== null && port !== null) placements.set(schema, { node: { id, host, port }, step, arrived });
  return placements;
}

const onCoordinator: SchemaPlacement = { node: null, step: null, arrived: null };

/** Like {@link findPlacements}, for one schema. @throws Error if the node was removed from the cluster. */
export async function findPlacement(client: PostgresClient, schema: string): Promise<SchemaPlacement> {
  const found = (await findPlacements(client, [schema])).get(schema);
  if (found) return found;
  throw new Error(`The schema ${schema} is on a node that was removed from the Citus cluster. Add the node again.`);
}

interface FoundPlacement {
  readonly schema: string;
  readonly node: number | null;
  readonly host: string | null;
  readonly port: number | null;
  readonly step: NodeMoveStep;
  readonly arrived: string | null;
}

/** Whether the lists exist. One of an earlier version lacks a part, which is added. */
export async function hasLists(client: PostgresClient): Promise<boolean> {
  const [exists] = await runQuery<{ placements: boolean; moves: boolean }>(
    client,
    'SELECT to_regclass($1) IS NOT NULL AS placements,to_regclass($2) IS NOT NULL AS moves',
    [placementList, moveList],
  );
  if (exists?.placements && !exists.moves) await ensureLists(client);
  return exists?.placements === true;
}

/** Creates the lists where they do not exist. @param client a connection to the coordinator. */
export async function ensureLists(client: PostgresClient): Promise<void> {
  await createSchemaOnce(client, listSchema, createLists);
}

/** The nodes on which schemas can be placed, those with the fewest schemas first. @param client a connection to the coordinator. */
export async function listTargets(client: PostgresClient): Promise<ClusterNode[]> {
  const order = (await hasLists(client)) ? fewestSchemas : '';
  return runQuery<{ id: number; host: string; port: number }>(client, `${selectTargets}${order}nodeid`);
}

/**
 * Chooses a node for a schema, unless it has one or is on the coordinator. The choice is durable before the schema is created, so an
 * interrupted creation continues on the same node. In a cluster without other nodes, the schema will be on the coordinator.
 *
 * @param client a connection to the coordinator.
 */
export async function placeSchema(client: PostgresClient, schema: string, policy: PlacementPolicy): Promise<void> {
  const existing = await runQuery(client, 'SELECT 1 FROM pg_namespace WHERE nspname=$1', [schema]);
  if (existing.length > 0) return;
  await ensureLists(client);
  const placed = await runQuery(client, `SELECT 1 FROM ${placementList} WHERE schema_name=$1`, [schema]);
  if (placed.length > 0) return;
  const sizes = policy.order === 'smallest' ? await readSizes(client) : null;
  await runQuery(client, 'BEGIN');
  // One choice after another, so that schemas that are created at the same time get different nodes.
  await runQuery(client, `LOCK TABLE ${placementList} IN SHARE ROW EXCLUSIVE MODE`);
  const node = chooseNode(await listTargets(client), policy, sizes);
  if (node)
    await runQuery(client, `INSERT INTO ${placementList} (schema_name,node) VALUES ($1,$2) ON CONFLICT DO NOTHING`, [
      schema,
      node.id,
    ]);
  await runQuery(client, 'COMMIT');
}

/** The size of the database on each node that replies, by name. */
async function readSizes(client: PostgresClient): Promise<ReadonlyMap<string, number>> {
  const rows = await runQuery<{ host: string; port: number; size: string }>(
    client,
    `SELECT nodename AS host,nodeport AS port,result AS size
FROM run_command_on_workers('SELECT pg_database_size(current_database())') WHERE success`,
  );
  return new Map(rows.map(({ size, ...node }) => [nameNode(node), Number(size)]));
}

/** @param targets those with the fewest schemas first. @throws Error if the policy names none of them. */
function chooseNode(
  targets: readonly ClusterNode[],
  { nodes }: PlacementPolicy,
  sizes: ReadonlyMap<string, number> | null,
): ClusterNode | undefined {
  const allowed = targets.filter((node) => nodes === null || nodes.includes(nameNode(node)));
  if (nodes !== null && allowed.length === 0)
    throw new Error(
      `CITUS_PLACEMENT names no node that can take applications. Nodes that can: ${targets.map(nameNode).join(', ') || 'none'}`,
    );
  const sizeOf = (node: ClusterNode): number => sizes?.get(nameNode(node)) ?? Number.POSITIVE_INFINITY;
  return sizes === null
    ? allowed[0]
    : allowed.reduce((best, each) => (sizeOf(each) < sizeOf(best) ? each : best), allowed[0] as ClusterNode);
}

/** Removes a dropped schema from the lists. @param client a connection to the coordinator. */
export async function forgetSchema(client: PostgresClient, schema: string): Promise<void> {
  if (!(await hasLists(client))) return;
  for (const list of [moveList, placementList])
    await runQuery(client, `DELETE FROM ${list} WHERE schema_name=$1`, [schema]);
}
