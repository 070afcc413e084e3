import type pg from 'pg';
import { processCounters } from '../../base/metrics.ts';
import { DatabaseFault } from '../database.ts';
import { PostgresClient } from './postgres-client.ts';

type ConnectCallback = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** How long a request waits for a connection. */
export const connectionWaitMilliseconds = 10_000;
/** How long no connection is opened after PostgreSQL refused one. */
const refusalBackoffMilliseconds = 1000;

/**
 * Limits the connections of all pools of a server together. PostgreSQL refuses connections past its own limit, so a pool that
 * needs one more waits until another connection ends. Pools of applications keep idle connections for a short time only.
 */
export class ConnectionBudget {
  /** The client class for pools under this budget. */
  readonly client: typeof PostgresClient;
  readonly #waiting = new Set<() => void>();
  #free: number;
  #size: number;
  #refusedUntil = Number.NEGATIVE_INFINITY;

  /** @param settings options of each session, like `-c name=value`, in addition to those of its pool. */
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

  /** Connections that may be opened now without waiting. */
  get free(): number {
    return performance.now() < this.#refusedUntil ? 0 : Math.max(0, this.#free);
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
  }
}

/** The fault of a request that got no connection in time. */
export function createNoConnectionFault(): DatabaseFault {
  return new DatabaseFault('unavailable', new Error('No connection to PostgreSQL became free in time.'));
}
