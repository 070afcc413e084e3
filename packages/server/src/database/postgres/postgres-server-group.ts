import { setTimeout as pause } from 'node:timers/promises';
import { FifoLock } from '../../base/fifo-lock.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { GroupMessage, ServerGroup } from '../server-group.ts';
import { createNoConnectionFault } from './connection-budget.ts';
import { PostgresClient } from './postgres-client.ts';
import { isLockTimeout, toPostgresFault } from './postgres-fault.ts';
import { runQuery } from './run-query.ts';

const channel = 'tablinum';
/** The lock of a store. The servers that have it open share it. */
const lockKey = "hashtext('tablinum open'),hashtext($1)";
/** The connection is idle for hours, so both sides check whether the other one still exists. */
const sessionSettings =
  '-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3 -c lock_timeout=0 -c statement_timeout=0';
const reconnectMilliseconds = 500;
/** How long a store that is opened waits for a lost connection. */
const connectMilliseconds = 5000;
/** How long to try to hold a store while another server waits until it is closed. */
const holdMilliseconds = 2000;
const tryMilliseconds = 50;

export interface GroupParts {
  readonly url: string;
  /** The store of `main`. It is held as long as the group is open. */
  readonly mainStore: string;
  readonly mainSchema: string;
}

/**
 * Uses one connection of its own, in addition to those of the pools, for session locks and notifications. If it is lost, it is opened
 * again with the same locks.
 */
export class PostgresServerGroup implements ServerGroup {
  readonly #parts: GroupParts;
  /** The driver runs one statement of a connection after the other, and warns if it is given several. */
  readonly #statements = new FifoLock();
  /** How often each store is held. */
  readonly #held = new Map<string, number>();
  #listener: (message: GroupMessage) => void = () => {};
  #connection: Promise<PostgresClient>;
  /** Null while there is no connection. */
  #client: PostgresClient | null = null;
  readonly #ended = new WeakSet<PostgresClient>();
  /** The id of the schema of `main`. Another one means that `main` was restored. */
  #mainId: number | null = null;
  #isClosed = false;

  private constructor(parts: GroupParts) {
    this.#parts = parts;
    this.#connection = this.#open();
    this.#connection.catch(() => {});
  }

  /**
   * Joins the group. Waits while another server restores `main`.
   *
   * @param milliseconds how long. @throws ApiError 503; DatabaseFault.
   */
  static async join(parts: GroupParts, milliseconds: number): Promise<PostgresServerGroup> {
    const group = new PostgresServerGroup(parts);
    try {
      group.#use(await group.#connected());
      await group.#hold(parts.mainStore, milliseconds);
      return group;
    } catch (error) {
      await group.close();
      throw error;
    }
  }

  async hold(store: string): Promise<void> {
    await this.#hold(store, holdMilliseconds);
  }

  async #hold(store: string, milliseconds: number): Promise<void> {
    const deadline = performance.now() + milliseconds;
    const client = await this.#connected();
    while (!(await this.#statements.run(() => tryToShare(client, store)))) {
      if (performance.now() > deadline)
        throw new ApiError('BUSY', 'Another server is stopping the application. Try again.', { retryAfter: 1 });
      await pause(tryMilliseconds);
    }
    this.#held.set(store, (this.#held.get(store) ?? 0) + 1);
  }

  async release(store: string): Promise<void> {
    const count = this.#held.get(store) ?? 0;
    if (count === 0) return;
    if (count === 1) this.#held.delete(store);
    else this.#held.set(store, count - 1);
    // A lost connection has released its locks.
    const unlock = async (): Promise<unknown> =>
      this.#client?.query(`SELECT pg_advisory_unlock_shared(${lockKey})`, [store]);
    await this.#statements.run(unlock).catch(() => {});
  }

  async isHeldElsewhere(store: string): Promise<boolean> {
    const client = await this.#connected();
    return this.#statements.run(async () => {
      const [row] = await runQuery<{ free: boolean }>(client, `SELECT pg_try_advisory_lock(${lockKey}) AS free`, [
        store,
      ]);
      if (!row?.free) return true;
      await runQuery(client, `SELECT pg_advisory_unlock(${lockKey})`, [store]);
      return false;
    });
  }

  async waitUntilClosed(store: string, milliseconds: number): Promise<boolean> {
    return withAllClosed({ ...this.#parts, store, milliseconds, message: 'withdrawn' }, async () => true, false);
  }

  /** Notes that `main` is closed, so that this server can replace it. Messages, also its own, are no longer passed on. */
  async leaveMain(): Promise<void> {
    this.#listener = () => {};
    await this.release(this.#parts.mainStore);
  }

  watch(listener: (message: GroupMessage) => void): void {
    this.#listener = listener;
  }

  /** Leaves the group. Call it when all stores are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // A connection that is just being opened is ended when it is open.
    const ended = this.#connection.then((client) => client.end()).catch(() => {});
    if (this.#client) await ended;
  }

  /** @throws DatabaseFault, also if the lost connection is not open again in time. */
  async #connected(): Promise<PostgresClient> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(createNoConnectionFault()), connectMilliseconds);
    try {
      return await Promise.race([this.#connection, late]);
    } catch (error) {
      throw toPostgresFault(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Opens a connection that receives messages. */
  async #open(): Promise<PostgresClient> {
    const client = new PostgresClient({ connectionString: this.#parts.url, options: sessionSettings });
    client.on('notification', ({ payload }) => {
      if (payload === 'withdrawn' || payload === 'main') this.#listener(payload);
    });
    client.once('end', () => {
      this.#ended.add(client);
      if (this.#client === client) this.#reconnect();
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
      return client;
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
  }

  /** Uses a connection until it ends. @throws Error if it has ended. */
  #use(client: PostgresClient): void {
    if (this.#ended.has(client)) throw new Error('The connection has ended.');
    this.#client = client;
  }

  #reconnect(): void {
    this.#client = null;
    if (this.#isClosed) return;
    this.#connection = this.#openAgain();
    this.#connection.catch(() => {});
  }

  async #openAgain(): Promise<PostgresClient> {
    for (;;) {
      const client = await this.#open().catch(() => null);
      try {
        if (client) return await this.#resume(client);
      } catch {
        await client?.end().catch(() => {});
      }
      if (this.#isClosed) throw new Error('The group is closed.');
      await pause(reconnectMilliseconds);
    }
  }

  /** Acquires the locks of a lost connection on a new one. */
  async #resume(client: PostgresClient): Promise<PostgresClient> {
    for (const [store, count] of [...this.#held])
      for (let n = 0; n < count; )
        if (await tryToShare(client, store)) n += 1;
        else if (this.#isClosed) throw new Error('The group is closed.');
        else await pause(tryMilliseconds);
    const id = await this.#readMainId(client);
    this.#use(client);
    this.#listener(id === this.#mainId || this.#mainId === null ? 'withdrawn' : 'main');
    return client;
  }

  /** Notes the schema of `main` that this server has opened. */
  async noteMain(): Promise<void> {
    const client = await this.#connected();
    this.#mainId = await this.#statements.run(() => this.#readMainId(client));
  }

  async #readMainId(client: PostgresClient): Promise<number | null> {
    const [found] = await runQuery<{ id: number }>(client, 'SELECT oid AS id FROM pg_namespace WHERE nspname=$1', [
      this.#parts.mainSchema,
    ]);
    return found?.id ?? null;
  }
}

async function tryToShare(client: PostgresClient, store: string): Promise<boolean> {
  const [row] = await runQuery<{ free: boolean }>(client, `SELECT pg_try_advisory_lock_shared(${lockKey}) AS free`, [
    store,
  ]);
  return row?.free === true;
}

export interface ClosedRequest {
  readonly url: string;
  readonly store: string;
  readonly milliseconds: number;
  readonly message: GroupMessage;
}

/**
 * Sends a message to all servers, and runs work when none of them has the store open. None can open it meanwhile.
 *
 * @param work gets a connection in autocommit mode. @param otherwise the result if a server still has the store open.
 */
export async function withAllClosed<T>(
  { url, store, milliseconds, message }: ClosedRequest,
  work: (client: PostgresClient) => Promise<T>,
  otherwise: T,
): Promise<T> {
  const options = `${sessionSettings} -c lock_timeout=${Math.max(1, Math.ceil(milliseconds))}`;
  const [holder, sender] = [milliseconds + 3000, undefined].map(
    (timeout) =>
      new PostgresClient({ connectionString: url, options, ...(timeout !== undefined && { query_timeout: timeout }) }),
  ) as [PostgresClient, PostgresClient];
  try {
    await Promise.all([holder.connect(), sender.connect()]);
    // The lock is requested first, so that no server that has got the message opens the store again.
    const locked = runQuery(holder, `SELECT pg_advisory_lock(${lockKey})`, [store]).then(
      () => true,
      (error: unknown) => {
        if (isLockTimeout(error)) return false;
        throw error;
      },
    );
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    locked.then(over, over);
    await waitUntilRequested(sender, holder, () => isOver);
    await runQuery(sender, `SELECT pg_notify('${channel}',$1)`, [message]);
    return (await locked) ? await work(holder) : otherwise;
  } catch (error) {
    throw toPostgresFault(error);
  } finally {
    await Promise.all([holder.end(), sender.end()].map((ending) => ending.catch(() => {})));
  }
}

/** Waits until a connection has, or waits for, its advisory lock, or has lost it. */
async function waitUntilRequested(
  client: PostgresClient,
  holder: PostgresClient,
  isOver: () => boolean,
): Promise<void> {
  const { processID } = holder as { processID?: number };
  const isRequested = async (): Promise<boolean> =>
    (await runQuery(client, "SELECT 1 FROM pg_locks WHERE locktype='advisory' AND pid=$1", [processID])).length > 0;
  while (!isOver() && !(await isRequested())) await pause(1);
}
