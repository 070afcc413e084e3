/** Reads the schema of one application as of one moment, while servers use it. */
import type { ConnectionBudget } from './connection-budget.ts';
import type { PostgresClient } from './postgres-client.ts';
import { toPostgresFault } from './postgres-fault.ts';
import { runQueries, runQuery } from './run-query.ts';
import { readDefinition, readStorage, type SchemaDefinition } from './schema-definition.ts';
import { setForCopies } from './table-copy.ts';

/** A connection that copies may take this long for one statement, such as building an index. */
const statementMilliseconds = 6 * 3_600_000;
/** Attempts while definitions are changed. */
const maxAttempts = 5;

export interface SchemaSource {
  readonly url: string;
  readonly budget: ConnectionBudget;
  readonly schema: string;
}

/** A schema at one moment. */
export interface SchemaSnapshot {
  readonly definition: SchemaDefinition;
  /** A connection for the copy, without a transaction. */
  readonly client: PostgresClient;
  /** Begins a transaction of the client that reads the moment. @param mode for example `READ ONLY`. */
  begin(mode: 'READ ONLY' | 'READ WRITE'): Promise<void>;
}

/**
 * Removes time limits that an operator may have set for the role or the database, and lets PostgreSQL notice within a second that the client
 * of a long statement has closed the connection. Older versions do not have all of these settings, and not every system has the last one.
 */
const sessionSettings = `SELECT set_config(name,CASE name WHEN 'client_connection_check_interval' THEN '1000' ELSE '0' END,false) FROM pg_settings
WHERE name IN ('statement_timeout','transaction_timeout','idle_in_transaction_session_timeout','idle_session_timeout')
OR name='client_connection_check_interval' AND version() LIKE '%linux%'`;

/**
 * Opens a connection for a backup, a restore or a copy. PostgreSQL sets no limits to its statements, transactions and pauses, because a
 * copy holds its snapshot for as long as it takes. The caller ends it, and with it the statement that runs.
 *
 * @throws DatabaseFault
 */
export async function connectForCopies(url: string, budget: ConnectionBudget): Promise<PostgresClient> {
  const client = new budget.client({ connectionString: url, query_timeout: statementMilliseconds });
  await client.connect().catch((error: unknown) => Promise.reject(toPostgresFault(error)));
  try {
    await runQuery(client, sessionSettings);
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

/**
 * Copies a schema. Writes are not delayed. A change of definitions during the copy would make it inconsistent, so it is repeated then.
 *
 * @param copy may run several times; it removes what an earlier call has made.
 * @throws Error if definitions change each time.
 */
export async function copySchema<T>(source: SchemaSource, copy: (snapshot: SchemaSnapshot) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const copied = await tryCopy(source, copy);
    if (copied) return copied.result;
    if (attempt === maxAttempts)
      throw new Error(
        `Collections of the schema ${source.schema} were changed during each of ${attempt} attempts. Try again.`,
      );
  }
}

/** @returns null if definitions were changed meanwhile. */
async function tryCopy<T>(
  { url, budget, schema }: SchemaSource,
  copy: (snapshot: SchemaSnapshot) => Promise<T>,
): Promise<{ readonly result: T } | null> {
  const holder = await connectForCopies(url, budget);
  const client = await connectForCopies(url, budget).catch(async (error: unknown) => {
    await holder.end();
    throw error;
  });
  try {
    await begin(holder, schema, 'READ ONLY');
    const [row] = await runQuery<{ snapshot: string }>(holder, 'SELECT pg_export_snapshot() AS snapshot');
    const before = await readStorage(holder, schema);
    const isChanged = async (): Promise<boolean> => (await readStorage(client, schema)) !== before;
    try {
      const definition = await readDefinition(holder, schema);
      const result = await copy({ definition, client, begin: (mode) => begin(client, schema, mode, row?.snapshot) });
      return (await isChanged()) ? null : { result };
    } catch (error) {
      // A table or column may be gone. The error is that of a lost connection, if there is one.
      await runQuery(client, 'ROLLBACK').catch(() => Promise.reject(error));
      if (await isChanged()) return null;
      throw error;
    }
  } finally {
    await Promise.allSettled([holder.end(), client.end()]);
  }
}

async function begin(
  client: PostgresClient,
  schema: string,
  mode: 'READ ONLY' | 'READ WRITE',
  snapshot?: string,
): Promise<void> {
  await runQueries(client, [
    `BEGIN ISOLATION LEVEL REPEATABLE READ ${mode}`,
    ...(snapshot === undefined ? [] : [`SET TRANSACTION SNAPSHOT '${snapshot}'`]),
    `SET LOCAL search_path TO ${schema},public`,
    setForCopies('LOCAL'),
  ]);
}
