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
