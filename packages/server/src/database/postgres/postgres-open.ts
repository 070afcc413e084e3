import pg from 'pg';
import { PostgresDatabase, type PostgresOptions } from './postgres-database.ts';

/**
 * Opens an application's schema, made where it is not there and may be made.
 *
 * @throws Error when it is missing, when the server cannot be reached, is older than 15, is not UTF-8, or does not wait for its disk.
 */
export async function openPostgres(options: PostgresOptions, mayMake: boolean): Promise<PostgresDatabase> {
  const client = new pg.Client({ connectionString: options.url });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: number; encoding: string; commit: string }>(
      "SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding, current_setting('synchronous_commit') AS commit",
    );
    if (rows[0]!.version < 150_000) throw new Error('PostgreSQL 15 or newer is needed.');
    if (rows[0]!.encoding !== 'UTF8') throw new Error('The PostgreSQL database must be encoded in UTF8.');
    if (rows[0]!.commit === 'off')
      throw new Error('synchronous_commit is off: writes would be lost in a crash. Set it on.');
    const { rows: there } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname=$1', [options.schema]);
    if (there.length === 0 && !mayMake) throw new Error('the store is missing');
    // Two nodes that start together make it once: the lock goes with the transaction.
    if (there.length === 0)
      await client.query(
        `BEGIN; SELECT pg_advisory_xact_lock(7236417); CREATE SCHEMA IF NOT EXISTS ${options.schema}; COMMIT`,
      );
  } finally {
    await client.end();
  }
  return new PostgresDatabase(options);
}

const dropAtOnce = 200;

/** Drops a schema with all that is in it, in pieces: one transaction holds a lock for each table. */
export async function dropPostgres(url: string, schema: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (;;) {
      const { rows } = await client.query<{ tablename: string }>(
        'SELECT tablename FROM pg_tables WHERE schemaname=$1 LIMIT $2',
        [schema, dropAtOnce],
      );
      if (rows.length === 0) break;
      const tables = rows.map(({ tablename }) => `${schema}."${tablename.replaceAll('"', '""')}"`);
      await client.query(`DROP TABLE IF EXISTS ${tables.join(',')} CASCADE`);
    }
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  } finally {
    await client.end();
  }
}
