import type { PlacementPolicy } from '../../base/address-settings.ts';
import { ApiError } from '../../protocol/api-error.ts';
import {
  type ClusterNode,
  findPlacement,
  findPlacements,
  forgetSchema,
  isCoordinator,
  localSchemaSettings,
  placeSchema,
  type SchemaPlacement,
} from './citus-cluster.ts';
import { ConnectionBudget } from './connection-budget.ts';
import { withSharedConnection } from './connection-pool.ts';
import type { PostgresClient } from './postgres-client.ts';
import { type ConnectRetry, connectWithRetry } from './postgres-open.ts';

/** The PostgreSQL server of a schema. */
export interface SchemaLocation {
  readonly url: string;
  /** Shared by all schemas of that server. */
  readonly budget: ConnectionBudget;
  /** Where the schema was found; it differs after a move. Empty if there is no cluster. */
  readonly placed: string;
  /** The id of its node in a cluster; 0: the coordinator. Null if there is no cluster, or the schema is never moved. */
  readonly node: number | null;
}

/** Identifies the place of a schema: its node, and its last move. */
export const describePlace = ({ node, arrived }: Pick<SchemaPlacement, 'node' | 'arrived'>): string =>
  `${node?.id ?? 0}:${arrived ?? ''}`;

/** 503 for a schema that is locked for the last part of its move. */
export const beingMoved = (): ApiError =>
  new ApiError('BUSY', 'The application is being moved to another node. Try again.', { retryAfter: 1 });

export interface SchemaLocationsParts {
  /** The URL of PostgreSQL, or of the coordinator of a Citus cluster. */
  readonly url: string;
  /** Maximum number of connections to each server. */
  readonly connections: number;
  /** The schema of `main`, which is always on the server of `url`. */
  readonly mainSchema: string;
  readonly placement: PlacementPolicy;
}

/** Finds the servers of schemas. They are all on one server, unless that is the coordinator of a Citus cluster. */
export class SchemaLocations {
  readonly #parts: SchemaLocationsParts;
  readonly #plain: SchemaLocation;
  readonly #coordinator: Omit<SchemaLocation, 'placed' | 'node'>;
  /** By address, so that a node that does not reply does not use up the connections of others. */
  readonly #budgets = new Map<string, ConnectionBudget>();
  #isCluster: boolean | null = null;

  constructor(parts: SchemaLocationsParts) {
    const { url, connections } = parts;
    this.#parts = parts;
    this.#plain = { url, budget: new ConnectionBudget(connections), placed: '', node: null };
    this.#coordinator = { url, budget: new ConnectionBudget(connections, localSchemaSettings) };
  }

  /**
   * @throws DatabaseFault; ApiError 503 while the schema is locked for a move; Error if the server is a worker of a cluster, or the
   * schema's node was removed from the cluster.
   */
  async find(schema: string, retry: ConnectRetry | null = null): Promise<SchemaLocation> {
    if (!(await this.isCluster(retry))) return this.#plain;
    if (schema === this.#parts.mainSchema) return { ...this.#coordinator, placed: '', node: null };
    const placement = await this.#readLists((client) => findPlacement(client, schema));
    if (isLocked(placement)) throw beingMoved();
    return { ...this.locate(placement.node), placed: describePlace(placement), node: placement.node?.id ?? 0 };
  }

  /** Like {@link find}, for a schema that may have to be created: it gets a node. */
  async place(schema: string, retry: ConnectRetry | null = null): Promise<SchemaLocation> {
    if ((await this.isCluster(retry)) && schema !== this.#parts.mainSchema)
      await this.onCoordinator((client) => placeSchema(client, schema, this.#parts.placement));
    return this.find(schema);
  }

  /** Forgets the node of a schema that was dropped. */
  async forget(schema: string): Promise<void> {
    if (await this.isCluster()) await this.onCoordinator((client) => forgetSchema(client, schema));
  }

  /**
   * Which of the schemas are no longer where they were found, or have a move that is just changing the node. @param
   * found their `placed`.
   */
  async findMoved(found: ReadonlyMap<string, string>): Promise<string[]> {
    if (found.size === 0 || !(await this.isCluster())) return [];
    const placements = await this.#readLists((client) => findPlacements(client, [...found.keys()]));
    return [...found].flatMap(([schema, placed]) => {
      const now = placements.get(schema);
      return now && !isLocked(now) && describePlace(now) === placed ? [] : [schema];
    });
  }

  /** @throws DatabaseFault; Error if the server is a worker of a cluster. */
  async isCluster(retry: ConnectRetry | null = null): Promise<boolean> {
    if (this.#isCluster !== null) return this.#isCluster;
    const client = await connectWithRetry(this.#plain, retry);
    try {
      this.#isCluster = await isCoordinator(client);
    } finally {
      await client.end();
    }
    return this.#isCluster;
  }

  /** @throws Error if the schema is being moved to another node of a cluster. */
  async requireNotMoving(schema: string): Promise<void> {
    if (!(await this.isCluster())) return;
    const { step } = await this.onCoordinator((client) => findPlacement(client, schema));
    if (step !== null)
      throw new Error(
        'The application is being moved to another node of the Citus cluster. Try again when it is there.',
      );
  }

  /** The address of a node. @param node null: the coordinator. */
  locate(node: ClusterNode | null): Omit<SchemaLocation, 'placed' | 'node'> {
    if (node === null) return this.#coordinator;
    const address = `${node.host}:${node.port}`;
    const budget = this.#budgets.get(address) ?? new ConnectionBudget(this.#parts.connections, localSchemaSettings);
    this.#budgets.set(address, budget);
    return { url: nodeUrl(this.#parts.url, node), budget };
  }

  /** Like {@link onCoordinator}, on a connection of `main`, which is open already. */
  #readLists<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    return withSharedConnection({ ...this.#coordinator, schema: this.#parts.mainSchema, hasReserve: true }, work);
  }

  /** Runs work with a connection of its own to the coordinator. @throws DatabaseFault */
  async onCoordinator<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    const client = await connectWithRetry(this.#coordinator, null);
    return work(client).finally(() => client.end());
  }
}

/** The address of a node: user, password, database and parameters are those of the coordinator. */
export function nodeUrl(coordinator: string, { host, port }: Pick<ClusterNode, 'host' | 'port'>): string {
  const url = new URL(coordinator);
  url.hostname = host.includes(':') ? `[${host}]` : host;
  url.port = String(port);
  for (const each of ['host', 'port']) url.searchParams.delete(each);
  return url.href;
}

/** Whether nothing may use a schema, because its move is at the point where it changes the node. */
export const isLocked = ({ step }: Pick<SchemaPlacement, 'step'>): boolean =>
  step === 'switching' || step === 'undoing';
