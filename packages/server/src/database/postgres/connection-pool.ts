import { setTimeout as pause } from 'node:timers/promises';
import { type ConnectionBudget, createNoConnectionFault } from './connection-budget.ts';
import type { PostgresClient } from './postgres-client.ts';
import type { SharedConnection } from './shared-connection.ts';
import { type ConnectionRequest, SharedConnections } from './shared-connections.ts';

export interface PoolSettings {
  readonly url: string;
  readonly schema: string;
  /** Maximum number of connections that the application uses at the same time. */
  readonly size: number;
  /** Whether some connections are reserved for it. It must be opened before others. */
  readonly hasReserve: boolean;
  /** Shared by the applications of a server. */
  readonly budget: ConnectionBudget;
}

/** How long closing waits for connections in use. */
const closeMilliseconds = 2000;

/** The connections that one application uses now, out of those that it shares with others. */
export class ConnectionPool {
  readonly schema: string;
  readonly size: number;
  readonly hasReserve: boolean;
  /** Used by {@link SharedConnections}: connections in use, or being prepared for use. */
  lent = 0;
  /** Used by {@link SharedConnections}: requests that wait. */
  readonly requests: ConnectionRequest[] = [];
  readonly #connections: SharedConnections;
  #isClosed = false;

  constructor({ url, schema, size, hasReserve, budget }: PoolSettings) {
    this.schema = schema;
    this.size = size;
    this.hasReserve = hasReserve;
    this.#connections = SharedConnections.of(budget, url);
    this.#connections.add(this);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @throws DatabaseFault `unavailable` if none becomes free in time. */
  acquire(): Promise<SharedConnection> {
    return this.#isClosed ? Promise.reject(createNoConnectionFault()) : this.#connections.acquire(this);
  }

  /** Gives a connection back. @param isBroken whether it must not be used again. */
  release(connection: SharedConnection, isBroken: boolean): void {
    this.#connections.release(this, connection, isBroken);
  }

  /** Runs work, unless work of that name is running, here or on another server; null then. */
  tryWithLock<T>(name: string, work: () => Promise<T>): Promise<T | null> {
    return this.#connections.locks.tryWithLock([this.schema, `under way ${name}`], work);
  }

  /** Runs work when no other server has this schema's lock of starts. @throws DatabaseFault `collision` if that takes too long. */
  withStartupLock<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
    return this.#connections.locks.withLock(['tablinum', this.schema], milliseconds, work);
  }

  /** Requests that wait fail. Waits a moment for connections in use. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const each of this.requests.splice(0)) each.reject(createNoConnectionFault());
    const deadline = performance.now() + closeMilliseconds;
    while (this.lent > 0 && performance.now() < deadline) await pause(2);
    await this.#connections.remove(this);
  }
}

/** Runs statements on one of the shared connections. @throws DatabaseFault */
export async function withSharedConnection<T>(
  settings: Omit<PoolSettings, 'size'>,
  work: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  const pool = new ConnectionPool({ ...settings, size: 1 });
  try {
    const connection = await pool.acquire();
    let isBroken = true;
    try {
      const result = await work(connection.client);
      isBroken = false;
      return result;
    } finally {
      pool.release(connection, isBroken);
    }
  } finally {
    await pool.close();
  }
}
