/** Statements about files and about the records that refer to them. */
import type { Storage } from '../schema/field-type.ts';
import type { Database, Transaction } from './database.ts';
import { insertRows } from './row-insert.ts';
import { createReader, createRunner, createTxRunner, readNumberInTx } from './run-statement.ts';
import { identifier, listValue, type Sql, sql, value } from './sql.ts';

/** A file as it is stored. It never changes, except that it gets attached. */
export interface FileRecord {
  readonly id: number;
  readonly name: string;
  /** The declared type. */
  readonly contentType: string;
  /** Detected from the bytes; null if they are of no known type. */
  readonly detectedType: string | null;
  readonly size: number;
  readonly sha256: string;
  /** The size of a picture in pixels; null for other files. */
  readonly width: number | null;
  readonly height: number | null;
  /** `user:3`, or `apiKey:7` for a key without a user; null without a credential. */
  readonly uploader: string | null;
  /** Whether a record has referred to it. */
  readonly isAttached: boolean;
}

/** A file that is not stored yet. */
export interface NewFile extends Omit<FileRecord, 'id' | 'isAttached'> {
  readonly createdById: number | null;
}

/** Stores a file that no record refers to yet. @param time ISO 8601. */
export async function insertFile(
  database: Database,
  transaction: Transaction,
  file: NewFile,
  time: string,
): Promise<FileRecord> {
  transaction.touch('files');
  const { name, contentType, detectedType, size, sha256, width, height, createdById, uploader } = file;
  const types = sql`${value('text', name)},${value('text', contentType)},${value('text', detectedType)}`;
  const content = sql`${value('double', size)},${value('text', sha256)},${value('integer', width)},${value('integer', height)}`;
  const origin = sql`${value('integer', createdById)},${value('text', uploader)},${value('datetime', time)}`;
  const id = await readNumberInTx(
    database,
    transaction,
    sql`INSERT INTO files (name,"contentType","detectedType",size,sha256,width,height,"createdById",uploader,"createdAt") VALUES (${types},${content},${origin}) RETURNING id`,
  );
  return { ...file, id, isAttached: false };
}

/** The files of some ids that exist. */
export async function readFileRecords(
  database: Database,
  ids: readonly number[],
  transaction: Transaction | null = null,
): Promise<FileRecord[]> {
  if (ids.length === 0) return [];
  const isWanted = database.dialect.isIn(sql`id`, listValue('integer', ids));
  const rows = await createRunner(
    database,
    transaction,
  )(
    sql`SELECT id,name,"contentType","detectedType",size,sha256,width,height,uploader,"attachedAt" IS NOT NULL FROM files WHERE ${isWanted}`,
  );
  return rows.map(([id, name, contentType, detectedType, size, sha256, width, height, uploader, isAttached]) => ({
    id: Number(id),
    name: name as string,
    contentType: contentType as string,
    detectedType: detectedType as string | null,
    size: Number(size),
    sha256: sha256 as string,
    width: width as number | null,
    height: height as number | null,
    uploader: uploader as string | null,
    isAttached: Boolean(isAttached),
  }));
}

/** A reference from a field of a record to a file. It may be outdated: the value of the field decides. */
export interface FileReference {
  readonly fileId: number;
  readonly collectionId: number;
  readonly fieldId: number;
  /** The key of the record as text. */
  readonly key: string;
}

/** Whether a field of a record refers to a file, or has referred to it. */
export async function hasFileReference(database: Database, reference: FileReference): Promise<boolean> {
  const rows = await createReader(database)(
    sql`SELECT 1 FROM "fileReferences" WHERE ${isReference(reference)} LIMIT 1`,
  );
  return rows.length > 0;
}

function isReference({ fileId, collectionId, fieldId, key }: FileReference): Sql {
  return sql`"fileId"=${value('integer', fileId)} AND "collectionId"=${value('integer', collectionId)} AND "fieldId"=${value('integer', fieldId)} AND key=${value('text', key)}`;
}

function toReference([fileId, collectionId, fieldId, key]: readonly unknown[]): FileReference {
  return {
    fileId: Number(fileId),
    collectionId: Number(collectionId),
    fieldId: Number(fieldId),
    key: key as string,
  };
}

/**
 * Marks files as attached. The update also makes the transaction collide with a sweep that deletes one of them.
 *
 * @returns how many of them exist.
 */
export async function markFilesAttached(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
  time: string,
): Promise<number> {
  transaction.touch('files');
  const isWanted = database.dialect.isIn(sql`id`, listValue('integer', ids));
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE files SET "attachedAt"=${value('datetime', time)} WHERE ${isWanted} RETURNING id`);
  return rows.length;
}

/** The field whose references are stored, and when. */
interface ReferringField extends Pick<FileReference, 'collectionId' | 'fieldId'> {
  /** ISO 8601. */
  readonly time: string;
}

/** Stores that records refer to files in one field. References that exist already count as checked. */
export async function storeFileReferences(
  database: Database,
  transaction: Transaction,
  { collectionId, fieldId, time }: ReferringField,
  references: readonly Pick<FileReference, 'fileId' | 'key'>[],
): Promise<void> {
  const run = createTxRunner(database, transaction);
  const { dialect } = database;
  const files = listValue('integer', [...new Set(references.map(({ fileId }) => fileId))]);
  const keys = listValue('text', [...new Set(references.map(({ key }) => key))]);
  const isOfField = sql`"collectionId"=${value('integer', collectionId)} AND "fieldId"=${value('integer', fieldId)}`;
  // Former references of the records to other files of the list are included; the sweep checks them a day later.
  const existing = await run(
    sql`UPDATE "fileReferences" SET "checkedAt"=${value('datetime', time)} WHERE ${dialect.isIn(sql`"fileId"`, files)} AND ${isOfField} AND ${dialect.isIn(sql`key`, keys)} RETURNING "fileId",key`,
  );
  const stored = new Set(existing.map(([fileId, key]) => `${fileId} ${key}`));
  const missing = references.filter(({ fileId, key }) => !stored.has(`${fileId} ${key}`));
  await insertRows(
    run,
    dialect,
    'fileReferences',
    [
      ['fileId', 'integer'],
      ['collectionId', 'integer'],
      ['fieldId', 'integer'],
      ['key', 'text'],
      ['checkedAt', 'datetime'],
    ],
    missing.map(({ fileId, key }) => [fileId, collectionId, fieldId, key, time]),
  );
}

/** References that were last checked before a time, the oldest first. */
export async function readUncheckedReferences(
  database: Database,
  before: string,
  maxRows: number,
): Promise<(FileReference & { readonly id: number })[]> {
  const rows = await createReader(database)(
    sql`SELECT "fileId","collectionId","fieldId",key,id FROM "fileReferences" WHERE "checkedAt"<${value('datetime', before)} ORDER BY "checkedAt",id LIMIT ${maxRows}`,
  );
  return rows.map((row) => ({ ...toReference(row), id: Number(row[4]) }));
}

/** Notes when references were found to be in use, and deletes the others, unless they have been stored again since `before`. */
export async function settleReferences(
  database: Database,
  { used, unused }: { readonly used: readonly number[]; readonly unused: readonly number[] },
  { time, before }: { readonly time: string; readonly before: string },
): Promise<void> {
  const { dialect } = database;
  await database.write(async (transaction) => {
    const run = createTxRunner(database, transaction);
    if (used.length > 0)
      await run(
        sql`UPDATE "fileReferences" SET "checkedAt"=${value('datetime', time)} WHERE ${dialect.isIn(sql`id`, listValue('bigint', used))}`,
      );
    if (unused.length === 0) return;
    const isUnused = sql`${dialect.isIn(sql`id`, listValue('bigint', unused))} AND "checkedAt"<${value('datetime', before)}`;
    const files = await run(sql`DELETE FROM "fileReferences" WHERE ${isUnused} RETURNING "fileId"`);
    if (files.length === 0) return;
    transaction.touch('files');
    // The grace period of the files begins now.
    const isFile = dialect.isIn(sql`id`, listValue('integer', [...new Set(files.map(([id]) => Number(id)))]));
    await run(sql`UPDATE files SET "attachedAt"=${value('datetime', time)} WHERE ${isFile}`);
  });
}

/** Files that no record refers to, and that were uploaded or released before a time, in the order of their ids. */
export async function findUnusedFiles(
  database: Database,
  before: string,
  { after, maxRows }: { readonly after: number; readonly maxRows: number },
): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT id FROM files WHERE id>${value('integer', after)} AND ${isUnused(before)} ORDER BY id LIMIT ${maxRows}`,
  );
  return rows.map(([id]) => Number(id));
}

/** Deletes the given files that are still unused. */
export async function deleteUnusedFiles(database: Database, before: string, ids: readonly number[]): Promise<void> {
  await database.write(async (transaction) => {
    transaction.touch('files');
    const isWanted = database.dialect.isIn(sql`id`, listValue('integer', ids));
    await createTxRunner(database, transaction)(sql`DELETE FROM files WHERE ${isWanted} AND ${isUnused(before)}`);
  });
}

function isUnused(before: string): Sql {
  return sql`COALESCE("attachedAt","createdAt")<${value('datetime', before)} AND NOT EXISTS (SELECT 1 FROM "fileReferences" r WHERE r."fileId"=files.id)`;
}

/** Which of the blobs belong to a file. */
export async function findFileBlobs(database: Database, sha256s: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await createReader(database)(
    sql`SELECT DISTINCT sha256 FROM files WHERE ${database.dialect.isIn(sql`sha256`, listValue('text', sha256s))}`,
  );
  return new Set(rows.map(([name]) => name as string));
}

/** Columns of a collection with a file field. */
export interface FileColumn {
  readonly table: string;
  readonly keyColumn: string;
  readonly column: string;
}

/** The ids of the files in a column, by the key of the record as text. Records in the trash are included. */
export async function readFileValues(
  database: Database,
  { table, keyColumn, column }: FileColumn,
  keys: { readonly storage: Storage; readonly values: readonly unknown[] },
  transaction: Transaction | null = null,
): Promise<Map<string, readonly number[]>> {
  const [key, shown] = [sql`${identifier(keyColumn)}`, sql`${identifier(column)}`];
  const isWanted = database.dialect.isIn(key, listValue(keys.storage, keys.values));
  const rows = await createRunner(
    database,
    transaction,
  )(sql`SELECT ${key},${shown} FROM ${identifier(table)} WHERE ${isWanted}`);
  return new Map(rows.map(([each, stored]) => [String(each), parseFileIds(stored)]));
}

/** The ids in a stored value of a file field: an object with an id, or a list of them. */
export function parseFileIds(stored: unknown): number[] {
  const parsed: unknown = typeof stored === 'string' ? JSON.parse(stored) : stored;
  if (parsed === null || parsed === undefined) return [];
  return [parsed]
    .flat()
    .map((each) => (each as { id?: unknown } | null)?.id)
    .filter((id): id is number => Number.isSafeInteger(id));
}
