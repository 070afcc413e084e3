import pg from 'pg';
import { type ConnectionBudget, connectionWaitMilliseconds, createNoConnectionFault } from './connection-budget.ts';
import { tooManyConnections, toPostgresFault } from './postgres-fault.ts';

export interface PoolSettings extends pg.ClientConfig {
  readonly size: number;
  /** How long an unused connection is kept. */
  readonly idleMilliseconds: number;
  readonly budget: ConnectionBudget;
}

/** How long closing waits for connections to end. */
const closeMilliseconds = 2000;
const pauseMilliseconds = 100;

/**
 * The connections of one application. A request waits for a connection for a limited time. If none can be opened, because the
 * budget is used up or PostgreSQL refuses more, the open connections are shared.
 */
export class ConnectionPool {
  readonly #pool: pg.Pool;
  readonly #size: number;
  readonly #budget: ConnectionBudget;

  constructor({ size, idleMilliseconds, budget, ...config }: PoolSettings) {
    this.#size = size;
    this.#budget = budget;
    this.#pool = new pg.Pool({ ...config, max: size, idleTimeoutMillis: idleMilliseconds, Client: budget.client });
    // An idle connection that PostgreSQL drops is replaced by the pool; nothing was running on it.
    this.#pool.on('error', () => {});
  }

  /** Takes a connection out of the pool. @throws DatabaseFault `unavailable` if none becomes free in time. */
  async acquire(): Promise<pg.PoolClient> {
    const deadline = performance.now() + connectionWaitMilliseconds;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#next(deadline);
      } catch (error) {
        const pause = pauseMilliseconds * attempt * (0.5 + Math.random());
        const isFull = (error as { code?: unknown }).code === tooManyConnections;
        if (!isFull || performance.now() + pause >= deadline) throw toPostgresFault(error);
        this.#budget.noteRefusal();
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, closeMilliseconds);
    await Promise.race([this.#pool.end(), promise]).finally(() => clearTimeout(timer));
  }

  #next(deadline: number): Promise<pg.PoolClient> {
    const pool = this.#pool;
    if (pool.idleCount > 0) return pool.connect();
    // The pool lets a request that opens a connection wait for that one only, so it must not open one that the budget forbids.
    pool.options.max = Math.max(1, Math.min(this.#size, pool.totalCount + this.#budget.free));
    return withDeadline(pool.connect(), deadline);
  }
}

/** A connection that comes too late goes back. */
function withDeadline(connecting: Promise<pg.PoolClient>, deadline: number): Promise<pg.PoolClient> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(createNoConnectionFault());
    }, deadline - performance.now());
    connecting.then(
      (client) => {
        clearTimeout(timer);
        if (isLate) client.release();
        else resolve(client);
      },
      (error: Error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
