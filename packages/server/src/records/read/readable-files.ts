/**
 * Which files a caller may read: own ones that no record refers to yet, and those of records that a get of the caller would
 * show with the field. There is no other way to the bytes of a file.
 */
import { computeAccessFingerprint } from '../../access/access-fingerprint.ts';
import { bind, createBindEnvironment } from '../../database/database.ts';
import {
  type FileRecord,
  type FileReference,
  hasFileReference,
  readFileRecords,
  readFileValues,
} from '../../database/file-rows.ts';
import { type Caller, formatActor } from '../../identity/caller.ts';
import { planShownFiles, type ShownFileField } from '../../query/file-plan.ts';
import { type Collection, type Field, requireColumnField } from '../../schema/registry.ts';
import { getCachedPlan, type RecordContext, toPlanContext } from '../record-context.ts';
import { parseKey } from '../record-key.ts';
import { runReadStatement } from './read-statements.ts';

/** The uploader: a user with all credentials, or a key that belongs to no user. */
export function formatUploader(caller: Caller): string | null {
  return caller.user ? `user:${caller.user['id']}` : formatActor(caller);
}

/** Characters of the hash of permissions in the owner of a stored export. */
const permissionsLength = 22;

/**
 * Who owns a stored export: an uploader, as long as the permissions of the role are those with which it was read. A key
 * of the same user with another role must not read it, and nobody may read it after a permission was withdrawn.
 */
export function formatExporter({ caller, access }: Pick<RecordContext, 'caller' | 'access'>): string | null {
  const uploader = formatUploader(caller);
  return uploader && `${uploader} ${computeAccessFingerprint(caller.role, access).slice(0, permissionsLength)}`;
}

/** Whether a file belongs to the caller only. */
function isOwnFile({ isAttached, uploader }: FileRecord, context: RecordContext): boolean {
  if (isAttached || uploader === null) return false;
  return (
    uploader === formatUploader(context.caller) || (uploader.includes(' ') && uploader === formatExporter(context))
  );
}

/** The files with some of these ids that the caller may read, by id. */
export async function readReadableFiles(
  context: RecordContext,
  ids: readonly number[],
): Promise<ReadonlyMap<number, FileRecord>> {
  const files = await readFileRecords(context.database, ids, context.tx);
  const shown = await readShownFileIds(
    context,
    files.flatMap(({ id, isAttached }) => (isAttached ? [id] : [])),
  );
  const isReadable = (file: FileRecord): boolean => isOwnFile(file, context) || shown.has(file.id);
  return new Map(files.filter(isReadable).map((file) => [file.id, file]));
}

/** The attached files with some of these ids that the caller sees in a record, however many records refer to them. */
async function readShownFileIds(context: RecordContext, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const fields = ids.length === 0 ? [] : listShownFields(context);
  if (fields.length === 0) return new Set();
  const plan = getCachedPlan(context, everyGrant, 'files', () => planShownFiles(fields, toPlanContext(context)));
  const environment = createBindEnvironment({
    key: ids,
    variables: context.variables,
    now: context.clock.now(),
    zone: context.zone,
    version: context.snapshotVersion.version,
  });
  const rows = await runReadStatement(context, bind(context.database.dialect, plan.statement, environment));
  return new Set(plan.read(rows).rows.map(([id]) => Number(id)));
}

/** The plan depends on all grants to get records, which the key of a cached plan contains. */
const everyGrant = { identity: 'every' };

/** The fields with files that a get shows to the caller. */
function listShownFields({ registry, findGrant }: RecordContext): ShownFileField[] {
  return registry.all().flatMap((collection) => {
    const fields = collection.fields.filter(({ type }) => type.name === 'file');
    const grant = fields.length > 0 ? findGrant(collection.name, 'get') : null;
    return grant ? fields.filter((field) => grant.may(field)).map((field) => ({ collection, field, grant })) : [];
  });
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
