/** Finds the schema of an application, and puts a complete copy in its place. */
import type { PostgresMoveLocation } from './postgres-move.ts';
import { dropPostgres } from './postgres-open.ts';
import { runQuery } from './run-query.ts';
import { connectForCopies } from './schema-snapshot.ts';

/**
 * The store of an application that `main` lists; null if it is not listed. @throws Error if the database has no data of
 * a server.
 */
export async function findPostgresStore(
  { url, budget, schema }: PostgresMoveLocation,
  application: string,
): Promise<string | null> {
  const client = await connectForCopies(url, budget);
  try {
    const [row] = await runQuery<{ store: string | null }>(
      client,
      `SELECT store::text AS store FROM ${schema}.applications WHERE name=$1`,
      [application],
    );
    return row?.store ?? null;
  } finally {
    await client.end();
  }
}

/**
 * Puts a complete schema in the place of another one. It can be repeated after an interruption.
 *
 * @throws Error if the schema is not complete.
 */
export async function replaceSchema({ url, budget, schema }: PostgresMoveLocation, part: string): Promise<void> {
  const client = await connectForCopies(url, budget);
  try {
    const exists = await runQuery(client, 'SELECT 1 FROM pg_namespace WHERE nspname=$1', [part]);
    if (exists.length === 0) return;
    const [found] = await runQuery<{ meta: string | null }>(client, 'SELECT to_regclass($1)::text AS meta', [
      `${part}._meta`,
    ]);
    if (!found?.meta || (await runQuery(client, `SELECT 1 FROM ${part}._meta`)).length === 0)
      throw new Error('The copy is not complete.');
    await dropPostgres(url, schema, budget);
    await runQuery(client, `ALTER SCHEMA ${part} RENAME TO ${schema}`);
  } finally {
    await client.end();
  }
}
