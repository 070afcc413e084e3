/**
 * Which files a caller may read: own ones that no record refers to yet, and those of records that a get of the caller would
 * show with the field. There is no other way to the bytes of a file.
 */
import {
  type FileRecord,
  type FileReference,
  hasFileReference,
  readFileRecords,
  readFileReferences,
  readFileValues,
} from '../../database/file-rows.ts';
import { type Caller, formatActor } from '../../identity/caller.ts';
import { limits } from '../../protocol/limits.ts';
import { type Collection, type Field, requireColumnField } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import { parseKey } from '../record-key.ts';
import { createVisibilityQuery, maxVisibleKeys, readVisibleRecords } from './visible-records.ts';

const anyRecord = createVisibilityQuery(null);

/** Who uploads: a user with all credentials, or a key that belongs to no user. */
export function formatUploader(caller: Caller): string | null {
  return caller.user ? `user:${caller.user['id']}` : formatActor(caller);
}

/** Whether a file belongs to its uploader only. */
export function isOwnUpload({ isAttached, uploader }: FileRecord, caller: Caller): boolean {
  return !isAttached && uploader !== null && uploader === formatUploader(caller);
}

/** Those of some files that the caller may read, by id. */
export async function readReadableFiles(
  context: RecordContext,
  ids: readonly number[],
): Promise<ReadonlyMap<number, FileRecord>> {
  const files = await readFileRecords(context.database, ids, context.tx);
  const readable = new Map(files.filter((each) => isOwnUpload(each, context.caller)).map((each) => [each.id, each]));
  const attached = new Map(files.filter((each) => each.isAttached).map((each) => [each.id, each]));
  const references = await readFileReferences(
    context.database,
    [...attached.keys()],
    limits.fileReferences,
    context.tx,
  );
  const byField = Map.groupBy(references, ({ collectionId, fieldId }) => `${collectionId} ${fieldId}`);
  for (const group of byField.values())
    for (const id of await findShownFiles(context, group)) {
      const file = attached.get(id);
      if (file) readable.set(id, file);
    }
  return readable;
}

/** A file that a get has just shown in a field of a record; null if the field only has a value that looks like it. */
export async function readShownFile(
  { database }: RecordContext,
  { collection, field }: FileField,
  key: string,
  fileId: number,
): Promise<FileRecord | null> {
  const reference = { fileId, collectionId: collection.id, fieldId: field.id, key: String(parseKey(key, collection)) };
  if (!(await hasFileReference(database, reference))) return null;
  const [file] = await readFileRecords(database, [fileId]);
  return file ?? null;
}

/** The files that the caller sees in one field of a collection. */
async function findShownFiles(context: RecordContext, references: readonly FileReference[]): Promise<Set<number>> {
  const shown = new Set<number>();
  const found = findReferringField(context, references[0]!);
  const grant = found && context.findGrant(found.collection.name, 'get');
  if (!found || !grant?.may(found.field)) return shown;
  const { collection } = found;
  const keys = [...new Set(references.map(({ key }) => key))];
  for (let from = 0; from < keys.length; from += maxVisibleKeys) {
    const some = keys.slice(from, from + maxVisibleKeys).map((key) => parseKey(key, collection));
    const visible = await readVisibleRecords(context, collection, grant, anyRecord, some);
    const values = await readFileIds(context, found, some);
    for (const { fileId, key } of references)
      if (visible.has(key) && values.get(key)?.includes(fileId)) shown.add(fileId);
  }
  return shown;
}

/** A field of type `file`, and its collection. */
export interface FileField {
  readonly collection: Collection;
  readonly field: Field;
}

/** The field of a reference; null if it has been destroyed. */
export function findReferringField(
  { registry }: Pick<RecordContext, 'registry'>,
  { collectionId, fieldId }: FileReference,
): FileField | null {
  const collection = registry.all().find((each) => each.id === collectionId);
  const field = collection?.fields.find((each) => each.id === fieldId);
  return collection && field?.type.name === 'file' ? { collection, field } : null;
}

/** The ids of the files that records have in a field, by the key of the record as text. */
export function readFileIds(
  { database, tx }: Pick<RecordContext, 'database' | 'tx'>,
  { collection, field }: FileField,
  keys: readonly unknown[],
): Promise<Map<string, readonly number[]>> {
  const { primaryKey, table } = collection;
  const columns = { table, keyColumn: primaryKey.column, column: requireColumnField(field).column };
  return readFileValues(database, columns, { storage: primaryKey.type.storage, values: keys }, tx);
}
