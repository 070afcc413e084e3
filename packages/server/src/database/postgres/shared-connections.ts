import { processCounters } from '../../base/metrics.ts';
import { type ConnectionBudget, connectionWaitMilliseconds, createNoConnectionFault } from './connection-budget.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { NamedLocks } from './named-locks.ts';
import { tooManyConnections, toPostgresFault } from './postgres-fault.ts';
import { SharedConnection } from './shared-connection.ts';

/** A request that waits for a connection. */
export interface ConnectionRequest {
  /** Has no effect if the request has ended, because it has waited too long. @returns whether it had not. */
  resolve(connection: SharedConnection): boolean;
  reject(error: Error): void;
  readonly hasEnded: boolean;
  /** Whether a connection is being opened for it. */
  isOpening: boolean;
}

/** A connection that has been idle for this long is handed over to another application; a new one is opened otherwise. */
const handOverMilliseconds = 20;
/** How long an idle connection is kept. */
const idleMilliseconds = 10_000;
const sweepMilliseconds = 1000;
/** After this time, another connection is opened although the last one is not open yet. */
const openMilliseconds = 100;
/** Pause after PostgreSQL has refused a connection. */
const refusalPauseMilliseconds = 100;
/** How long closing waits for connections to end. */
const closeMilliseconds = 2000;
/** Connections that only `main` gets, because requests of applications also read `main`; one if the budget is small. */
const reservedConnections = 2;
const smallBudget = 5;

const all = new WeakMap<ConnectionBudget, SharedConnections>();

/**
 * The connections of a server to one PostgreSQL, which its applications share.
 *
 * An idle connection belongs to the application that used it last, and keeps its statements prepared for it. If another application needs
 * a connection, it gets one that was not used for a moment, which costs a round trip; or a new one, if there is none and the
 * budget permits; or else the idle connection that was not used for the longest time. Applications that wait get connections in turn.
 */
export class SharedConnections {
  /** Named locks of the applications. */
  readonly locks: NamedLocks;
  readonly #url: string;
  readonly #budget: ConnectionBudget;
  /** Pools of open applications. */
  readonly #pools = new Set<ConnectionPool>();
  /** Pools with requests that wait, the next one first. */
  readonly #waiting = new Set<ConnectionPool>();
  /** Idle connections, the one that was not used for the longest time first. */
  readonly #idle: SharedConnection[] = [];
  /** All connections that are open or being opened. */
  readonly #connections = new Set<SharedConnection>();
  /** How many connections are lent to pools without a reserve. */
  #lentWithoutReserve = 0;
  #poolsWithReserve = 0;
  /** Connections that are being opened, for {@link openMilliseconds}. */
  readonly #opening = new Set<SharedConnection>();
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #sweeping: NodeJS.Timeout | null = null;
  #serving: NodeJS.Timeout | null = null;

  /** The connections under a budget. All of them lead to the same database. */
  static of(budget: ConnectionBudget, url: string): SharedConnections {
    const existing = all.get(budget);
    if (existing) return existing;
    const created = new SharedConnections(budget, url);
    all.set(budget, created);
    return created;
  }

  private constructor(budget: ConnectionBudget, url: string) {
    this.#url = url;
    this.#budget = budget;
    this.locks = new NamedLocks(() => new budget.client({ connectionString: url }));
    budget.setIdleConnections({
      endIdle: () => {
        const [oldest] = this.#idle;
        if (oldest) this.#end(oldest);
        else this.locks.endIdle();
      },
      useFree: () => this.#serve(),
    });
  }

  add(pool: ConnectionPool): void {
    this.#pools.add(pool);
    if (pool.hasReserve) this.#poolsWithReserve += 1;
    this.#sweeping ??= setInterval(() => this.#sweep(), sweepMilliseconds).unref();
  }

  /** @throws DatabaseFault `unavailable` if no connection becomes free in time. */
  acquire(pool: ConnectionPool): Promise<SharedConnection> {
    if (this.#mayLendTo(pool)) {
      const own = this.#takeIdle(pool.schema);
      if (own) {
        this.#noteLent(pool, 1);
        return Promise.resolve(own);
      }
    }
    return new Promise((resolve, reject) => {
      pool.requests.push(createRequest(resolve, reject));
      this.#waiting.add(pool);
      this.#serve();
    });
  }

  /** @param isBroken whether it must be closed. */
  release(pool: ConnectionPool, connection: SharedConnection, isBroken: boolean): void {
    this.#noteLent(pool, -1);
    this.#keep(connection, isBroken);
    this.#serve();
  }

  /** Takes back the connections of a pool. The connections are closed with the last pool. */
  async remove(pool: ConnectionPool): Promise<void> {
    this.#waiting.delete(pool);
    if (this.#pools.delete(pool) && pool.hasReserve) this.#poolsWithReserve -= 1;
    if (this.#pools.size === 0) return this.#close();
    if (![...this.#pools].some(({ schema }) => schema === pool.schema)) this.#disown(pool.schema);
    this.#serve();
  }

  /** Makes the idle connections of a schema the first ones that other schemas get. */
  #disown(schema: string): void {
    const owned = this.#idle.filter((each) => each.schema === schema);
    for (const each of owned) {
      this.#idle.splice(this.#idle.indexOf(each), 1);
      each.idleSince = performance.now() - handOverMilliseconds;
    }
    this.#idle.unshift(...owned);
  }

  async #close(): Promise<void> {
    for (const timer of [this.#sweeping, this.#serving]) if (timer) clearTimeout(timer);
    this.#sweeping = null;
    this.#serving = null;
    const ended = [...this.#idle].map(({ client }) => new Promise((resolve) => void client.once('end', resolve)));
    for (const each of [...this.#idle]) this.#end(each);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, closeMilliseconds);
    await Promise.race([Promise.all([...ended, this.locks.close()]), late]).finally(() => clearTimeout(timer));
  }

  /** Serves requests that wait: one of each pool, and so on, as long as there are connections. */
  #serve(): void {
    if (this.#waiting.size > 0 && (this.#idle.length > 0 || this.#mayOpen())) this.#serveInTurn();
    if (this.#waiting.size > 0) this.#serveLater();
  }

  #serveInTurn(): void {
    const blocked: ConnectionPool[] = [];
    for (const pool of this.#waiting) {
      this.#waiting.delete(pool);
      while (pool.requests[0]?.hasEnded) pool.requests.shift();
      const [request] = pool.requests;
      if (!request) continue;
      if (this.#serveRequest(pool, request)) this.#waiting.add(pool);
      else blocked.push(pool);
    }
    for (const each of blocked) this.#waiting.add(each);
  }

  /** PostgreSQL does not report when it has connections again. */
  #serveLater(): void {
    if (!this.#budget.isRefused || this.#serving) return;
    this.#serving = setTimeout(
      () => {
        this.#serving = null;
        this.#serve();
      },
      refusalPauseMilliseconds * (1 + Math.random()),
    );
  }

  /** @returns whether the request gets a connection. If not, it waits for the first one that is free, and one may be opened. */
  #serveRequest(pool: ConnectionPool, request: ConnectionRequest): boolean {
    if (!this.#mayLendTo(pool)) return false;
    const connection = this.#takeIdle(pool.schema) ?? this.#takeUnused();
    if (!connection) {
      if (this.#mayOpen()) this.#openForNext(pool);
      return false;
    }
    pool.requests.shift();
    this.#noteLent(pool, 1);
    if (connection.schema === pool.schema) this.#deliver(pool, request, connection);
    else this.#handOver(pool, request, connection);
    return true;
  }

  #mayLendTo(pool: ConnectionPool): boolean {
    if (pool.lent >= pool.size) return false;
    if (pool.hasReserve || this.#poolsWithReserve === 0) return true;
    const { size } = this.#budget;
    const reserved = size <= smallBudget ? 1 : reservedConnections;
    return this.#lentWithoutReserve < Math.max(1, size - reserved);
  }

  /**
   * One is opened at a time: opening takes as long as twenty reads, so one of those in use is most likely free before. After a refusal,
   * those that are open are shared for a moment. If there are none, opening one is tried from time to time.
   */
  #mayOpen(): boolean {
    if (this.#budget.free === 0 || this.#opening.size > 0) return false;
    return !this.#budget.isRefused || (this.#connections.size === 0 && performance.now() >= this.#pausedUntil);
  }

  #noteLent(pool: ConnectionPool, change: 1 | -1): void {
    pool.lent += change;
    if (!pool.hasReserve) this.#lentWithoutReserve += change;
  }

  /** An idle connection of a schema: the one that was used last, whose data PostgreSQL is most likely to have at hand. */
  #takeIdle(schema: string): SharedConnection | null {
    for (let index = this.#idle.length - 1; index >= 0; index -= 1)
      if (this.#idle[index]?.schema === schema) return this.#idle.splice(index, 1)[0] ?? null;
    return null;
  }

  /** An idle connection of any schema, if it is cheaper than a new one. */
  #takeUnused(): SharedConnection | null {
    const [oldest] = this.#idle;
    if (!oldest) return null;
    const isInUse = performance.now() - oldest.idleSince < handOverMilliseconds;
    if (isInUse && (this.#opening.size > 0 || this.#mayOpen())) return null;
    this.#idle.shift();
    return oldest;
  }

  #deliver(pool: ConnectionPool, request: ConnectionRequest, connection: SharedConnection): void {
    if (!request.resolve(connection)) this.release(pool, connection, false);
  }

  #handOver(pool: ConnectionPool, request: ConnectionRequest, connection: SharedConnection): void {
    processCounters.connectionHandOvers += 1;
    connection.handOver(pool.schema).then(
      () => this.#deliver(pool, request, connection),
      () => {
        this.#end(connection);
        this.#repeat(pool, request);
      },
    );
  }

  #openForNext(pool: ConnectionPool): void {
    const next = pool.requests.find(({ isOpening, hasEnded }) => !isOpening && !hasEnded);
    if (next) this.#open(pool, next);
  }

  /** @param request fails if the connection cannot be opened, unless it got another one before. */
  #open(pool: ConnectionPool, request: ConnectionRequest): void {
    request.isOpening = true;
    const connection = new SharedConnection(this.#url, this.#budget, pool.schema);
    this.#connections.add(connection);
    const removeIdle = (): void => {
      const index = this.#idle.indexOf(connection);
      if (index >= 0) this.#idle.splice(index, 1);
    };
    // A lost connection reports an error some time before it ends.
    connection.client.on('error', removeIdle);
    connection.client.once('end', () => {
      this.#connections.delete(connection);
      removeIdle();
    });
    this.#opening.add(connection);
    // One that takes long does not keep the others waiting.
    const late = setTimeout(() => {
      this.#opening.delete(connection);
      this.#serve();
    }, openMilliseconds);
    const opened = connection.client.connect().finally(() => {
      clearTimeout(late);
      this.#opening.delete(connection);
      request.isOpening = false;
    });
    opened.then(
      () => {
        // Nobody has used it, so any pool may have it.
        connection.idleSince = performance.now() - handOverMilliseconds;
        this.#idle.push(connection);
        this.#serve();
        const isUnused = this.#idle.includes(connection);
        if (isUnused && (this.#pools.size === 0 || this.#budget.isAwaited)) this.#end(connection);
      },
      (error: unknown) => {
        this.#connections.delete(connection);
        if ((error as { code?: unknown }).code === tooManyConnections) {
          this.#budget.noteRefusal();
          this.#pausedUntil = performance.now() + refusalPauseMilliseconds;
        } else request.reject(toPostgresFault(error));
        this.#serve();
      },
    );
  }

  /** Lets a request wait for another connection. */
  #repeat(pool: ConnectionPool, request: ConnectionRequest): void {
    this.#noteLent(pool, -1);
    if (!request.hasEnded && !pool.isClosed) {
      pool.requests.unshift(request);
      this.#waiting.add(pool);
    }
    this.#serve();
  }

  /** Keeps a connection that is not used any more, unless it cannot be used again or another one is needed. */
  #keep(connection: SharedConnection, isBroken: boolean): void {
    if (isBroken || !connection.isReusable || this.#pools.size === 0 || this.#budget.isAwaited) this.#end(connection);
    else {
      connection.idleSince = performance.now();
      this.#idle.push(connection);
    }
  }

  #end(connection: SharedConnection): void {
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    connection.end();
  }

  /** Ends connections that were idle for long. */
  #sweep(): void {
    const now = performance.now();
    for (const each of [...this.#idle]) if (now - each.idleSince > idleMilliseconds) this.#end(each);
  }
}

function createRequest(
  resolve: (connection: SharedConnection) => void,
  reject: (error: Error) => void,
): ConnectionRequest {
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
    clearTimeout(timer);
    processCounters.connectionsWaiting -= 1;
  };
  const timer = setTimeout(() => {
    end();
    reject(createNoConnectionFault());
  }, connectionWaitMilliseconds);
  processCounters.connectionsWaiting += 1;
  return {
    isOpening: false,
    resolve: (connection) => {
      if (hasEnded) return false;
      end();
      resolve(connection);
      return true;
    },
    reject: (error) => {
      if (hasEnded) return;
      end();
      reject(error);
    },
    get hasEnded() {
      return hasEnded;
    },
  };
}
