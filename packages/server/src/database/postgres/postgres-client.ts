import { Socket } from 'node:net';
import pg from 'pg';
import { limits } from '../../protocol/limits.ts';

type Ended = (error: Error) => void;

/** How long PostgreSQL may take to accept a connection. */
const connectMilliseconds = 5000;
/** How long a connection may take to say goodbye before its socket is closed. */
const goodbyeMilliseconds = 1000;
/** A silent peer is probed after this long without traffic. */
const keepAliveMilliseconds = 10_000;

/**
 * How long the client waits for the reply to a statement that PostgreSQL itself ends after `statementMilliseconds`: past it, the
 * connection is taken for dead.
 */
export function replyMilliseconds(statementMilliseconds: number): number {
  return statementMilliseconds + 3000;
}

/**
 * The only kind of connection to PostgreSQL. A connection that is cut at any moment ends no more than the query that runs on it, and
 * nothing waits without end for one that has gone silent: connecting, replies and closing have time limits.
 */
export class PostgresClient extends pg.Client {
  readonly #socket: Socket;

  constructor(config: pg.ClientConfig = {}) {
    const socket = new Socket();
    super({
      connectionTimeoutMillis: connectMilliseconds,
      query_timeout: replyMilliseconds(limits.queryMilliseconds),
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMilliseconds,
      ...config,
      stream: () => socket,
    });
    this.#socket = socket;
    // The query that runs, or the next one, fails. Without a listener the process would end.
    this.on('error', () => {});
  }

  override end(): Promise<void>;
  override end(callback: Ended): void;
  override end(callback?: Ended): Promise<void> | undefined {
    const timer = setTimeout(() => this.#socket.destroy(), goodbyeMilliseconds);
    this.#socket.once('close', () => clearTimeout(timer));
    if (!callback) return super.end().finally(() => clearTimeout(timer));
    super.end((error) => {
      clearTimeout(timer);
      callback(error);
    });
    return undefined;
  }
}
