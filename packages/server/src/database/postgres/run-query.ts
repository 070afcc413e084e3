import type pg from 'pg';
import { toPostgresFault } from './postgres-fault.ts';

/** Runs a statement on a connection that is not one of a pool. @throws DatabaseFault */
export async function runQuery<R extends pg.QueryResultRow>(
  client: pg.Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<R[]> {
  try {
    return (await client.query<R>(text, [...values])).rows;
  } catch (error) {
    throw toPostgresFault(error);
  }
}

/** Statements of one round trip. Together they are one transaction, which locks all of their tables and indexes. */
const statementsAtOnce = 50;

/** Runs statements without values, many in one round trip. If one fails, earlier ones may have been carried out. @throws DatabaseFault */
export async function runQueries(client: pg.Client, statements: readonly string[]): Promise<void> {
  for (let at = 0; at < statements.length; at += statementsAtOnce)
    await runQuery(client, statements.slice(at, at + statementsAtOnce).join(';\n'));
}
