/** A restore of `main` in PostgreSQL: it is prepared while servers run, and takes effect while none of them has `main` open. */
import { compileListCopies } from '../main-lists.ts';
import { requireSameVersion } from '../store-version.ts';
import type { ConnectionBudget } from './connection-budget.ts';
import type { PostgresClient } from './postgres-client.ts';
import { dropPostgres } from './postgres-open.ts';
import { withAllClosed } from './postgres-server-group.ts';
import { loadPart, restorePart, type SchemaRestoreParts } from './restore-schemas.ts';
import { runQuery } from './run-query.ts';
import { connectForCopies } from './schema-snapshot.ts';

/** How long the other servers may take to close their stores. They have a time limit of five seconds for it. */
const closeMilliseconds = 20_000;

/**
 * Loads `main` of a backup into a schema next to the present one.
 *
 * @param epoch the name of its event log. @throws UnusableBackup
 */
export async function prepareMainSchema(
  parts: Omit<SchemaRestoreParts, 'mainStore' | 'schemaName'>,
  { saved, schema, epoch }: { readonly saved: string; readonly schema: string; readonly epoch: string },
): Promise<void> {
  const client = await connectForCopies(parts.url, parts.budget);
  try {
    const part = restorePart(schema);
    await loadPart(client, parts, saved, part);
    requireSameVersion(await readVersion(client, part), await readVersion(client, schema));
    await runQuery(client, `UPDATE ${part}._meta SET epoch=$1`, [epoch]);
  } finally {
    await client.end();
  }
}

/** Removes what {@link prepareMainSchema} has written. */
export async function removeMainSchema(url: string, schema: string, budget: ConnectionBudget): Promise<void> {
  await dropPostgres(url, restorePart(schema), budget);
}

async function readVersion(client: PostgresClient, schema: string): Promise<number | null> {
  const [found] = await runQuery(client, 'SELECT 1 FROM pg_tables WHERE schemaname=$1 AND tablename=$2', [
    schema,
    '_migrations',
  ]);
  if (!found) return null;
  const [row] = await runQuery<{ version: number }>(
    client,
    `SELECT max(number)::int4 AS version FROM ${schema}._migrations`,
  );
  return row?.version ?? null;
}

export interface MainExchange {
  readonly url: string;
  readonly store: string;
  readonly schema: string;
  readonly epoch: string;
  /** The id of the restore in the list of backups. */
  readonly job: string;
  /** Now, ISO 8601. */
  readonly at: string;
}

/**
 * Puts the prepared schema in the place of the present one, in one transaction, when all servers have closed it.
 *
 * @returns the schema with the replaced data. @throws Error if a server does not close it in time, or the restore was given up.
 */
export async function exchangeMainSchema({ url, store, schema, epoch, job, at }: MainExchange): Promise<string> {
  const kept = `${schema}_replaced_${at.replace(/[^\d]/g, '').slice(0, 14)}`;
  const request = { url, store, milliseconds: closeMilliseconds, message: 'main' } as const;
  const exchange = async (client: PostgresClient): Promise<boolean> => {
    await runQuery(client, 'BEGIN ISOLATION LEVEL READ COMMITTED');
    await requirePrepared(client, { schema, epoch, job });
    const part = restorePart(schema);
    const readColumns = (table: string): Promise<string[]> => readCommonColumns(client, table, [schema, part]);
    for (const statement of await compileListCopies(schema, part, readColumns)) await runQuery(client, statement);
    // A server that has missed the exchange must not take the restored definitions for those that it knows.
    await runQuery(
      client,
      `UPDATE ${part}._meta SET version=greatest(version,(SELECT max(version) FROM ${schema}._meta))+1`,
    );
    await runQuery(client, `ALTER SCHEMA ${schema} RENAME TO ${kept}`);
    await runQuery(client, `ALTER SCHEMA ${part} RENAME TO ${schema}`);
    await runQuery(client, 'COMMIT');
    return true;
  };
  if (await withAllClosed(request, exchange, false)) return `the schema ${kept}`;
  throw new Error('Another server did not close its stores in time.');
}

/** Another server that did not find the restore running may have undone it. */
async function requirePrepared(
  client: PostgresClient,
  { schema, epoch, job }: Pick<MainExchange, 'schema' | 'epoch' | 'job'>,
): Promise<void> {
  const rows = await runQuery(
    client,
    `SELECT 1 FROM ${schema}._backups WHERE id=$1 AND status='running' AND to_regclass($2) IS NOT NULL FOR UPDATE`,
    [job, `${restorePart(schema)}._meta`],
  );
  const found =
    rows.length > 0 && (await runQuery(client, `SELECT 1 FROM ${restorePart(schema)}._meta WHERE epoch=$1`, [epoch]));
  if (!found || found.length === 0) throw new Error('The restore lost its connection and was given up. Try again.');
}

async function readCommonColumns(client: PostgresClient, table: string, schemas: readonly string[]): Promise<string[]> {
  const rows = await runQuery<{ name: string }>(
    client,
    `SELECT attname AS name FROM pg_attribute WHERE attrelid=ANY(SELECT c.oid FROM pg_class c
JOIN pg_namespace n ON n.oid=c.relnamespace WHERE c.relname=$1 AND n.nspname=ANY($2)) AND attnum>0 AND NOT attisdropped
AND attgenerated='' GROUP BY attname HAVING count(*)=2 ORDER BY min(attnum)`,
    [table, schemas],
  );
  return rows.map(({ name }) => name);
}
