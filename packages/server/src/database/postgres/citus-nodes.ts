/** The stores on the nodes of a Citus cluster: where they are, and how they are moved. Loaded when it is first needed. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isoTime } from '../../base/clock.ts';
import { ApiError } from '../../protocol/api-error.ts';
import {
  type BegunMove,
  type ClusterStores,
  coordinatorName,
  type NodeAddress,
  type NodeMove,
  type NodeMoveStep,
  type NodeUsage,
  type StorePlacements,
} from '../store-nodes.ts';
import {
  type ClusterNode,
  ensureLists,
  findPlacement,
  hasLists,
  listTargets,
  nameNode,
  placementList,
} from './citus-cluster.ts';
import {
  changeStep,
  commitMove,
  findMove,
  insertMove,
  type KnownNode,
  type MoveRow,
  type MoveRowKey,
  nameNodeById,
  noteDefinition,
  readDefinitionDigest,
  readMoves,
  readNodes,
} from './cluster-moves.ts';
import { copyToNode } from './node-copy.ts';
import {
  lockedSchema,
  moveName,
  removeFromSource,
  removeFromTarget,
  type SchemaNode,
  withClient,
} from './node-remains.ts';
import {
  completeCopy,
  hasPart,
  lockSchema,
  maxLockedMilliseconds,
  type SchemaMove,
  unlockSchema,
  waitForCopy,
  waitForRest,
} from './node-switch.ts';
import type { PostgresClient } from './postgres-client.ts';
import { dropPostgres } from './postgres-open.ts';
import { runQuery } from './run-query.ts';
import type { SchemaLocations } from './schema-locations.ts';

/** Attempts to lock a schema whose tables are in use, and to replicate the rest in time. */
const maxSwitchAttempts = 20;
const maxPauseMilliseconds = 3000;

interface SwitchParts {
  readonly key: MoveRowKey;
  /** The digest of the definition that was copied. */
  readonly digest: string;
  readonly signal: AbortSignal;
}

/**
 * Sizes as of the last vacuum or analyze. Reading the sizes of all files would take six seconds for 100 applications on
 * a busy machine (2026-11).
 */
const selectSizes = `SELECT n.nspname AS schema,(sum(c.relpages::int8+coalesce(t.relpages,0))*current_setting('block_size')::int)::text AS bytes
FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace LEFT JOIN pg_class t ON t.oid=c.reltoastrelid
WHERE n.nspname ~ '^app_[0-9a-f]+$' AND c.relkind IN ('r','i') GROUP BY 1`;

export class CitusNodes implements ClusterStores {
  readonly #locations: SchemaLocations;
  readonly #schemaName: (store: string) => string;

  constructor(locations: SchemaLocations, schemaName: (store: string) => string) {
    this.#locations = locations;
    this.#schemaName = schemaName;
  }

  /** What each node contains. Nodes that do not reply are not available. */
  async usage(): Promise<NodeUsage[]> {
    const { nodes, targets } = await this.#locations.onCoordinator(async (client) => ({
      nodes: await readNodes(client),
      targets: await listTargets(client),
    }));
    const workers = nodes.filter(({ isCoordinator }) => !isCoordinator);
    return Promise.all([null, ...workers].map((node) => this.#describe(node, targets)));
  }

  async #describe(node: ClusterNode | null, targets: readonly ClusterNode[]): Promise<NodeUsage> {
    const { url, budget } = this.#locations.locate(node);
    const rows = await withClient(url, budget, (client) =>
      runQuery<{ schema: string; bytes: string }>(client, selectSizes),
    ).catch(() => null);
    const sizes = new Map(rows?.map(({ schema, bytes }) => [schema, Number(bytes)]));
    return {
      node: nameNode(node),
      isTarget: targets.some(({ id }) => id === node?.id),
      isAvailable: rows !== null,
      findSize: (store) => sizes.get(this.#schemaName(store)) ?? null,
    };
  }

  placements(): Promise<StorePlacements> {
    return this.#locations.onCoordinator(async (client) => {
      if (!(await hasLists(client))) return { find: () => ({ node: coordinatorName, move: null }) };
      const nodes = await readNodes(client);
      const rows = await runQuery<{ schema: string; node: number }>(
        client,
        `SELECT schema_name AS schema,node FROM ${placementList}`,
      );
      const placed = new Map(rows.map(({ schema, node }) => [schema, node]));
      const moves = new Map((await readMoves(client)).map((row) => [row.schema, toNodeMove(row, nodes)]));
      return {
        find: (store) => {
          const schema = this.#schemaName(store);
          return { node: nameNodeById(nodes, placed.get(schema) ?? 0), move: moves.get(schema) ?? null };
        },
      };
    });
  }

  /** @throws ApiError if no application can be placed on the node. */
  async requireTarget(node: string): Promise<void> {
    await this.#locations.onCoordinator((client) => findTarget(client, node));
  }

  async place(store: string, node: string): Promise<void> {
    await this.#locations.onCoordinator(async (client) => {
      const { id } = await findTarget(client, node);
      const insert = `INSERT INTO ${placementList} (schema_name,node) VALUES ($1,$2) ON CONFLICT DO NOTHING`;
      await runQuery(client, insert, [this.#schemaName(store), id]);
    });
  }

  async beginMove(store: string, node: string): Promise<BegunMove> {
    const schema = this.#schemaName(store);
    return this.#locations.onCoordinator(async (client) => {
      const target = await findTarget(client, node);
      const { node: current } = await findPlacement(client, schema);
      if (current?.id === target.id)
        throw new ApiError('MOVE_REFUSED', `The application is on the node "${node}" already.`);
      await this.#requireReplication(current);
      await this.#requireReplication(target);
      const { url, budget } = this.#locations.locate(current);
      if (await withClient(url, budget, (source) => hasPart(source, schema)))
        throw new ApiError(
          'MOVE_REFUSED',
          'The application is the target of "tablinum move". Repeat that command until it has ended, then try again.',
        );
      const id = randomUUID();
      const source: NodeAddress = { id: current?.id ?? 0, name: nameNode(current) };
      if (!(await insertMove(client, { schema, id, source: source.id, target: target.id })))
        throw new ApiError('MOVE_REFUSED', 'A move of this application has not ended. applications:get shows it.');
      return { store, id, from: source, to: { id: target.id, name: nameNode(target) } };
    });
  }

  /** @throws ApiError if a node cannot be reached, or writes no log for replication. */
  async #requireReplication(node: ClusterNode | null): Promise<void> {
    const { url, budget } = this.#locations.locate(node);
    const [row] = await withClient(url, budget, (client) =>
      runQuery<{ level: string }>(client, "SELECT current_setting('wal_level') AS level"),
    ).catch(() => {
      throw new ApiError('MOVE_REFUSED', `The node "${nameNode(node)}" cannot be reached. Start it, and try again.`);
    });
    if (row?.level !== 'logical')
      throw new ApiError(
        'MOVE_REFUSED',
        `The node "${nameNode(node)}" has wal_level = ${row?.level ?? 'unknown'}. Set it to "logical" there and restart that PostgreSQL.`,
      );
  }

  /** The store was copied, and the copy follows it. @throws Error if the move fails; it must be settled then. */
  async finishMove({ store, id }: BegunMove, signal: AbortSignal): Promise<void> {
    const key = { schema: this.#schemaName(store), id };
    const move = await this.#resolve(key);
    const digest = await this.#locations.onCoordinator((client) => readDefinitionDigest(client, key));
    if (digest === null) throw givenUp();
    for (let attempt = 1; !(await this.#switchOver(move, { key, digest, signal })); attempt += 1) {
      if (attempt === maxSwitchAttempts)
        throw new Error('Tables of the application are in use all the time. Try again when less is written.');
      await pause(Math.random() * Math.min(maxPauseMilliseconds, 200 * attempt));
    }
  }

  /** @returns false if the schema could not be locked, or the rest not be replicated, in time. It is then used as before. */
  async #switchOver(move: SchemaMove, { key, digest, signal }: SwitchParts): Promise<boolean> {
    await waitForCopy(move, signal);
    await this.#advance(key, 'copying', 'switching');
    const state = await lockSchema(move, digest);
    if (state && (await waitForRest(move, state, performance.now() + maxLockedMilliseconds))) {
      await completeCopy(move, state);
      if (!(await this.#locations.onCoordinator((client) => commitMove(client, key)))) throw givenUp();
      return true;
    }
    if (state) await unlockSchema(move, false);
    await this.#advance(key, 'switching', 'copying');
    return false;
  }

  async #advance(key: MoveRowKey, from: 'copying' | 'switching', to: 'copying' | 'switching'): Promise<void> {
    if (!(await this.#locations.onCoordinator((client) => changeStep(client, key, { from: [from], to }))))
      throw givenUp();
  }

  /** The parts of a move. Nodes that were removed from the cluster are not found. */
  async #resolve({ schema, id }: MoveRowKey): Promise<SchemaMove> {
    return this.#locations.onCoordinator(async (client) => {
      const row = await findMove(client, schema);
      if (row?.id !== id) throw givenUp();
      const { source, target } = await this.#findNodes(client, row);
      if (!source || !target) throw removedNode();
      return { schema, name: moveName(schema, id), source, target };
    });
  }

  /** Null: the node was removed from the cluster. */
  async #findNodes(
    client: PostgresClient,
    { source, target }: Pick<MoveRow, 'source' | 'target'>,
  ): Promise<{ readonly source: SchemaNode | null; readonly target: SchemaNode | null }> {
    const nodes = await readNodes(client);
    const find = (id: number): SchemaNode | null => findSchemaNode(this.#locations, nodes, id);
    return { source: find(source), target: find(target) };
  }

  /** Copies the store of a move that has begun, in a process of its own. @throws Error */
  async copy({ store, id, from, to }: BegunMove): Promise<void> {
    const schema = this.#schemaName(store);
    const nodes = await this.#locations.onCoordinator((client) =>
      this.#findNodes(client, { source: from.id, target: to.id }),
    );
    const { source, target } = nodes;
    if (!source || !target) throw removedNode();
    const onDefinition = async (digest: string): Promise<void> => {
      const isNoted = await this.#locations.onCoordinator((client) => noteDefinition(client, { schema, id }, digest));
      if (!isNoted) throw givenUp();
    };
    await copyToNode({ schema, name: moveName(schema, id), source, target, onDefinition });
  }

  hasUnsettled(): Promise<boolean> {
    return this.#locations.onCoordinator(async (client) => (await this.#readUnsettled(client)).length > 0);
  }

  async #readUnsettled(client: PostgresClient): Promise<MoveRow[]> {
    return (await hasLists(client)) ? (await readMoves(client)).filter(({ step }) => step !== null) : [];
  }

  async settle(problem: string): Promise<void> {
    const rows = await this.#locations.onCoordinator((client) => this.#readUnsettled(client));
    const settled = await Promise.allSettled(rows.map((row) => this.#settleMove(row, problem)));
    for (const result of settled) if (result.status === 'rejected') throw result.reason;
  }

  async #settleMove({ schema, id }: MoveRow, problem: string): Promise<void> {
    const read = (): Promise<MoveRow | null> => this.#locations.onCoordinator((client) => findMove(client, schema));
    for (let row = await read(); row && row.id === id && row.step !== null; row = await read())
      await this.#settleStep(row, problem);
  }

  async #settleStep(row: MoveRow, problem: string): Promise<void> {
    const { schema, step } = row;
    const { source, target } = await this.#locations.onCoordinator((client) => this.#findNodes(client, row));
    const change = (to: NodeMoveStep, reason?: string): Promise<boolean> =>
      this.#locations.onCoordinator((client) =>
        changeStep(client, row, { from: [step], to, ...(reason !== undefined && { problem: reason }) }),
      );
    if (step === 'copying') await change('cancelling', problem);
    else if (step === 'switching') await change('undoing', problem);
    else if (step === 'undoing') {
      // Nobody can use the application until its schema is unlocked.
      if (source) await unlockSchema({ schema, source }, true);
      await change('cancelling');
    } else {
      const isDone = step === 'cleaning';
      if (source && !isDone) await unlockSchema({ schema, source }, true);
      if (target) await removeFromTarget(target, schema, { dropSchema: !isDone });
      if (source) await removeFromSource(source, schema);
      if (source && isDone) await dropPostgres(source.url, lockedSchema(schema), source.budget);
      await change(null);
    }
  }
}

const removedNode = (): Error => new Error('A node of the move was removed from the cluster.');

/** A node by its id; 0 is the coordinator. Null: it was removed from the cluster. */
export function findSchemaNode(locations: SchemaLocations, nodes: readonly KnownNode[], id: number): SchemaNode | null {
  const known = nodes.find((node) => (id === 0 ? node.isCoordinator : node.id === id)) ?? null;
  if (id !== 0) return known && { ...locations.locate(known), host: known.host, port: known.port };
  const coordinator = locations.locate(null);
  const { hostname, port } = new URL(coordinator.url);
  return { ...coordinator, host: known?.host ?? hostname, port: known?.port ?? Number(port || 5432) };
}

async function findTarget(client: PostgresClient, name: string): Promise<ClusterNode> {
  await ensureLists(client);
  const targets = await listTargets(client);
  const found = targets.find((node) => nameNode(node) === name);
  if (found) return found;
  throw new ApiError(
    'BODY_INVALID',
    `"node" must be one of ${targets.map(nameNode).join(', ') || 'the nodes of the cluster, which has none for applications'}.`,
  );
}

const givenUp = (): Error => new Error('The move was given up, because the server that ran it lost its connection.');

function toNodeMove(row: MoveRow, nodes: readonly KnownNode[]): NodeMove {
  const { source, target, step, problem, startedAt, finishedAt } = row;
  const isOver = step === null || step === 'cleaning';
  return {
    from: nameNodeById(nodes, source),
    to: nameNodeById(nodes, target),
    status: problem !== null && step !== 'cleaning' ? 'failed' : isOver ? 'done' : 'running',
    step,
    startedAt: isoTime(startedAt.getTime()),
    finishedAt: finishedAt && isoTime(finishedAt.getTime()),
    problem,
  };
}
