/** Where the file of an import comes from: a form, the body itself, or a file that was uploaded before. */
import { fileScope } from '../base/blob-store.ts';
import { requireReadableFile } from '../files/read-file.ts';
import { receiveUploads } from '../files/upload-files.ts';
import { ApiError } from '../protocol/api-error.ts';
import { mergeOptions } from '../protocol/import-request.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import { permissionDenied } from '../query/read-access.ts';
import { formatUploader } from '../records/read/readable-files.ts';
import type { RecordContext } from '../records/record-context.ts';
import { parseRecordId } from './auth-actions.ts';
import { parseBody } from './request-body.ts';
import type { RequestContext } from './request-context.ts';
import { multipartType, type RequestUpload } from './uploads.ts';

/** The file of a request; its bytes are stored. */
export interface ImportSource {
  readonly sha256: string;
  readonly filename: string | null;
  /** The uploaded file; null: the bytes came with the request. */
  readonly fileId: number | null;
  /** The options of the request, wherever it names them. */
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Receives the file of a request, once, even if the action is repeated.
 *
 * @throws ApiError 401 without a credential, 400 for a request without a file, 404 for a file that the caller may not read.
 */
export async function receiveImportSource(request: RequestContext, context: RecordContext): Promise<ImportSource> {
  if (context.caller.type === 'anonymous') throw permissionDenied(request.route.resource, request.route.action);
  if (request.tx)
    throw new ApiError('BODY_INVALID', 'A batch cannot contain an import. Send it as a request of its own.');
  const { upload, body } = request;
  const query = request.parameters();
  if (upload?.type === multipartType) return upload.readOnce(() => receiveForm(request, context, upload));
  if (upload)
    return upload.readOnce(async () => ({ ...(await receiveBody(request, context, upload)), options: query }));
  if (Array.isArray(body)) return { ...(await storeText(request, request.text ?? '')), options: query };
  if (!isObject(body)) throw sourceMissing();
  const { file, ...options } = body;
  if (file === undefined) throw sourceMissing();
  const merged = mergeOptions(query, options);
  const { sha256, name } = await requireReadableFile(context, parseRecordId(file, 'file'));
  return { sha256, filename: name, fileId: Number(file), options: merged };
}

type StoredSource = Omit<ImportSource, 'options'>;

async function receiveForm(
  request: RequestContext,
  context: RecordContext,
  upload: RequestUpload,
): Promise<ImportSource> {
  const texts: string[] = [];
  const uploads = await receiveUploads(context, request.application.files, upload, {
    checkFile: (part) => {
      if (part !== 'file') throw unknownPart(part);
    },
    onText: (part, text) => {
      if (part !== 'options' || texts.length > 0) throw unknownPart(part);
      texts.push(text);
    },
  });
  const [first, ...others] = uploads;
  if (!first || others.length > 0) throw sourceMissing();
  const options = texts[0] === undefined ? {} : parseBody(texts[0]);
  if (!isObject(options)) throw new ApiError('BODY_INVALID', 'The part "options" must be a JSON object.');
  const { sha256, name } = first.file;
  return { sha256, filename: name, fileId: null, options: mergeOptions(request.parameters(), options) };
}

/** A body that is the file. */
async function receiveBody(
  { application: { files } }: RequestContext,
  { caller }: RecordContext,
  { bytes }: RequestUpload,
): Promise<StoredSource> {
  const { sha256 } = await files.withUploadSlot(formatUploader(caller) ?? '', () =>
    files.blobs.receive(fileScope, limitBytes(bytes, files.uploadLimits.fileBytes)),
  );
  return { sha256, filename: null, fileId: null };
}

async function* limitBytes(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  const end = performance.now() + limits.uploadMilliseconds;
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (size > maxBytes) throw new ApiError('BODY_TOO_LARGE', `A file may have at most ${maxBytes} bytes.`);
    if (performance.now() > end) throw new ApiError('BODY_INVALID', 'The upload took too long. Send a smaller file.');
    yield piece;
  }
}

async function storeText({ application: { files } }: RequestContext, text: string): Promise<StoredSource> {
  const pieces = (async function* () {
    yield Buffer.from(text);
  })();
  const { sha256 } = await files.blobs.receive(fileScope, pieces);
  return { sha256, filename: null, fileId: null };
}

function sourceMissing(): ApiError {
  return new ApiError(
    'BODY_INVALID',
    'The request has no file. Send it as the part "file" of multipart/form-data, as the body with the type of its format, or its id as {"file": 7}.',
  );
}

function unknownPart(part: string): ApiError {
  return new ApiError(
    'BODY_INVALID',
    `An import has no part "${part.slice(0, 60)}". Send one file as "file", and options as JSON in the part "options".`,
  );
}
