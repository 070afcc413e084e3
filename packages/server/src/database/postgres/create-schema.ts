import type pg from 'pg';
import { runQuery } from './run-query.ts';

/** Creates a schema, and what is in it. The lock, which ends with the transaction, lets two servers that start at the same time create it once. */
export async function createSchemaOnce(
  client: pg.Client,
  schema: string,
  content: readonly string[] = [],
): Promise<void> {
  const statements = [`CREATE SCHEMA IF NOT EXISTS ${schema}`, ...content].join('; ');
  await runQuery(client, `BEGIN; SELECT pg_advisory_xact_lock(7236417); ${statements}; COMMIT`);
}
