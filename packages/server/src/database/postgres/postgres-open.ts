import { DatabaseFault } from '../database.ts';
import type { ConnectionBudget } from './connection-budget.ts';
import { ConnectionPool } from './connection-pool.ts';
import { createSchemaOnce } from './create-schema.ts';
import type { PostgresClient } from './postgres-client.ts';
import { PostgresDatabase, type PostgresOptions } from './postgres-database.ts';
import { toPostgresFault } from './postgres-fault.ts';
import { runQuery } from './run-query.ts';

/** How long to wait for a PostgreSQL that does not accept connections yet. */
export interface ConnectRetry {
  readonly milliseconds: number;
  /** Is called for each failed attempt. */
  readonly report: (fault: DatabaseFault) => void;
}

const pauseMilliseconds = 1000;
/** Classes of errors that waiting does not solve: wrong password, wrong database name. */
const permanentErrors = /^(28|3D)/;

/** If one of them is off, a crash of the machine loses or damages acknowledged writes. */
export const durableSettings = ['synchronous_commit', 'fsync', 'full_page_writes'] as const;
/** The oldest version, as PostgreSQL numbers it. */
export const minServerVersion = 150_000;

/**
 * Opens an application's schema. Creates it if it does not exist and `mayCreate` is set.
 *
 * @throws Error when it is missing, when the server cannot be reached, is older than 15, is not UTF-8, or does not wait for its disk.
 */
export async function openPostgres(
  options: PostgresOptions,
  mayCreate: boolean,
  retry: ConnectRetry | null = null,
): Promise<PostgresDatabase> {
  const { url, schema, budget, poolSize: size, hasReserve = false } = options;
  const pool = new ConnectionPool({ url, schema, size, hasReserve, budget });
  try {
    await prepareSchema(pool, options, mayCreate, retry);
  } catch (error) {
    await pool.close();
    throw error;
  }
  return new PostgresDatabase(pool);
}

async function prepareSchema(
  pool: ConnectionPool,
  { schema, budget, requireDurable }: PostgresOptions,
  mayCreate: boolean,
  retry: ConnectRetry | null,
): Promise<void> {
  const connection = await repeatUntilConnected(() => pool.acquire(), retry);
  try {
    const [found] = await runQuery<ServerSettings>(connection.client, selectSettings, [durableSettings, schema]);
    checkServer(found, requireDurable);
    budget.lowerTo(Math.max(1, found.connections - 1));
    if (!found.exists && !mayCreate) throw new Error('the store is missing');
    if (!found.exists) await createSchemaOnce(connection.client, schema);
    pool.release(connection, false);
  } catch (error) {
    pool.release(connection, true);
    throw error;
  }
}

/**
 * `connections`: the maximum number of connections for this role, without those that are reserved for administrators.
 * One of them belongs to the group of servers, see {@link PostgresServerGroup}.
 */
const selectSettings = `SELECT current_setting('server_version_num')::int AS version,current_setting('server_encoding') AS encoding,
ARRAY(SELECT name FROM unnest($1::text[]) AS t(name) WHERE current_setting(name)='off') AS unsafe,
EXISTS(SELECT FROM pg_namespace WHERE nspname=$2) AS exists,
least(current_setting('max_connections')::int
-current_setting('superuser_reserved_connections')::int-coalesce(current_setting('reserved_connections',true)::int,0),
(SELECT nullif(rolconnlimit,-1) FROM pg_roles WHERE rolname=current_user AND NOT rolsuper),
(SELECT nullif(datconnlimit,-1) FROM pg_database WHERE datname=current_database())) AS connections`;

interface ServerSettings {
  readonly version: number;
  readonly encoding: string;
  /** The {@link durableSettings} that are off. */
  readonly unsafe: readonly string[];
  readonly exists: boolean;
  readonly connections: number;
}

/** @throws Error when the server is too old, has another encoding, or does not wait for its disk. */
function checkServer(
  settings: ServerSettings | undefined,
  requireDurable: boolean,
): asserts settings is ServerSettings {
  if (!settings || settings.version < minServerVersion) throw new Error('PostgreSQL 15 or newer is needed.');
  if (settings.encoding !== 'UTF8') throw new Error('The PostgreSQL database must be encoded in UTF8.');
  if (requireDurable && settings.unsafe.length > 0)
    throw new Error(
      `${settings.unsafe.join(' and ')} ${settings.unsafe.length > 1 ? 'are' : 'is'} off: a crash would lose acknowledged writes. ` +
        'Set it on, or DATABASE_DURABILITY to unchecked if that is acceptable',
    );
}

/** Opens a connection. @throws DatabaseFault, if `retry` is given after its time. */
export function connectWithRetry(
  { url, budget }: Pick<PostgresOptions, 'url' | 'budget'>,
  retry: ConnectRetry | null,
): Promise<PostgresClient> {
  const open = async (): Promise<PostgresClient> => {
    const client = new budget.client({ connectionString: url });
    await client.connect();
    return client;
  };
  return repeatUntilConnected(open, retry);
}

async function repeatUntilConnected<T>(connect: () => Promise<T>, retry: ConnectRetry | null): Promise<T> {
  const deadline = performance.now() + (retry?.milliseconds ?? 0);
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      const fault = toPostgresFault(error);
      if (!mayRecover(fault) || performance.now() + pauseMilliseconds > deadline) throw fault;
      retry?.report(fault);
      await new Promise((resolve) => setTimeout(resolve, pauseMilliseconds));
    }
  }
}

function mayRecover(fault: Error): fault is DatabaseFault {
  if (!(fault instanceof DatabaseFault) || fault.kind !== 'unavailable') return false;
  return !permanentErrors.test(String((fault.cause as { code?: unknown } | undefined)?.code));
}

const dropBatchSize = 200;
const dropMilliseconds = 60_000;

/** Drops a schema with its tables, in batches, since a transaction takes a lock for each table that it drops. */
export async function dropPostgres(url: string, schema: string, budget: ConnectionBudget): Promise<void> {
  const client = new budget.client({ connectionString: url, query_timeout: dropMilliseconds });
  await client.connect().catch((error: unknown) => Promise.reject(toPostgresFault(error)));
  try {
    for (;;) {
      const rows = await runQuery<{ tablename: string }>(
        client,
        'SELECT tablename FROM pg_tables WHERE schemaname=$1 LIMIT $2',
        [schema, dropBatchSize],
      );
      if (rows.length === 0) break;
      const tables = rows.map(({ tablename }) => `${schema}."${tablename.replaceAll('"', '""')}"`);
      await runQuery(client, `DROP TABLE IF EXISTS ${tables.join(',')} CASCADE`);
    }
    await runQuery(client, `DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  } finally {
    await client.end();
  }
}
