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
import { ConnectionPool } from './connection-pool.ts';
import { NamedLocks } from './named-locks.ts';
import { inspectPostgresStatement } from './postgres-access.ts';
import { replyMilliseconds } from './postgres-client.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { PostgresEventLog } from './postgres-event-log.ts';
import { isConnectionLost, toCommitFault, toPostgresFault } from './postgres-fault.ts';
import { postgresFullText } from './postgres-full-text.ts';
import { plannedEachTime } from './postgres-search-index.ts';

export interface PostgresOptions {
  readonly url: string;
  /** The schema of this application's tables. */
  readonly schema: string;
  readonly poolSize: number;
  /** How long an unused connection is kept. */
  readonly idleMilliseconds: number;
  /** Shared by the applications of a server. */
  readonly budget: ConnectionBudget;
  /** Whether to refuse a server that may lose acknowledged writes in a crash. */
  readonly requireDurable: boolean;
}

const acquireLock = 'SELECT pg_advisory_lock(hashtext(current_schema()),hashtext($1))';
const releaseLock = 'SELECT pg_advisory_unlock(hashtext(current_schema()),hashtext($1))';
const acquireStartupLock = "SELECT pg_advisory_lock(hashtext('tablinum'),hashtext(current_schema()))";
/** TCP keepalives, so that the locks of a server that has vanished from the network are released within a minute. */
const peerProbes = '-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3';
/**
 * Values are exchanged as text, so the time zone and number format must not depend on the server's settings. JIT takes seconds for
 * statements of deep appends that run in milliseconds.
 */
const sessionSettings =
  '-c timezone=UTC -c extra_float_digits=1 -c jit=off -c default_transaction_isolation=repeatable\\ read ' +
  `-c statement_timeout=${limits.queryMilliseconds} -c lock_timeout=2000 -c idle_in_transaction_session_timeout=30000`;
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
const aloneMilliseconds = 6 * 3_600_000;
const cancelMilliseconds = 100;
const defaultReplyMilliseconds = replyMilliseconds(limits.queryMilliseconds);

/** Result types: numbers, booleans, and text for everything else. */
const types = {
  getTypeParser: (oid: number) => {
    if (oid === 16) return (text: string) => text === 't';
    if (oid === 20) return (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
    return oid === 21 || oid === 23 || oid === 700 || oid === 701 ? Number : (text: string) => text;
  },
} as unknown as pg.CustomTypesConfig;

/**
 * An application's schema in PostgreSQL, on a pool of connections. Any number of servers may share it.
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
  readonly #underWay: NamedLocks;
  readonly #runs = new LruMap<{ count: number; name: string }>({
    entries: namedPerConnection,
    bytes: 8 * 1024 * 1024,
    keyLength: maxNamedLength,
    sizeOf: 150,
  });
  /** Names that each connection has prepared; the server holds a plan for each until the connection ends. */
  readonly #prepared = new WeakMap<pg.PoolClient, Set<string>>();

  constructor(options: PostgresOptions) {
    const { url, schema, budget } = options;
    this.#underWay = new NamedLocks(
      () => new budget.client({ connectionString: url, options: `-c search_path=${schema}` }),
    );
    this.#pool = new ConnectionPool({
      connectionString: options.url,
      size: options.poolSize,
      idleMilliseconds: options.idleMilliseconds,
      budget,
      types,
      options: `-c search_path=${options.schema} ${sessionSettings} ${peerProbes}`,
    });
  }

  async read(statements: readonly BoundStatement[]): Promise<Row[][]> {
    const [only] = statements;
    if (only && statements.length === 1) return [await this.#lent((client) => this.#run(client, only))];
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
    const runStatement = (client: pg.PoolClient): Promise<Row[]> =>
      this.#run(client, statement).catch((error: unknown) => Promise.reject(toCommitFault(error)));
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

  /** The lock ends with its connection, also if this process dies. */
  async withStartupLock<T>(work: () => Promise<T>): Promise<T> {
    const client = await this.#pool.acquire();
    try {
      for (const limit of ['statement_timeout', 'lock_timeout'])
        await this.#run(client, { text: `SET ${limit}=${startupLockMilliseconds}`, values: [] });
      await this.#run(client, { text: acquireStartupLock, values: [] }, replyMilliseconds(startupLockMilliseconds));
      return await work();
    } finally {
      client.release(true);
    }
  }

  async tryWithLock<T>(name: string, work: () => Promise<T>): Promise<T | null> {
    return this.#underWay.tryWithLock(name, work);
  }

  async runOutsideTransaction(text: string, signal?: AbortSignal): Promise<Row[]> {
    const client = await this.#pool.acquire();
    // A cancellation that arrives before the statement ends nothing, so it is repeated.
    const cancelling = setInterval(() => {
      if (signal?.aborted) this.#cancel(client).catch(() => {});
    }, cancelMilliseconds);
    try {
      for (const limit of ['statement_timeout', 'lock_timeout'])
        await this.#run(client, { text: `SET ${limit}=0`, values: [] });
      return await this.#run(client, { text, values: [] }, aloneMilliseconds);
    } finally {
      clearInterval(cancelling);
      client.release(true);
    }
  }

  /** Ends what a connection runs. */
  async #cancel(client: pg.PoolClient): Promise<void> {
    const { processID } = client as { processID?: number };
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
    const client = await this.#pool.acquire();
    const isLongRunning = longRunning === true || rebuild === true;
    const reply = isLongRunning ? replyMilliseconds(longRunningMilliseconds) : defaultReplyMilliseconds;
    const durableWork: (() => void)[] = [];
    let broken: Error | undefined;
    try {
      // Before the transaction, whose snapshot is fixed by its first statement, even if that waits.
      for (const each of lockKeys) {
        await this.#run(client, { text: acquireLock, values: [each] });
        acquired.push(each);
      }
      await begin(client, snapshot?.version ?? null);
      // Longer than any read: a change of a table's structure waits for reads to end.
      if (isLongRunning)
        for (const limit of [`statement_timeout=${longRunningMilliseconds}`, 'lock_timeout=6000'])
          await this.#run(client, { text: `SET LOCAL ${limit}`, values: [] });
      const result = await work({
        run: (statement) => this.#run(client, statement, reply),
        touch: () => {},
        afterDurable: (each) => void durableWork.push(each),
      });
      await this.#run(client, { text: 'COMMIT', values: [] }, reply).catch((error: unknown) => {
        throw toCommitFault(error);
      });
      for (const each of durableWork) each();
      return result;
    } catch (error) {
      if (isConnectionLost(error) || isUnknown(error)) broken = error as Error;
      else
        await client.query('ROLLBACK').catch((failure: Error) => {
          broken = failure;
        });
      throw error;
    } finally {
      // A lost connection has released its locks.
      for (const each of broken ? [] : acquired)
        await client.query(releaseLock, [each]).catch((failure: Error) => {
          broken = failure;
        });
      client.release(broken ?? this.#isFull(client));
    }
  }

  /**
   * Runs one statement on a connection from the pool. A connection is closed only if it is lost, since opening one takes
   * milliseconds, or if it has prepared too many statements.
   */
  async #lent(work: (client: pg.PoolClient) => Promise<Row[]>): Promise<Row[]> {
    const client = await this.#pool.acquire();
    try {
      const rows = await work(client);
      client.release(this.#isFull(client));
      return rows;
    } catch (error) {
      client.release(isConnectionLost(error) || isUnknown(error) || this.#isFull(client));
      throw error;
    }
  }

  #isFull(client: pg.PoolClient): boolean {
    return (this.#prepared.get(client)?.size ?? 0) > 2 * namedPerConnection;
  }

  /** @param replyTimeout milliseconds that the reply may take. */
  async #run(
    client: pg.PoolClient,
    statement: BoundStatement,
    replyTimeout = defaultReplyMilliseconds,
  ): Promise<Row[]> {
    const name = this.#nameOf(statement.text);
    if (name !== null) this.#notePrepared(client, name);
    try {
      const query = {
        text: statement.text,
        values: statement.values as unknown[],
        rowMode: 'array' as const,
        types,
        query_timeout: replyTimeout,
        ...(name && { name }),
      };
      const result = (await client.query(query)) as unknown as { rows: Row[] };
      return result.rows;
    } catch (error) {
      throw toPostgresFault(error);
    }
  }

  #notePrepared(client: pg.PoolClient, name: string): void {
    const names = this.#prepared.get(client) ?? new Set();
    this.#prepared.set(client, names.add(name));
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
async function begin(client: pg.PoolClient, version: number | null): Promise<void> {
  const text = version === null ? 'BEGIN' : 'BEGIN; SELECT version FROM _meta';
  const results: unknown = await client.query({ text, rowMode: 'array', types }).catch((error: unknown) => {
    throw toPostgresFault(error);
  });
  if (version === null) return;
  const [, found] = results as readonly { readonly rows: Row[] }[];
  if (Number(found?.rows[0]?.[0]) !== version) throw new StaleVersion();
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
