/** Databases on all nodes of the Citus cluster that `npm run test:citus` uses. */
import { queryDatabase } from './query-database.ts';

/** A template database in which the nodes know each other, and which is otherwise empty. */
export const emptyClusterDatabase = 'citus_empty';

/** Must precede statements that create schemas, because Citus would distribute these schemas. */
export const localSchemas = 'SET citus.enable_schema_based_sharding=off; SET citus.enable_ddl_propagation=off;';

/**
 * Runs a statement on all nodes, outside of the test databases.
 *
 * @param nodes addresses of the nodes, the coordinator's first.
 */
export async function onAllNodes(nodes: readonly string[], text: string): Promise<void> {
  for (const node of nodes) await queryDatabase(node, text);
}

/**
 * The nodes of a cluster.
 *
 * @param url of its coordinator.
 * @returns addresses of the coordinator and the workers.
 */
export async function findClusterNodes(url: string): Promise<string[]> {
  const workers = await queryDatabase(
    url,
    "SELECT nodename,nodeport FROM pg_dist_node WHERE groupid<>0 AND noderole='primary' ORDER BY nodeid",
  );
  const nodeUrl = ({ nodename, nodeport }: Record<string, unknown>): string =>
    Object.assign(new URL(url), { hostname: nodename, port: nodeport }).href;
  return [url, ...workers.map(nodeUrl)];
}

/** Creates {@link emptyClusterDatabase}, and replaces the one of an earlier run. */
export async function createEmptyCluster(nodes: readonly string[]): Promise<void> {
  await dropOnNodes(nodes, emptyClusterDatabase);
  await onAllNodes(nodes, `CREATE DATABASE ${emptyClusterDatabase} TEMPLATE template0`);
  for (const node of nodes) await queryDatabase(inDatabase(node, emptyClusterDatabase), 'CREATE EXTENSION citus');
  const [coordinator = '', ...workers] = nodes.map((node) => inDatabase(node, emptyClusterDatabase));
  const { hostname, port } = new URL(coordinator);
  await queryDatabase(coordinator, `SELECT citus_set_coordinator_host('${hostname}',${port})`);
  for (const each of workers.map((worker) => new URL(worker)))
    await queryDatabase(coordinator, `SELECT citus_add_node('${each.hostname}',${each.port})`);
  await closeToConnections(nodes, emptyClusterDatabase);
}

/** Creates a database on all nodes from one that is closed to connections. */
export async function createOnNodes(nodes: readonly string[], name: string, template: string): Promise<void> {
  await Promise.all(
    nodes.map((node) => queryDatabase(node, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`)),
  );
}

export async function dropOnNodes(nodes: readonly string[], name: string): Promise<void> {
  await Promise.all(nodes.map((node) => queryDatabase(node, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)));
}

/**
 * Ends all connections, including those of Citus itself, and allows no new ones: only then can the database be copied.
 */
export async function closeToConnections(nodes: readonly string[], name: string): Promise<void> {
  await onAllNodes(nodes, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await onAllNodes(nodes, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname='${name}'`);
}

/** The address of another database of a server. */
export function inDatabase(url: string, name: string): string {
  return Object.assign(new URL(url), { pathname: `/${name}` }).href;
}

/**
 * The address of the node of a cluster that contains a schema; without a cluster, that of the database.
 *
 * @throws Error if no node contains it.
 */
export async function locateSchema(schema: string, url: string, nodes: readonly string[] | null): Promise<string> {
  const name = new URL(url).pathname.slice(1);
  for (const node of nodes?.map((each) => inDatabase(each, name)) ?? [url]) {
    const found = await queryDatabase(node, `SELECT 1 AS found FROM pg_namespace WHERE nspname='${schema}'`);
    if (found.length > 0) return node;
  }
  throw new Error(`No node has the schema ${schema}.`);
}
