/**
 * Files in records. A body names files by their ids. Before the transaction, the ids are replaced by what is stored and shown of
 * the files; in the transaction, the files are marked as attached and the references are stored.
 */
import { isoTime } from '../../base/clock.ts';
import { type FileRecord, markFilesAttached, parseFileIds, storeFileReferences } from '../../database/file-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { prefixDetails } from '../../protocol/error-path.ts';
import { limits } from '../../protocol/limits.ts';
import type { Collection, Field } from '../../schema/registry.ts';
import { acceptsType } from '../../schema/types/file.ts';
import { readReadableFiles } from '../read/readable-files.ts';
import type { RecordContext } from '../record-context.ts';
import type { CheckedRecord } from './record-input.ts';
import type { OpenWrite } from './write-steps.ts';

/** What is stored and shown of a file. */
export function describeFile(file: FileRecord): Record<string, unknown> {
  const { id, name, size, width, height } = file;
  return { id, name, contentType: getEffectiveType(file), size, width, height, url: `/api/files/${id}` };
}

/** Types that are only accepted if they are detected, because browsers show them. */
const detectableTypes = /^(?:image\/(?:png|jpeg|gif|webp|bmp|avif|tiff)|application\/pdf|(?:audio|video)\/.*)$/;

/** The detected type, else the declared one, unless that would have been detected. */
function getEffectiveType({ contentType, detectedType }: FileRecord): string {
  if (detectedType !== null && !(detectedType === 'text/plain' && !detectableTypes.test(contentType)))
    return detectedType;
  return detectableTypes.test(contentType) ? 'application/octet-stream' : contentType;
}

/**
 * Replaces the ids of files in checked records by their descriptions.
 *
 * @param isList details of problems are named with the index of the record.
 * @throws ApiError `VALUE_INVALID` for a file that the caller may not use, or that the field does not accept.
 */
export async function describeRecordFiles(
  records: readonly CheckedRecord[],
  collection: Collection,
  context: RecordContext,
  isList: boolean,
): Promise<readonly CheckedRecord[]> {
  const fields = listFileFields(collection);
  const ids = [...new Set(records.flatMap((record) => fields.flatMap((field) => listGivenIds(record, field))))];
  if (ids.length === 0) return records;
  if (ids.length > limits.bulkRecords)
    throw new ApiError('LIMIT_EXCEEDED', `One write takes at most ${limits.bulkRecords} files.`);
  const files = await readReadableFiles(context, ids);
  const problems: Record<string, string> = {};
  const described = records.map((record, index) => {
    const values = { ...record.values };
    for (const field of fields) {
      const given = listGivenIds(record, field);
      if (given.length === 0) continue;
      const problem = given.map((id) => findFileProblem(files.get(id), field)).find((each) => each !== null);
      if (problem)
        Object.assign(
          problems,
          isList ? prefixDetails(`[${index}]`, { [field.name]: problem }) : { [field.name]: problem },
        );
      else {
        const shown = given.map((id) => describeFile(files.get(id)!));
        values[field.name] = field.definition.multiple ? shown : shown[0];
      }
    }
    return { ...record, values };
  });
  if (Object.keys(problems).length > 0) throw invalidValues(problems);
  return described;
}

/** A file that does not exist and one that the caller may not use have the same problem. */
function findFileProblem(file: FileRecord | undefined, { definition }: Field): string | null {
  if (!file) return 'There is no such file that you may use. Upload it first.';
  const { maxSize } = definition;
  if (maxSize !== undefined && file.size > maxSize) return `A file may have at most ${maxSize} bytes.`;
  const type = getEffectiveType(file);
  if (!acceptsType(definition, type))
    return `The type ${type} is not accepted. Give a file of one of: ${(definition.accept ?? []).join(', ')}.`;
  return null;
}

/**
 * Stores which records refer to which files. Runs in the transaction, after the records are written.
 *
 * @param keys of the records: one for each of `records`, or all keys for one record that is written to all of them.
 * @throws ApiError `VALUE_INVALID` if a file was deleted meanwhile.
 */
export async function attachRecordFiles(
  { context, collection, transaction }: OpenWrite,
  records: readonly CheckedRecord[],
  keys: readonly unknown[],
): Promise<void> {
  const fields = listFileFields(collection);
  if (fields.length === 0) return;
  const time = isoTime(context.clock.now());
  const { database } = context;
  for (const field of fields) {
    const ids = [...new Set(records.flatMap((record) => listStoredIds(record, field)))];
    if (ids.length === 0) continue;
    if ((await markFilesAttached(database, transaction, ids, time)) < ids.length)
      throw invalidValues({ [field.name]: 'A file was deleted because it was not used. Upload it again.' });
    const references = records.flatMap((record, index) =>
      (records.length === 1 ? keys : keys.slice(index, index + 1)).flatMap((key) =>
        listStoredIds(record, field).map((fileId) => ({ fileId, key: String(key) })),
      ),
    );
    const place = { collectionId: collection.id, fieldId: field.id, time };
    await storeFileReferences(database, transaction, place, references);
  }
}

function listFileFields(collection: Collection): Field[] {
  return collection.fields.filter((field) => field.type.name === 'file');
}

/** The ids that a checked record names in a field. */
function listGivenIds({ values, named }: CheckedRecord, { name }: Field): number[] {
  const given = named.includes(name) ? values[name] : null;
  if (given === null || given === undefined) return [];
  return [given].flat().filter((each): each is number => typeof each === 'number');
}

function listStoredIds({ values, named }: CheckedRecord, { name }: Field): number[] {
  return named.includes(name) ? parseFileIds(values[name]) : [];
}
