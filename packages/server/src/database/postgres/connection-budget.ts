import type pg from 'pg';
import { processCounters } from '../../base/metrics.ts';
import { DatabaseFault } from '../database.ts';
import { PostgresClient } from './postgres-client.ts';

type ConnectCallback = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** How long a request waits for a connection. */
export const connectionWaitMilliseconds = 10_000;
/** How long no connection is opened after PostgreSQL refused one. */
const refusalBackoffMilliseconds = 1000;

/** Keeps idle connections of a budget. */
export interface IdleConnections {
  /** Ends an idle connection, because another one is needed. */
  endIdle(): void;
  /** A connection has ended, and nothing else waits for one. */
  useFree(): void;
}

/**
 * Limits the connections of a server to one PostgreSQL. PostgreSQL refuses connections past its own limit, so whatever needs one more
 * waits until another connection ends.
 */
export class ConnectionBudget {
  /** The client class for connections under this budget. */
  readonly client: typeof PostgresClient;
  readonly #waiting = new Set<() => void>();
  #free: number;
  #size: number;
  #refusedUntil = Number.NEGATIVE_INFINITY;
  #idle: IdleConnections | null = null;

  /** @param settings options of each session, like `-c name=value`, in addition to its own. */
  constructor(size: number, settings: string | null = null) {
    this.#size = size;
    this.#free = size;
    const acquire = (): Promise<void> => this.#take();
    const give = (): void => this.#give();
    this.client = class extends PostgresClient {
      constructor(config: pg.ClientConfig = {}) {
        super(
          settings === null ? config : { ...config, options: [config.options, settings].filter(Boolean).join(' ') },
        );
      }

      override connect(): Promise<pg.Client>;
      override connect(callback: ConnectCallback): void;
      override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
        const connected = acquire().then(() => {
          processCounters.connectionsOpen += 1;
          this.once('end', give);
          return super.connect();
        });
        if (!callback) return connected;
        connected.then(
          (client) => (callback as (error: null, client: pg.Client) => void)(null, client),
          (error: Error) => (callback as (error: Error) => void)(error),
        );
        return undefined;
      }
    };
  }

  /** Maximum number of connections. */
  get size(): number {
    return this.#size;
  }

  /** Connections that can be opened now without waiting. */
  get free(): number {
    return Math.max(0, this.#free);
  }

  /** Whether PostgreSQL has refused a connection a moment ago. */
  get isRefused(): boolean {
    return performance.now() < this.#refusedUntil;
  }

  /** Whether something waits for a connection to end. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Sets the holder of the idle connections. */
  setIdleConnections(idle: IdleConnections): void {
    this.#idle = idle;
  }

  /** Applies a lower limit of PostgreSQL, so that requests wait for a connection instead of being refused one. */
  lowerTo(size: number): void {
    if (size >= this.#size) return;
    this.#free -= this.#size - size;
    this.#size = size;
  }

  /** PostgreSQL refused a connection: for a moment no more are opened, and the open ones are shared. */
  noteRefusal(): void {
    this.#refusedUntil = performance.now() + refusalBackoffMilliseconds;
  }

  #take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    processCounters.connectionsWaiting += 1;
    return new Promise((resolve, reject) => {
      const next = (): void => {
        processCounters.connectionsWaiting -= 1;
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(next);
        processCounters.connectionsWaiting -= 1;
        reject(createNoConnectionFault());
      }, connectionWaitMilliseconds);
      this.#waiting.add(next);
      this.#idle?.endIdle();
    });
  }

  #give(): void {
    processCounters.connectionsOpen -= 1;
    this.#free += 1;
    if (this.#free <= 0) return; // the budget was lowered
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      this.#free -= 1;
      next();
      return;
    }
    this.#idle?.useFree();
  }
}

/** The fault of a request that got no connection in time. */
export function createNoConnectionFault(): DatabaseFault {
  return new DatabaseFault('unavailable', new Error('No connection to PostgreSQL became free in time.'));
}
