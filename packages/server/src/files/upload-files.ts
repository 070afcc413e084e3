import { fileScope } from '../base/blob-store.ts';
import { isoTime } from '../base/clock.ts';
import type { Transaction } from '../database/database.ts';
import { type FileRecord, insertFile, type NewFile } from '../database/file-rows.ts';
import { cleanFilename } from '../mail/parse/attachment-name.ts';
import { ApiError } from '../protocol/api-error.ts';
import { formatUploader } from '../records/read/readable-files.ts';
import type { RecordContext } from '../records/record-context.ts';
import { detectedBytes, detectType, tiffType } from './detect-type.ts';
import type { FileStore } from './file-store.ts';
import type { FilePart, MultipartBody } from './multipart.ts';
import { type PictureSize, pictureHeadBytes, readPictureSize, readTiffSize } from './picture-size.ts';

/** An uploaded file, and the name of the form field that it was in. */
export interface Upload {
  readonly field: string;
  readonly file: NewFile;
}

/** What is done with the parts of an upload. */
export interface UploadParts {
  /** Refuses a file before its bytes are read. */
  checkFile?(field: string): void;
  /** Receives a part that is no file. */
  onText(field: string, text: string): void;
}

/**
 * Stores the bytes of all files of a body. The files do not exist yet: {@link insertUploads} creates them in one
 * transaction, so that a request that fails leaves none.
 *
 * @throws ApiError as `readMultipart`, and `BUSY`.
 */
export async function receiveUploads(
  context: RecordContext,
  store: FileStore,
  body: MultipartBody,
  { checkFile, onText }: UploadParts,
): Promise<readonly Upload[]> {
  const uploads: Upload[] = [];
  const onFile = async (part: FilePart): Promise<void> => {
    checkFile?.(part.field);
    const file = await receiveFile(context, store, part);
    if (file) uploads.push({ field: part.field, file });
  };
  const { readMultipart } = await import('./multipart.ts'); // loads a library that only uploads need
  await store.withUploadSlot(formatUploader(context.caller) ?? '', () =>
    readMultipart(body, store.uploadLimits, { onFile, onText }),
  );
  return uploads;
}

/** Browsers send an empty part for a form field without a file: null. */
async function receiveFile(context: RecordContext, store: FileStore, part: FilePart): Promise<NewFile | null> {
  const file = await storeBytes(context, store, part);
  return file.size === 0 && !part.filename ? null : file;
}

/**
 * Stores the bytes of a file while they arrive. If they fail, nothing remains. The file exists after {@link insertFiles}.
 *
 * @throws BlobStoreFault, and what `bytes` throws.
 */
export async function storeBytes(
  { caller }: RecordContext,
  store: FileStore,
  { filename, contentType, bytes }: Omit<FilePart, 'field'>,
): Promise<NewFile> {
  const head = new FileHead();
  const { sha256, size } = await store.blobs.receive(fileScope, head.watch(bytes));
  const start = head.read();
  const detectedType = detectType(start.subarray(0, detectedBytes));
  const picture =
    detectedType === tiffType ? await readStoredTiffSize(store, sha256) : readPictureSize(detectedType, start);
  return {
    name: cleanFilename(filename) ?? 'file',
    contentType: cleanMediaType(contentType),
    detectedType,
    size,
    sha256,
    width: picture?.width ?? null,
    height: picture?.height ?? null,
    uploader: formatUploader(caller),
    createdById: (caller.user?.['id'] as number | undefined) ?? null,
  };
}

async function readStoredTiffSize(store: FileStore, sha256: string): Promise<PictureSize | null> {
  const blob = await store.blobs.open(fileScope, sha256);
  if (!blob) return null;
  return readTiffSize(async (position, length) => {
    const pieces = blob.read(position, Math.min(blob.size, position + length) - 1);
    return position < blob.size ? Buffer.concat(await Array.fromAsync(pieces)) : Buffer.alloc(0);
  });
}

/** Stores uploaded files whose bytes are stored. */
export function insertUploads(context: RecordContext, uploads: readonly Upload[]): Promise<FileRecord[]> {
  return insertFiles(
    context,
    uploads.map(({ file }) => file),
  );
}

/** Stores files whose bytes are stored. No record refers to them yet. @throws ApiError 403 for a caller without a credential. */
export function insertFiles(context: RecordContext, files: readonly NewFile[]): Promise<FileRecord[]> {
  if (files.some(({ uploader }) => uploader === null))
    throw new ApiError('NO_PERMISSION', 'An upload needs a credential.');
  const { database, clock, tx } = context;
  const insert = async (transaction: Transaction): Promise<FileRecord[]> => {
    const stored: FileRecord[] = [];
    for (const file of files) stored.push(await insertFile(database, transaction, file, isoTime(clock.now())));
    return stored;
  };
  return tx ? insert(tx) : database.write(insert);
}

/** A media type without parameters, in lower case. */
function cleanMediaType(declared: string): string {
  const type = declared.split(';', 1)[0]!.trim().toLowerCase();
  return /^[a-z\d!#$&^_.+-]{1,100}\/[a-z\d!#$&^_.+-]{1,100}$/.test(type) ? type : 'application/octet-stream';
}

/** The first bytes of a file that passes. */
class FileHead {
  readonly #pieces: Uint8Array[] = [];
  #length = 0;

  async *watch(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) {
      if (this.#length < pictureHeadBytes) {
        this.#pieces.push(piece);
        this.#length += piece.length;
      }
      yield piece;
    }
  }

  read(): Uint8Array {
    return Buffer.concat(this.#pieces).subarray(0, pictureHeadBytes);
  }
}
