/**
 * The coordinator's list of moves of schemas to other nodes. Each change of a step names the previous step, so a move
 * that was given up cannot continue.
 */
import { coordinatorName, type NodeMoveStep } from '../store-nodes.ts';
import { moveList, nameNode, placementList } from './citus-cluster.ts';
import type { PostgresClient } from './postgres-client.ts';
import { runQuery } from './run-query.ts';

/** A move in the list. Nodes are their ids; 0 is the coordinator. */
export interface MoveRow {
  readonly schema: string;
  readonly id: string;
  readonly source: number;
  readonly target: number;
  readonly step: NodeMoveStep;
  readonly problem: string | null;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}

/** A move by its schema and id. */
export type MoveRowKey = Pick<MoveRow, 'schema' | 'id'>;

const columns =
  'schema_name AS schema,id::text AS id,source,target,step,problem,started_at AS "startedAt",finished_at AS "finishedAt"';

/** Adds a move. @returns false if one of the schema has not ended. */
export async function insertMove(
  client: PostgresClient,
  { schema, id, source, target }: Pick<MoveRow, 'schema' | 'id' | 'source' | 'target'>,
): Promise<boolean> {
  const rows = await runQuery(
    client,
    `INSERT INTO ${moveList} AS m (schema_name,id,source,target,step,started_at) VALUES ($1,$2,$3,$4,'copying',now())
ON CONFLICT (schema_name) DO UPDATE SET id=excluded.id,source=excluded.source,target=excluded.target,step='copying',definition=NULL,
started_at=now(),finished_at=NULL,problem=NULL WHERE m.step IS NULL RETURNING 1`,
    [schema, id, source, target],
  );
  return rows.length > 0;
}

/** Stores the digest of the definition that was copied. @returns false if the move was given up. */
export async function noteDefinition(
  client: PostgresClient,
  { schema, id }: MoveRowKey,
  digest: string,
): Promise<boolean> {
  const update = `UPDATE ${moveList} SET definition=$3 WHERE schema_name=$1 AND id=$2 AND step='copying' RETURNING 1`;
  return (await runQuery(client, update, [schema, id, digest])).length > 0;
}

/** The digest of {@link noteDefinition}; null if nothing was copied yet. */
export async function readDefinitionDigest(client: PostgresClient, { schema, id }: MoveRowKey): Promise<string | null> {
  const select = `SELECT definition FROM ${moveList} WHERE schema_name=$1 AND id=$2`;
  const [row] = await runQuery<{ definition: string | null }>(client, select, [schema, id]);
  return row?.definition ?? null;
}

/** A change of the step of a move. */
export interface StepChange {
  readonly from: readonly NodeMoveStep[];
  readonly to: NodeMoveStep;
  /** Why it failed; absent: no change. */
  readonly problem?: string;
}

/** Changes the step of a move. @returns false if it is at another step, or was replaced by another move. */
export async function changeStep(
  client: PostgresClient,
  { schema, id }: MoveRowKey,
  { from, to, problem }: StepChange,
): Promise<boolean> {
  const rows = await runQuery(
    client,
    `UPDATE ${moveList} SET step=$4,problem=coalesce($5,problem),finished_at=CASE WHEN $4::text IS NULL THEN now() END
WHERE schema_name=$1 AND id=$2 AND step=ANY($3::text[]) RETURNING 1`,
    [schema, id, from, to, problem ?? null],
  );
  return rows.length > 0;
}

/** Gives a schema its new node, in one statement. @returns false if the move was given up. */
export async function commitMove(client: PostgresClient, { schema, id }: MoveRowKey): Promise<boolean> {
  const rows = await runQuery(
    client,
    `WITH moved AS (UPDATE ${moveList} SET step='cleaning',arrived=id WHERE schema_name=$1 AND id=$2 AND step='switching' RETURNING target)
INSERT INTO ${placementList} (schema_name,node) SELECT $1,target FROM moved
ON CONFLICT (schema_name) DO UPDATE SET node=excluded.node RETURNING 1`,
    [schema, id],
  );
  return rows.length > 0;
}

/** The latest move of a schema. */
export async function findMove(client: PostgresClient, schema: string): Promise<MoveRow | null> {
  const [row] = await runQuery<MoveRow>(client, `SELECT ${columns} FROM ${moveList} WHERE schema_name=$1`, [schema]);
  return row ?? null;
}

/** The latest move of each schema that was ever moved. */
export function readMoves(client: PostgresClient): Promise<MoveRow[]> {
  return runQuery<MoveRow>(client, `SELECT ${columns} FROM ${moveList}`);
}

/** A node of the cluster, with what Citus says of it. */
export interface KnownNode {
  readonly id: number;
  readonly host: string;
  readonly port: number;
  readonly isCoordinator: boolean;
}

/** All primary nodes, also those that are not in use. */
export async function readNodes(client: PostgresClient): Promise<KnownNode[]> {
  return runQuery<KnownNode & { id: number }>(
    client,
    `SELECT nodeid AS id,nodename AS host,nodeport AS port,groupid=0 AS "isCoordinator" FROM pg_dist_node WHERE noderole='primary' ORDER BY nodeid`,
  );
}

/** The name of a node by its id; 0 is the coordinator. */
export function nameNodeById(nodes: readonly KnownNode[], id: number): string {
  if (id === 0) return coordinatorName;
  const node = nodes.find((each) => each.id === id);
  return node ? nameNode(node) : `node ${id}, which was removed`;
}
