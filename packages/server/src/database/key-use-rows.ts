/** Statements of the key statistics, which lie in the store of the audit journal. */
import type { Database, Transaction } from './database.ts';
import { readRows, runInTransaction } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

/** Use of one key since it was last written down. */
export interface KeyUseDelta {
  readonly id: number;
  readonly requests: number;
  readonly failed: number;
  readonly firstAt: string | null;
  readonly lastAt: string | null;
  readonly endpoints: ReadonlyMap<string, number>;
}

/** Adds to what is known of keys; of the endpoints of each the most used ones are kept. */
export async function addKeyUse(
  journal: Database,
  transaction: Transaction,
  use: readonly KeyUseDelta[],
  maxEndpoints: number,
): Promise<void> {
  for (const { id, requests, failed, firstAt, lastAt, endpoints } of use) {
    const key = value('integer', id);
    await runInTransaction(
      journal,
      transaction,
      sql`INSERT INTO _key_use (key_id,requests,failed,first_at,last_at) VALUES (${key},${value('bigint', requests)},${value('bigint', failed)},${value('datetime', firstAt)},${value('datetime', lastAt)})
ON CONFLICT (key_id) DO UPDATE SET requests=_key_use.requests+excluded.requests,failed=_key_use.failed+excluded.failed,
first_at=CASE WHEN excluded.first_at IS NULL OR excluded.first_at>_key_use.first_at THEN _key_use.first_at ELSE excluded.first_at END,
last_at=CASE WHEN excluded.last_at IS NULL OR excluded.last_at<_key_use.last_at THEN _key_use.last_at ELSE excluded.last_at END`,
    );
    for (const [endpoint, count] of endpoints)
      await runInTransaction(
        journal,
        transaction,
        sql`INSERT INTO _key_endpoints (key_id,endpoint,requests) VALUES (${key},${value('text', endpoint)},${value('bigint', count)}) ON CONFLICT (key_id,endpoint) DO UPDATE SET requests=_key_endpoints.requests+excluded.requests`,
      );
    const retainedEndpoints = sql`SELECT endpoint FROM _key_endpoints WHERE key_id=${key} ORDER BY requests DESC,endpoint LIMIT ${maxEndpoints}`;
    await runInTransaction(
      journal,
      transaction,
      sql`DELETE FROM _key_endpoints WHERE key_id=${key} AND endpoint NOT IN (${retainedEndpoints})`,
    );
  }
}

export interface StoredKeyUse {
  readonly requests: number;
  readonly failed: number;
  readonly firstAt: string | null;
  readonly lastAt: string | null;
  /** The most used ones first. */
  readonly endpoints: readonly { readonly endpoint: string; readonly requests: number }[];
}

export async function readKeyUse(journal: Database, id: number, maxEndpoints: number): Promise<StoredKeyUse | null> {
  const { dialect } = journal;
  const key = value('integer', id);
  const selectDatetime = (name: string): Sql => dialect.scalar('datetime', sql`${name}`);
  const [row] = await readRows(
    journal,
    sql`SELECT requests,failed,${selectDatetime('first_at')},${selectDatetime('last_at')} FROM _key_use WHERE key_id=${key}`,
  );
  if (!row) return null;
  const endpoints = await readRows(
    journal,
    sql`SELECT endpoint,requests FROM _key_endpoints WHERE key_id=${key} ORDER BY requests DESC,endpoint LIMIT ${maxEndpoints}`,
  );
  return {
    requests: Number(row[0]),
    failed: Number(row[1]),
    firstAt: row[2] as string | null,
    lastAt: row[3] as string | null,
    endpoints: endpoints.map(([endpoint, requests]) => ({ endpoint: endpoint as string, requests: Number(requests) })),
  };
}

/** Forgets what is known of keys. */
export async function deleteKeyUse(journal: Database, transaction: Transaction, ids: readonly number[]): Promise<void> {
  for (const table of ['_key_use', '_key_endpoints']) {
    const isGiven = journal.dialect.isIn(sql`key_id`, listValue('integer', ids));
    await runInTransaction(journal, transaction, sql`DELETE FROM ${table} WHERE ${isGiven}`);
  }
}

export async function readKeysWithUse(journal: Database): Promise<number[]> {
  return (await readRows(journal, sql`SELECT key_id FROM _key_use`)).map(([id]) => Number(id));
}

/** Which of these keys there are. */
export async function findExistingKeys(database: Database, ids: readonly number[]): Promise<Set<number>> {
  const isGiven = database.dialect.isIn(sql`id`, listValue('integer', ids));
  const rows = await readRows(database, sql`SELECT id FROM "apiKeys" WHERE ${isGiven}`);
  return new Set(rows.map(([id]) => Number(id)));
}
