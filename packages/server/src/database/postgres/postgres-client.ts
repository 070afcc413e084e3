import { Socket } from 'node:net';
import pg from 'pg';
import { limits } from '../../protocol/limits.ts';
import type { Row } from '../database.ts';
import { PreparedQuery, type PreparedStatement } from './prepared-query.ts';

/** A query, and how many milliseconds its reply may take. */
type TimedQuery = pg.QueryConfig & { readonly query_timeout?: number };
type EndCallback = (error: Error) => void;
type Settle<T> = (error: Error | null | undefined, result: T) => void;

/** How long PostgreSQL may take to accept a connection. */
const connectMilliseconds = 5000;
/** How long a connection may take to end before its socket is closed. */
const endMilliseconds = 1000;
/** A silent peer is probed after this long without traffic. */
const keepAliveMilliseconds = 10_000;

/**
 * How long the client waits for the reply to a statement that PostgreSQL itself ends after `statementMilliseconds`. Past that, the
 * connection is considered lost.
 */
export function replyMilliseconds(statementMilliseconds: number): number {
  return statementMilliseconds + 3000;
}

/**
 * The only client class for PostgreSQL. A connection that is lost at any moment only fails the query that runs on it, and nothing
 * waits forever for a silent one: connecting, replies and closing have time limits.
 */
export class PostgresClient extends pg.Client {
  readonly #socket: Socket;
  readonly #replyMilliseconds: number;

  /** @param config `query_timeout`: how long a reply may take, if the query sets no time of its own. */
  constructor({ query_timeout = replyMilliseconds(limits.queryMilliseconds), ...config }: pg.ClientConfig = {}) {
    const socket = new Socket();
    super({
      connectionTimeoutMillis: connectMilliseconds,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMilliseconds,
      ...config,
      stream: () => socket,
    });
    this.#socket = socket;
    this.#replyMilliseconds = query_timeout;
    // The query that runs, or the next one, fails. Without a listener the process would end.
    this.on('error', () => {});
  }

  override query<R extends unknown[]>(query: TimedQuery & pg.QueryArrayConfig): Promise<pg.QueryArrayResult<R>>;
  override query<R extends pg.QueryResultRow>(
    query: string | TimedQuery,
    values?: unknown[],
  ): Promise<pg.QueryResult<R>>;
  /** The forms with a callback are not supported. */
  override query(...parameters: never): never;
  /**
   * Runs a statement. If the reply takes too long, the connection is closed and the query fails.
   *
   * The promises and time limits of pg itself are not used: they assign function expressions to a property, which V8 allocates in
   * the old generation, and each of these functions reaches its query. The rows of every query would then stay in memory until a
   * full collection: 100 MB of a stream (2026-11).
   */
  override query(query: string | TimedQuery, values?: unknown[]): Promise<pg.QueryResult> {
    const limit = (typeof query === 'object' && query.query_timeout) || this.#replyMilliseconds;
    return this.#timed<pg.QueryResult>(limit, (settle) => super.query(new pg.Query(query, values, settle)));
  }

  /** Runs a statement that this connection has prepared. If the reply takes too long, the connection is closed and the query fails. */
  runPrepared(statement: PreparedStatement, values: readonly unknown[], milliseconds: number): Promise<Row[]> {
    return this.#timed<Row[]>(milliseconds, (settle) => super.query(new PreparedQuery(statement, values, settle)));
  }

  #timed<T>(milliseconds: number, start: (settle: Settle<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#socket.destroy(new Error('PostgreSQL did not reply in time')), milliseconds);
      start((error, result) => {
        clearTimeout(timer);
        if (error) reject(error);
        else resolve(result);
      });
    });
  }

  /** Starts a query of another kind, such as a COPY, which settles by itself and has no time limit. */
  submit<T extends pg.Submittable>(item: T): T {
    return super.query(item);
  }

  /** Forgets the names of prepared statements, after they were deallocated. */
  forgetStatements(): void {
    const { connection } = this as unknown as { readonly connection: { parsedStatements: object } };
    connection.parsedStatements = {};
  }

  override end(): Promise<void>;
  override end(callback: EndCallback): void;
  override end(callback?: EndCallback): Promise<void> | undefined {
    const timer = setTimeout(() => this.#socket.destroy(), endMilliseconds);
    this.#socket.once('close', () => clearTimeout(timer));
    if (!callback) return super.end().finally(() => clearTimeout(timer));
    super.end((error) => {
      clearTimeout(timer);
      callback(error);
    });
    return undefined;
  }
}
