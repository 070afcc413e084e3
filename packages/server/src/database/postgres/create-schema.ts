import type pg from 'pg';
import { runQuery } from './run-query.ts';

/**
 * Creates a schema with its content. The lock, which ends with the transaction, ensures that two servers that start at
 * the same time create it only once.
 */
export async function createSchemaOnce(
  client: pg.Client,
  schema: string,
  content: readonly string[] = [],
): Promise<void> {
  const statements = [`CREATE SCHEMA IF NOT EXISTS ${schema}`, ...content].join('; ');
  await runQuery(client, `BEGIN; SELECT pg_advisory_xact_lock(7236417); ${statements}; COMMIT`);
}
