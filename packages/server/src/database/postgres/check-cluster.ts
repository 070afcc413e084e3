/**
 * Finds problems that prevent or endanger work with the nodes of a Citus cluster, for `tablinum doctor`. It changes
 * nothing.
 */
import { checkPostgresServer, connectForCheck, type PostgresCheck, type PostgresProblem } from './check-server.ts';
import { nameNode } from './citus-cluster.ts';
import { runQuery } from './run-query.ts';
import { nodeUrl } from './schema-locations.ts';

interface ListedNode {
  readonly host: string;
  readonly port: number;
}

const maxDriftMilliseconds = 5000;
const noMoves = 'Applications cannot be moved to or from this node';

/** Like {@link checkPostgresServer}. If the server is the coordinator of a Citus cluster, the other nodes are checked too. */
export async function checkPostgresDatabase(
  url: string,
  requiresDurability: boolean,
  connections: number,
): Promise<PostgresCheck> {
  const { problems, drift } = await checkPostgresServer(url, requiresDurability, connections);
  const client = await connectForCheck(url);
  try {
    const [extension] = await runQuery(client, "SELECT 1 FROM pg_extension WHERE extname='citus'");
    if (!extension) return { problems, drift };
    const [worker] = await runQuery(client, 'SELECT 1 FROM pg_dist_local_group WHERE groupid<>0');
    if (worker) return { problems: [...problems, isWorker], drift };
    const nodes = await runQuery<ListedNode>(
      client,
      "SELECT nodename AS host,nodeport AS port FROM pg_dist_node WHERE groupid<>0 AND noderole='primary' ORDER BY nodeid",
    );
    const found = await Promise.all(
      nodes.map(async (node) => {
        const ofNode = await checkNode(nodeUrl(url, node), requiresDurability, connections);
        return ofNode.map((each) => ({ ...each, message: `Node ${nameNode(node)}: ${each.message}` }));
      }),
    );
    return { problems: [...problems, ...found.flat()], drift };
  } finally {
    await client.end();
  }
}

const isWorker: PostgresProblem = {
  message: 'The database server is a worker of a Citus cluster.',
  cure: 'Set DATABASE_URL to the address of the coordinator.',
  isFatal: true,
};

async function checkNode(url: string, requiresDurability: boolean, connections: number): Promise<PostgresProblem[]> {
  try {
    const { problems, drift } = await checkPostgresServer(url, requiresDurability, connections);
    return [...problems, ...findDrift(drift), ...(await findMoveProblems(url))];
  } catch (error) {
    const cure =
      'Start it, and check that it accepts connections from here. Until then, requests to its applications get 503.';
    return [{ message: `It cannot be used: ${(error as Error).message}`, cure, isFatal: true }];
  }
}

function findDrift(drift: number): PostgresProblem[] {
  if (Math.abs(drift) <= maxDriftMilliseconds) return [];
  const message = `Its clock differs by ${Math.round(drift / 1000)} s.`;
  return [{ message, cure: 'Set the clocks of all nodes by NTP.', isFatal: false }];
}

/** Finds problems that only affect moves. */
async function findMoveProblems(url: string): Promise<PostgresProblem[]> {
  const client = await connectForCheck(url);
  try {
    const [row] = await runQuery<{ level: string; isSuperuser: boolean; slots: number }>(
      client,
      `SELECT current_setting('wal_level') AS level,current_setting('is_superuser')='on' AS "isSuperuser",
current_setting('max_replication_slots')::int-(SELECT count(*)::int FROM pg_replication_slots) AS slots`,
    );
    const problems: PostgresProblem[] = [];
    const add = (reason: string, cure: string): void =>
      void problems.push({ message: `${noMoves}: ${reason}.`, cure, isFatal: false });
    if (row?.level !== 'logical')
      add(
        `wal_level is ${row?.level ?? 'unknown'}`,
        'ALTER SYSTEM SET wal_level = logical; and restart this PostgreSQL.',
      );
    if (!row?.isSuperuser) add('the role is not a superuser', 'ALTER ROLE … SUPERUSER;');
    if ((row?.slots ?? 0) < 1) add('no replication slot is free', 'Raise max_replication_slots.');
    return problems;
  } finally {
    await client.end();
  }
}
