/** Statements about the use of API keys, which is counted in the store of the audit journal. */
import type { Database, Transaction } from './database.ts';
import { readRows, runInTransaction } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

/** The use of one key since it was last stored. */
export interface KeyUseDelta {
  readonly id: number;
  readonly requests: number;
  readonly failed: number;
  readonly firstAt: string | null;
  readonly lastAt: string | null;
  readonly endpoints: ReadonlyMap<string, number>;
}

/** Adds to the counters of keys. Of each key, only the `maxEndpoints` most used endpoints are stored. */
export async function addKeyUse(
  journal: Database,
  transaction: Transaction,
  use: readonly KeyUseDelta[],
  maxEndpoints: number,
): Promise<void> {
  for (const { id, requests, failed, firstAt, lastAt, endpoints } of use) {
    const key = value('integer', id);
    const counts = sql`${value('bigint', requests)},${value('bigint', failed)}`;
    const times = sql`${value('datetime', firstAt)},${value('datetime', lastAt)}`;
    await runInTransaction(
      journal,
      transaction,
      sql`INSERT INTO _key_use (key_id,requests,failed,first_at,last_at)
VALUES (${key},${counts},${times})
ON CONFLICT (key_id) DO UPDATE SET requests=_key_use.requests+excluded.requests,failed=_key_use.failed+excluded.failed,
first_at=CASE WHEN excluded.first_at IS NULL OR excluded.first_at>_key_use.first_at
THEN _key_use.first_at ELSE excluded.first_at END,
last_at=CASE WHEN excluded.last_at IS NULL OR excluded.last_at<_key_use.last_at
THEN _key_use.last_at ELSE excluded.last_at END`,
    );
    for (const [endpoint, count] of endpoints) {
      const insert = sql`INSERT INTO _key_endpoints (key_id,endpoint,requests)
VALUES (${key},${value('text', endpoint)},${value('bigint', count)})
ON CONFLICT (key_id,endpoint) DO UPDATE SET requests=_key_endpoints.requests+excluded.requests`;
      await runInTransaction(journal, transaction, insert);
    }
    const retainedEndpoints = sql`SELECT endpoint FROM _key_endpoints WHERE key_id=${key}
ORDER BY requests DESC,endpoint LIMIT ${maxEndpoints}`;
    const remove = sql`DELETE FROM _key_endpoints WHERE key_id=${key} AND endpoint NOT IN (${retainedEndpoints})`;
    await runInTransaction(journal, transaction, remove);
  }
}

export interface StoredKeyUse {
  readonly requests: number;
  readonly failed: number;
  readonly firstAt: string | null;
  readonly lastAt: string | null;
  /** The most used first. */
  readonly endpoints: readonly { readonly endpoint: string; readonly requests: number }[];
}

/** The counters of a key; null for one that was never used. */
export async function readKeyUse(journal: Database, id: number, maxEndpoints: number): Promise<StoredKeyUse | null> {
  const { dialect } = journal;
  const key = value('integer', id);
  const selectDatetime = (name: string): Sql => dialect.scalar('datetime', sql`${name}`);
  const [row] = await readRows<[requests: number, failed: number, firstAt: string | null, lastAt: string | null]>(
    journal,
    sql`SELECT requests,failed,${selectDatetime('first_at')},${selectDatetime('last_at')} FROM _key_use
WHERE key_id=${key}`,
  );
  if (!row) return null;
  const [requests, failed, firstAt, lastAt] = row;
  const endpoints = await readRows<[endpoint: string, count: number]>(
    journal,
    sql`SELECT endpoint,requests FROM _key_endpoints WHERE key_id=${key} ORDER BY requests DESC,endpoint
LIMIT ${maxEndpoints}`,
  );
  return {
    requests: Number(requests),
    failed: Number(failed),
    firstAt,
    lastAt,
    endpoints: endpoints.map(([endpoint, count]) => ({ endpoint, requests: Number(count) })),
  };
}

/** Deletes the counters of keys. */
export async function deleteKeyUse(journal: Database, transaction: Transaction, ids: readonly number[]): Promise<void> {
  for (const table of ['_key_use', '_key_endpoints']) {
    const isGiven = journal.dialect.isIn(sql`key_id`, listValue('integer', ids));
    await runInTransaction(journal, transaction, sql`DELETE FROM ${table} WHERE ${isGiven}`);
  }
}

/** The ids of all keys with counters. */
export async function readKeysWithUse(journal: Database): Promise<number[]> {
  return (await readRows(journal, sql`SELECT key_id FROM _key_use`)).map(([id]) => Number(id));
}

/** The ids of those keys that exist. */
export async function findExistingKeys(database: Database, ids: readonly number[]): Promise<Set<number>> {
  const isGiven = database.dialect.isIn(sql`id`, listValue('integer', ids));
  const rows = await readRows(database, sql`SELECT id FROM "apiKeys" WHERE ${isGiven}`);
  return new Set(rows.map(([id]) => Number(id)));
}
