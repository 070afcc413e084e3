/** Statements about API keys. */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner } from './identity-store.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

export interface StoredKey {
  readonly id: number;
  readonly name: string | null;
  readonly role: string;
  readonly expiresAt: string | null;
  readonly creatorId: number | null;
  readonly createdAt: string;
  /** Whether it holds only while its maker holds its role; null in stores that did not note it. */
  readonly bound: boolean | null;
}

export function findKey(database: Database, tokenHashes: readonly string[]): Promise<StoredKey | null> {
  return findKeyWhere(database, database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes)));
}

export function findKeyById(database: Database, id: number): Promise<StoredKey | null> {
  return findKeyWhere(database, sql`id=${value('integer', id)}`);
}

async function findKeyWhere(database: Database, condition: Sql): Promise<StoredKey | null> {
  const { dialect } = database;
  const selectDatetime = (column: string): Sql => dialect.scalar('datetime', sql`${`"${column}"`}`);
  const [row] = await createReader(database)(
    sql`SELECT id,name,role,${selectDatetime('expiresAt')},"creatorId",${selectDatetime('createdAt')},bound FROM "apiKeys" WHERE ${condition}`,
  );
  if (!row) return null;
  const [id, name, role, expiresAt, creatorId, createdAt, bound] = row;
  return {
    id: Number(id),
    name: name as string | null,
    role: role as string,
    expiresAt: expiresAt as string | null,
    creatorId: creatorId === null ? null : Number(creatorId),
    createdAt: createdAt as string,
    bound: toNullableBoolean(bound),
  };
}

/** Names the successor of a key, and when the key ends; false where it has one already, or is gone. */
export async function setKeyExpiry(
  database: Database,
  transaction: Transaction,
  { id, end, successorId }: { readonly id: number; readonly end: string; readonly successorId: number },
): Promise<boolean> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE "apiKeys" SET "expiresAt"=${value('datetime', end)},"successorId"=${value('integer', successorId)},_v=_v+1 WHERE id=${value('integer', id)} AND "successorId" IS NULL RETURNING id`,
  );
  return rows.length > 0;
}

export async function insertKey(
  database: Database,
  transaction: Transaction,
  key: {
    name: string | null;
    role: string;
    expiresAt: string | null;
    createdAt: string;
    creatorId: number | null;
    bound: boolean;
    tokenHash: string;
  },
): Promise<number> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO "apiKeys" (name,role,"expiresAt","createdAt","creatorId",bound,"tokenHash") VALUES (${value('text', key.name)},${value('text', key.role)},${value('datetime', key.expiresAt)},${value('datetime', key.createdAt)},${value('integer', key.creatorId)},${value('boolean', key.bound)},${value('text', key.tokenHash)}) RETURNING id`,
  );
  return Number(row![0]);
}

/** A key with what its list says of it. */
export interface CreatorKey {
  readonly id: number;
  readonly role: string;
  readonly bound: boolean | null;
  readonly inactiveReason: string | null;
}

/** The keys that a user made, and what the user is as the transaction sees it; null for nobody. */
export async function readKeysByCreator(
  database: Database,
  transaction: Transaction,
  userId: number,
): Promise<{ readonly status: string; readonly keys: readonly CreatorKey[] } | null> {
  const run = createTxRunner(database, transaction);
  const id = value('integer', userId);
  const [user] = await run(sql`SELECT status FROM users WHERE id=${id}`);
  if (!user) return null;
  const rows = await run(sql`SELECT id,role,bound,"inactiveReason" FROM "apiKeys" WHERE "creatorId"=${id} ORDER BY id`);
  const keys = rows.map(([key, role, bound, reason]) => ({
    id: Number(key),
    role: role as string,
    bound: toNullableBoolean(bound),
    inactiveReason: reason as string | null,
  }));
  return { status: user[0] as string, keys };
}

export async function setInactiveReason(
  database: Database,
  transaction: Transaction,
  id: number,
  reason: string | null,
): Promise<void> {
  transaction.touch('apiKeys');
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE "apiKeys" SET "inactiveReason"=${value('text', reason)},_v=_v+1 WHERE id=${value('integer', id)}`);
}

function toNullableBoolean(bound: unknown): boolean | null {
  return bound === null ? null : Boolean(bound);
}
