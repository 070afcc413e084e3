import type { ConnectionBudget } from './connection-budget.ts';
import { dropPostgres } from './postgres-open.ts';
import { runQueries, runQuery } from './run-query.ts';
import { connectForCopies, copySchema, type SchemaSnapshot } from './schema-snapshot.ts';

/**
 * Copies a schema with its rows, constraints, indexes and the positions of its sequences to another one of the same database. The copy
 * shows one moment, also if others write meanwhile. It gets its name when it is complete, and replaces an earlier one of the name.
 *
 * To use it: `DROP SCHEMA source CASCADE; ALTER SCHEMA target RENAME TO source`.
 */
export async function saveSchema(url: string, budget: ConnectionBudget, source: string, target: string): Promise<void> {
  const part = `${target}_part`;
  await copySchema({ url, budget, schema: source }, async (snapshot) => {
    await dropPostgres(url, part, budget);
    await createCopy(snapshot, source, part);
  });
  await dropPostgres(url, target, budget);
  const client = await connectForCopies(url, budget);
  await runQuery(client, `ALTER SCHEMA ${part} RENAME TO ${target}`).finally(() => client.end());
}

/** One transaction for each table: one of all would lock each table and index, more than PostgreSQL allows with many collections. */
async function createCopy(
  { definition, client, begin }: SchemaSnapshot,
  source: string,
  target: string,
): Promise<void> {
  await runQueries(client, [`CREATE SCHEMA ${target}`, `SET search_path TO ${target},public`, ...definition.create]);
  for (const { table, columns } of definition.tables) {
    const name = `"${table.replaceAll('"', '""')}"`;
    const list = columns.join(',');
    await begin('READ WRITE');
    await runQueries(client, [
      `INSERT INTO ${target}.${name} ${list && `(${list})`} OVERRIDING SYSTEM VALUE SELECT ${list} FROM ${source}.${name}`,
      'COMMIT',
    ]);
  }
  await runQueries(client, [...definition.index, ...definition.relate]);
}

/** Removes copies of a schema. @param prefix of their names. */
export async function removeSavedSchemas(url: string, budget: ConnectionBudget, prefix: string): Promise<void> {
  const client = await connectForCopies(url, budget);
  const found = await runQuery<{ name: string }>(
    client,
    'SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname,$1)',
    [prefix],
  ).finally(() => client.end());
  for (const { name } of found) await dropPostgres(url, name, budget);
}
