/** Statements about API keys. */
import type { Database, Transaction } from './database.ts';
import { reading, writing } from './identity-store.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

export interface StoredKey {
  readonly id: number;
  readonly name: string | null;
  readonly role: string;
  readonly expiresAt: string | null;
  readonly creatorId: number | null;
  readonly createdAt: string;
}

export function findKey(database: Database, tokenHashes: readonly string[]): Promise<StoredKey | null> {
  return keyWhere(database, database.dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes)));
}

export function findKeyById(database: Database, id: number): Promise<StoredKey | null> {
  return keyWhere(database, sql`id=${value('integer', id)}`);
}

async function keyWhere(database: Database, condition: Sql): Promise<StoredKey | null> {
  const { dialect } = database;
  const moment = (column: string): Sql => dialect.scalar('datetime', sql`${`"${column}"`}`);
  const [row] = await reading(database)(
    sql`SELECT id,name,role,${moment('expiresAt')},"creatorId",${moment('createdAt')} FROM "apiKeys" WHERE ${condition}`,
  );
  if (!row) return null;
  const [id, name, role, expiresAt, creatorId, createdAt] = row;
  return {
    id: Number(id),
    name: name as string | null,
    role: role as string,
    expiresAt: expiresAt as string | null,
    creatorId: creatorId === null ? null : Number(creatorId),
    createdAt: createdAt as string,
  };
}

/** Names the successor of a key, and when the key ends; false where it has one already, or is gone. */
export async function endKey(
  database: Database,
  transaction: Transaction,
  { id, end, successorId }: { readonly id: number; readonly end: string; readonly successorId: number },
): Promise<boolean> {
  const rows = await writing(
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
    tokenHash: string;
  },
): Promise<number> {
  const [row] = await writing(
    database,
    transaction,
  )(
    sql`INSERT INTO "apiKeys" (name,role,"expiresAt","createdAt","creatorId","tokenHash") VALUES (${value('text', key.name)},${value('text', key.role)},${value('datetime', key.expiresAt)},${value('datetime', key.createdAt)},${value('integer', key.creatorId)},${value('text', key.tokenHash)}) RETURNING id`,
  );
  return Number(row![0]);
}
