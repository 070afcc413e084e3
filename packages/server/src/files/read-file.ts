import type { OpenBlob } from '../base/blob-store.ts';
import { type FileRecord, parseFileIds } from '../database/file-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { getRecord } from '../records/read/read-records.ts';
import { readReadableFiles, readShownFile } from '../records/read/readable-files.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { toInlineType } from './detect-type.ts';
import type { FileStore } from './file-store.ts';

/** The bytes of a file, and how a browser may use them. */
export interface FileContent {
  readonly file: OpenBlob;
  readonly filename: string;
  /** A media type that a browser may show; null: always a download. */
  readonly inlineType: string | null;
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string;
}

/** @throws ApiError `RECORD_UNKNOWN` for a file that does not exist or that the caller may not read. */
export async function openFile(context: RecordContext, store: FileStore, id: number): Promise<FileContent> {
  return openBytes(store, await requireReadableFile(context, id));
}

async function openBytes(store: FileStore, { name, detectedType, sha256 }: FileRecord): Promise<FileContent> {
  return { file: await store.open(sha256), filename: name, inlineType: toInlineType(detectedType), hash: sha256 };
}

/** @throws ApiError `RECORD_UNKNOWN` for a file that does not exist or that the caller may not read. */
export async function requireReadableFile(context: RecordContext, id: number): Promise<FileRecord> {
  const file = (await readReadableFiles(context, [id])).get(id);
  if (!file) throw fileUnknown();
  return file;
}

/** A file of a record, as a path names it. */
export interface FilePlace {
  readonly collection: Collection;
  readonly key: string;
  readonly field: Field;
  /** The index in the list of a field with several files. */
  readonly index: number;
}

/** @throws ApiError as a get of the record that names the field, and `RECORD_UNKNOWN` if it has no such file. */
export async function openRecordFile(
  context: RecordContext,
  store: FileStore,
  { collection, key, field, index }: FilePlace,
): Promise<FileContent> {
  const request = normaliseRequest('get', { filterByTk: key, fields: [field.name] }, true);
  const { data } = await getRecord(context, collection, request);
  const id = parseFileIds((JSON.parse(data) as Record<string, unknown>)[field.name])[index];
  const file = id === undefined ? null : await readShownFile(context, { collection, field }, key, id);
  if (!file) throw fileUnknown();
  return openBytes(store, file);
}

function fileUnknown(): ApiError {
  return new ApiError('RECORD_UNKNOWN', 'There is no such file that you may read.');
}
