import { createHash } from 'node:crypto';
import type pg from 'pg';
import { LruMap } from '../../base/lru-map.ts';
import { limits } from '../../protocol/limits.ts';
import {
  type BoundStatement,
  type Database,
  DatabaseFault,
  type Row,
  StaleVersion,
  type Transaction,
  type TransactionOptions,
} from '../database.ts';
import type { StatementAccess } from '../statement-access.ts';
import type { ConnectionBudget } from './connection-budget.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { inspectPostgresStatement } from './postgres-access.ts';
import { replyMilliseconds } from './postgres-client.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { PostgresEventLog } from './postgres-event-log.ts';
import { isConnectionLost, toCommitFault, toPostgresFault } from './postgres-fault.ts';
import { postgresFullText } from './postgres-full-text.ts';
import { plannedEachTime } from './postgres-search-index.ts';
import type { ColumnParser } from './prepared-query.ts';
import type { SharedConnection } from './shared-connection.ts';

export interface PostgresOptions {
  readonly url: string;
  /** The schema of this application's tables. */
  readonly schema: string;
  /** Maximum number of connections that the application uses at the same time. */
  readonly poolSize: number;
  /** Whether some connections are reserved for it. */
  readonly hasReserve?: boolean;
  /** Shared by the applications of a server. */
  readonly budget: ConnectionBudget;
  /** Whether to refuse a server that may lose acknowledged writes in a crash. */
  readonly requireDurable: boolean;
}

const acquireLock = 'SELECT pg_advisory_lock(hashtext(current_schema()),hashtext($1))';
const releaseLock = 'SELECT pg_advisory_unlock(hashtext(current_schema()),hashtext($1))';
const maxAttempts = 6;
/** Runs after which a statement is prepared under a name on each connection. */
const runsBeforeNamed = 3;
const namedPerConnection = 500;
/** A longer statement is planned each time: a prepared one would take megabytes on every connection. */
const maxNamedLength = 32 * 1024;
/** Searches are planned for their words each time: a generic plan reads all records with a common word. */
const plannedMarkers = ['::tsquery', plannedEachTime];
/** How long a server waits for the start of another one. */
const startupLockMilliseconds = 60_000;
/** Index builds and conversions. */
const longRunningMilliseconds = 600_000;
/** Builds of search indexes, which block neither reads nor writes. */
const indexBuildMilliseconds = 6 * 3_600_000;
const cancelMilliseconds = 100;
const defaultReplyMilliseconds = replyMilliseconds(limits.queryMilliseconds);

/** Result types: numbers, booleans, and text for everything else. */
const types = {
  getTypeParser: (oid: number): ColumnParser => {
    if (oid === 16) return (text) => text === 't';
    if (oid === 20) return (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
    return oid === 21 || oid === 23 || oid === 700 || oid === 701 ? Number : (text) => text;
  },
};

/**
 * An application's schema in PostgreSQL, on connections that it shares with others. Any number of servers may share it.
 *
 * Writes run REPEATABLE READ and are retried a few times when they collide. With `synchronous_commit`, the reply to a commit means that it
 * is durable.
 */
export class PostgresDatabase implements Database {
  readonly dialect = postgresDialect;
  readonly multiNode = true;
  readonly eventLog = new PostgresEventLog(this);
  readonly fullText = postgresFullText;
  readonly #pool: ConnectionPool;
  readonly #runs = new LruMap<{ count: number; name: string }>({
    entries: namedPerConnection,
    bytes: 8 * 1024 * 1024,
    keyLength: maxNamedLength,
    sizeOf: 150,
  });

  /** @param pool of the schema. It is closed with the database. */
  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  async read(statements: readonly BoundStatement[]): Promise<Row[][]> {
    const [only] = statements;
    if (only && statements.length === 1) return [await this.#lent((connection) => this.#run(connection, only))];
    // Without a transaction, each statement would see another state.
    const all = async ({ run }: Transaction): Promise<Row[][]> => {
      const results: Row[][] = [];
      for (const statement of statements) results.push(await run(statement));
      return results;
    };
    return this.#transaction(all, {}).catch((error: unknown) => {
      // The commit of a read has no outcome that could be unknown.
      throw isUnknown(error) ? new DatabaseFault('unavailable', (error as DatabaseFault).cause) : error;
    });
  }

  async writeOne(statement: BoundStatement): Promise<Row[]> {
    const runStatement = (connection: SharedConnection): Promise<Row[]> =>
      this.#run(connection, statement).catch((error: unknown) => Promise.reject(toCommitFault(error)));
    return retryOnCollision(() => this.#lent(runStatement));
  }

  async write<T>(work: (transaction: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const result = await retryOnCollision(() => this.#transaction(work, options));
    await options.afterCommit?.();
    return result;
  }

  async readStoredBytes(): Promise<number> {
    const size = { text: 'SELECT pg_database_size(current_database())::float8', values: [] };
    const [rows] = await this.read([size]);
    return Number(rows?.[0]?.[0]);
  }

  /** Nothing is written: the database answers, and it is neither a standby nor set to be read only. */
  async probeWrite(): Promise<string | null> {
    const setting = { text: "SELECT current_setting('transaction_read_only')", values: [] };
    const [rows] = await this.read([setting]);
    return rows?.[0]?.[0] === 'on'
      ? 'The database is read only: it is a standby, or default_transaction_read_only is on.'
      : null;
  }

  inspect(statement: BoundStatement): Promise<StatementAccess> {
    return inspectPostgresStatement({ read: (statements) => this.read(statements) }, statement);
  }

  changeCounter(): null {
    return null;
  }

  withStartupLock<T>(work: () => Promise<T>): Promise<T> {
    return this.#pool.withStartupLock(startupLockMilliseconds, work);
  }

  tryWithLock<T>(name: string, work: () => Promise<T>): Promise<T | null> {
    return this.#pool.tryWithLock(name, work);
  }

  async runOutsideTransaction(text: string, signal?: AbortSignal): Promise<Row[]> {
    const connection = await this.#pool.acquire();
    // A cancellation that arrives before the statement ends nothing, so it is repeated.
    const cancelling = setInterval(() => {
      if (signal?.aborted) this.#cancel(connection).catch(() => {});
    }, cancelMilliseconds);
    try {
      for (const limit of ['statement_timeout', 'lock_timeout'])
        await this.#run(connection, { text: `SET ${limit}=0`, values: [] });
      return await this.#run(connection, { text, values: [] }, indexBuildMilliseconds);
    } finally {
      clearInterval(cancelling);
      this.#pool.release(connection, true);
    }
  }

  /** Ends what a connection runs. */
  async #cancel(connection: SharedConnection): Promise<void> {
    const { processID } = connection.client as { processID?: number };
    await this.read([{ text: 'SELECT pg_cancel_backend($1::int4)', values: [processID ?? null] }]);
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    { longRunning, rebuild, lockKey, snapshot }: TransactionOptions,
  ): Promise<T> {
    // All servers take locks in the same order, so that no two wait for each other.
    const lockKeys = [...new Set(lockKey === undefined ? [] : [lockKey].flat())].sort();
    const acquired: string[] = [];
    const connection = await this.#pool.acquire();
    const isLongRunning = longRunning === true || rebuild === true;
    const reply = isLongRunning ? replyMilliseconds(longRunningMilliseconds) : defaultReplyMilliseconds;
    const durableWork: (() => void)[] = [];
    let broken: Error | undefined;
    let hasEnded = false;
    try {
      // Before the transaction, whose snapshot is fixed by its first statement, even if that waits.
      for (const each of lockKeys) {
        await this.#run(connection, { text: acquireLock, values: [each] });
        acquired.push(each);
      }
      await begin(connection, snapshot?.version ?? null);
      // Longer than any read: a change of a table's structure waits for reads to end.
      if (isLongRunning)
        for (const limit of [`statement_timeout=${longRunningMilliseconds}`, 'lock_timeout=6000'])
          await this.#run(connection, { text: `SET LOCAL ${limit}`, values: [] });
      // A statement that comes too late would run in the application that has the connection then.
      const run = (statement: BoundStatement): Promise<Row[]> =>
        hasEnded ? Promise.reject(transactionEnded()) : this.#run(connection, statement, reply);
      const result = await work({
        run,
        touch: () => {},
        afterDurable: (each) => void durableWork.push(each),
      });
      hasEnded = true;
      await this.#run(connection, { text: 'COMMIT', values: [] }, reply).catch((error: unknown) => {
        throw toCommitFault(error);
      });
      for (const each of durableWork) each();
      return result;
    } catch (error) {
      hasEnded = true;
      if (isConnectionLost(error) || isUnknown(error)) broken = error as Error;
      else
        await connection.client.query('ROLLBACK').catch((failure: Error) => {
          broken = failure;
        });
      throw error;
    } finally {
      // A lost connection has released its locks.
      for (const each of broken ? [] : acquired)
        await connection.client.query(releaseLock, [each]).catch((failure: Error) => {
          broken = failure;
        });
      this.#pool.release(connection, broken !== undefined || isFull(connection));
    }
  }

  /**
   * Runs one statement on a connection from the pool. A connection is closed only if it is lost, since opening one takes
   * milliseconds, or if it has prepared too many statements.
   */
  async #lent(work: (connection: SharedConnection) => Promise<Row[]>): Promise<Row[]> {
    const connection = await this.#pool.acquire();
    try {
      const rows = await work(connection);
      this.#pool.release(connection, isFull(connection));
      return rows;
    } catch (error) {
      this.#pool.release(connection, isConnectionLost(error) || isUnknown(error) || isFull(connection));
      throw error;
    }
  }

  /** @param replyTimeout milliseconds that the reply may take. */
  async #run(
    connection: SharedConnection,
    statement: BoundStatement,
    replyTimeout = defaultReplyMilliseconds,
  ): Promise<Row[]> {
    const { client, prepared } = connection;
    const name = this.#nameOf(statement.text);
    const known = name === null ? null : prepared.get(name);
    try {
      if (known) return await client.runPrepared(known, statement.values, replyTimeout);
      if (name !== null) prepared.set(name, null);
      const query = {
        text: statement.text,
        values: statement.values as unknown[],
        rowMode: 'array' as const,
        types,
        query_timeout: replyTimeout,
        ...(name && { name }),
      };
      const { rows, fields } = (await client.query(query)) as unknown as { rows: Row[]; fields: pg.FieldDef[] };
      if (name !== null)
        prepared.set(name, { name, columns: fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID)) });
      return rows;
    } catch (error) {
      throw toPostgresFault(error);
    }
  }

  #nameOf(text: string): string | null {
    if (text.length > maxNamedLength || plannedMarkers.some((each) => text.includes(each))) return null;
    const runs = this.#runs.get(text);
    if (!runs) {
      this.#runs.set(text, { count: 1, name: createHash('sha1').update(text).digest('base64url') });
      return null;
    }
    runs.count += 1;
    return runs.count > runsBeforeNamed && text.length > 10 ? runs.name : null;
  }
}

/**
 * Begins a transaction. If a version is given, the store's version is read in the same round trip, which fixes the transaction's
 * snapshot: all statements of the transaction see the current version, so none can confuse a stale version with an empty result.
 *
 * @throws StaleVersion when the store has another version.
 */
async function begin(connection: SharedConnection, version: number | null): Promise<void> {
  const text = version === null ? 'BEGIN' : 'BEGIN; SELECT version FROM _meta';
  const results: unknown = await connection.client.query({ text, rowMode: 'array', types }).catch((error: unknown) => {
    throw toPostgresFault(error);
  });
  if (version === null) return;
  const [, found] = results as readonly { readonly rows: Row[] }[];
  if (Number(found?.rows[0]?.[0]) !== version) throw new StaleVersion();
}

const transactionEnded = (): Error => new Error('The transaction of this statement has ended.');

/** Whether too many statements were prepared for the owner of a connection. */
function isFull({ prepared }: SharedConnection): boolean {
  return prepared.size > 2 * namedPerConnection;
}

function isUnknown(error: unknown): boolean {
  return error instanceof DatabaseFault && error.kind === 'unknownOutcome';
}

/** Serialisation failures and deadlocks change nothing: the transaction was rolled back and is run again. */
async function retryOnCollision<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseFault) || error.kind !== 'collision' || attempt === maxAttempts) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * 2 ** attempt));
    }
  }
}
