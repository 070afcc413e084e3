import type { OpenBlob } from '../base/blob-store.ts';
import { type FileRecord, parseFileIds } from '../database/file-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { getRecord } from '../records/read/read-records.ts';
import { formatUploader, readReadableFiles, readShownFile } from '../records/read/readable-files.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { toInlineType } from './detect-type.ts';
import type { FileStore } from './file-store.ts';
import type { ThumbnailSize } from './thumbnail-size.ts';

/** The bytes of a file, and how a browser may use them. */
export interface FileContent {
  readonly file: OpenBlob;
  readonly filename: string;
  /** A media type that a browser may show; null: always a download. */
  readonly inlineType: string | null;
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string;
}

/** Where files are read, for whom, and in which size. */
export interface FileReading {
  readonly context: RecordContext;
  readonly store: FileStore;
  /** Null: the file itself. */
  readonly thumbnail: ThumbnailSize | null;
}

/** @throws ApiError `RECORD_UNKNOWN` for a file that does not exist or that the caller may not read, and as {@link FileStore.openThumbnail}. */
export async function openFile(reading: FileReading, id: number): Promise<FileContent> {
  return openContent(reading, await requireReadableFile(reading.context, id));
}

/** Opens a file that the caller may read. */
async function openContent({ context, store, thumbnail }: FileReading, file: FileRecord): Promise<FileContent> {
  const { name, detectedType, sha256 } = file;
  if (thumbnail) {
    const sender = formatUploader(context.caller) ?? 'anonymous';
    const opened = await store.openThumbnail(file, thumbnail, sender);
    return { ...opened, filename: `${name.replace(/\.[^.]{1,10}$/, '')}.webp`, inlineType: 'image/webp' };
  }
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

/**
 * @throws ApiError like {@link openFile} and like a get of the record with this field, and `RECORD_UNKNOWN` if the
 * field has no such file.
 */
export async function openRecordFile(
  reading: FileReading,
  { collection, key, field, index }: FilePlace,
): Promise<FileContent> {
  const { context } = reading;
  const request = normaliseRequest('get', { filterByTk: key, fields: [field.name] }, true);
  const { data } = await getRecord(context, collection, request);
  const id = parseFileIds((JSON.parse(data) as Record<string, unknown>)[field.name])[index];
  const file = id === undefined ? null : await readShownFile(context, { collection, field }, key, id);
  if (!file) throw fileUnknown();
  return openContent(reading, file);
}

function fileUnknown(): ApiError {
  return new ApiError('RECORD_UNKNOWN', 'There is no such file that you may read.');
}
