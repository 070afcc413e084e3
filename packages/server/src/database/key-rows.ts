/** Statements about API keys. */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner, readNumberInTx, runInTransaction } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

export interface StoredKey {
  readonly id: number;
  readonly name: string | null;
  readonly role: string;
  readonly expiresAt: string | null;
  readonly creatorId: number | null;
  readonly createdAt: string;
  /** Whether the key is valid only while its creator holds its role; null for keys of old stores. */
  readonly bound: boolean | null;
}

/** The key of a token, or null. @param tokenHashes the hash of the token under each key that may have signed it. */
export function findKey(database: Database, tokenHashes: readonly string[]): Promise<StoredKey | null> {
  return findKeyWhere(database, database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes)));
}

/** The key of an id, or null. */
export function findKeyById(database: Database, id: number): Promise<StoredKey | null> {
  return findKeyWhere(database, sql`id=${value('integer', id)}`);
}

type KeyRow = [
  id: number,
  name: string | null,
  role: string,
  expiresAt: string | null,
  creatorId: number | null,
  createdAt: string,
  bound: unknown,
];

async function findKeyWhere(database: Database, condition: Sql): Promise<StoredKey | null> {
  const { dialect } = database;
  const selectDatetime = (column: string): Sql => dialect.scalar('datetime', sql`${`"${column}"`}`);
  const [row] = await createReader(database)<KeyRow>(
    sql`SELECT id,name,role,${selectDatetime('expiresAt')},"creatorId",${selectDatetime('createdAt')},bound
FROM "apiKeys" WHERE ${condition}`,
  );
  if (!row) return null;
  const [id, name, role, expiresAt, creatorId, createdAt, bound] = row;
  return {
    id: Number(id),
    name,
    role,
    expiresAt,
    creatorId: creatorId === null ? null : Number(creatorId),
    createdAt,
    bound: toNullableBoolean(bound),
  };
}

/** Sets the successor and the end of a key. @returns false if the key has a successor or does not exist. */
export async function setKeyExpiry(
  database: Database,
  transaction: Transaction,
  { id, end, successorId }: { readonly id: number; readonly end: string; readonly successorId: number },
): Promise<boolean> {
  const set = sql`"expiresAt"=${value('datetime', end)},"successorId"=${value('integer', successorId)},_v=_v+1`;
  const run = createTxRunner(database, transaction);
  const rows = await run(
    sql`UPDATE "apiKeys" SET ${set} WHERE id=${value('integer', id)} AND "successorId" IS NULL RETURNING id`,
  );
  return rows.length > 0;
}

/** Creates a key. @returns its id. */
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
  const { name, role, expiresAt, createdAt, creatorId, bound, tokenHash } = key;
  const times = sql`${value('datetime', expiresAt)},${value('datetime', createdAt)}`;
  const origin = sql`${value('integer', creatorId)},${value('boolean', bound)},${value('text', tokenHash)}`;
  const values = sql`${value('text', name)},${value('text', role)},${times},${origin}`;
  const insert = sql`INSERT INTO "apiKeys" (name,role,"expiresAt","createdAt","creatorId",bound,"tokenHash")
VALUES (${values}) RETURNING id`;
  return readNumberInTx(database, transaction, insert);
}

/** A key of a user, with the reason why it is not active. */
export interface CreatorKey {
  readonly id: number;
  readonly role: string;
  readonly bound: boolean | null;
  readonly inactiveReason: string | null;
}

/** The keys that a user created, with the status of the user, as the transaction sees them; null for an unknown user. */
export async function readKeysByCreator(
  database: Database,
  transaction: Transaction,
  userId: number,
): Promise<{ readonly status: string; readonly keys: readonly CreatorKey[] } | null> {
  const run = createTxRunner(database, transaction);
  const id = value('integer', userId);
  const [user] = await run<[status: string]>(sql`SELECT status FROM users WHERE id=${id}`);
  if (!user) return null;
  const [status] = user;
  const rows = await run<[id: number, role: string, bound: unknown, reason: string | null]>(
    sql`SELECT id,role,bound,"inactiveReason" FROM "apiKeys" WHERE "creatorId"=${id} ORDER BY id`,
  );
  const keys = rows.map(([key, role, bound, reason]) => ({
    id: Number(key),
    role,
    bound: toNullableBoolean(bound),
    inactiveReason: reason,
  }));
  return { status, keys };
}

/** Sets why a key is not active; null for an active one. */
export async function setInactiveReason(
  database: Database,
  transaction: Transaction,
  id: number,
  reason: string | null,
): Promise<void> {
  transaction.touch('apiKeys');
  const update = sql`UPDATE "apiKeys" SET "inactiveReason"=${value('text', reason)},_v=_v+1
WHERE id=${value('integer', id)}`;
  await runInTransaction(database, transaction, update);
}

function toNullableBoolean(bound: unknown): boolean | null {
  return bound === null ? null : Boolean(bound);
}
