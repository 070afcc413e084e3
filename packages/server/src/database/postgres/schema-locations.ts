import {
  type ClusterNode,
  findNode,
  forgetSchema,
  isCoordinator,
  localSchemaSettings,
  placeSchema,
} from './citus-cluster.ts';
import { ConnectionBudget } from './connection-budget.ts';
import type { PostgresClient } from './postgres-client.ts';
import { type ConnectRetry, connectWithRetry } from './postgres-open.ts';

/** The PostgreSQL server of a schema. */
export interface SchemaLocation {
  readonly url: string;
  /** Shared by all schemas of that server. */
  readonly budget: ConnectionBudget;
}

export interface SchemaLocationsParts {
  /** Of PostgreSQL, or of the coordinator of a Citus cluster. */
  readonly url: string;
  /** Maximum number of connections to each server. */
  readonly connections: number;
  /** The schema of `main`, which is always on the server of `url`. */
  readonly mainSchema: string;
}

/** Finds the servers of schemas. They are all on one server, unless that is the coordinator of a Citus cluster. */
export class SchemaLocations {
  readonly #parts: SchemaLocationsParts;
  readonly #plain: SchemaLocation;
  readonly #coordinator: SchemaLocation;
  /** By address, so that a node that does not reply does not use up the connections of others. */
  readonly #budgets = new Map<string, ConnectionBudget>();
  #isCluster: boolean | null = null;

  constructor(parts: SchemaLocationsParts) {
    const { url, connections } = parts;
    this.#parts = parts;
    this.#plain = { url, budget: new ConnectionBudget(connections) };
    this.#coordinator = { url, budget: new ConnectionBudget(connections, localSchemaSettings) };
  }

  /** @throws DatabaseFault; Error if the server is a worker of a cluster, or the schema's node was removed from the cluster. */
  async find(schema: string, retry: ConnectRetry | null = null): Promise<SchemaLocation> {
    if (!(await this.isCluster(retry))) return this.#plain;
    if (schema === this.#parts.mainSchema) return this.#coordinator;
    return this.#locate(await this.#onCoordinator((client) => findNode(client, schema)));
  }

  /** Like {@link find}, for a schema that may have to be created: it gets a node. */
  async place(schema: string, retry: ConnectRetry | null = null): Promise<SchemaLocation> {
    if ((await this.isCluster(retry)) && schema !== this.#parts.mainSchema)
      await this.#onCoordinator((client) => placeSchema(client, schema));
    return this.find(schema);
  }

  /** Forgets the node of a schema that was dropped. */
  async forget(schema: string): Promise<void> {
    if (await this.isCluster()) await this.#onCoordinator((client) => forgetSchema(client, schema));
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

  /** @throws Error if the server is the coordinator of a cluster. @param command that does not work there. */
  async requireOneServer(command: string): Promise<void> {
    if (await this.isCluster())
      throw new Error(`"tablinum ${command}" does not work with a Citus cluster yet. See docs/operations.md.`);
  }

  #locate(node: ClusterNode | null): SchemaLocation {
    if (node === null) return this.#coordinator;
    const address = `${node.host}:${node.port}`;
    const budget = this.#budgets.get(address) ?? new ConnectionBudget(this.#parts.connections, localSchemaSettings);
    this.#budgets.set(address, budget);
    return { url: nodeUrl(this.#parts.url, node), budget };
  }

  async #onCoordinator<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    const client = await connectWithRetry(this.#coordinator, null);
    return work(client).finally(() => client.end());
  }
}

/** The address of a node: user, password, database and parameters are those of the coordinator. */
function nodeUrl(coordinator: string, { host, port }: ClusterNode): string {
  const url = new URL(coordinator);
  url.hostname = host.includes(':') ? `[${host}]` : host;
  url.port = String(port);
  for (const each of ['host', 'port']) url.searchParams.delete(each);
  return url.href;
}
