/** Creates and updates whose body is multipart/form-data: the record as JSON in the part `data`, and files by the names of their fields. */
import { StaleVersion } from '../database/database.ts';
import type { FileRecord } from '../database/file-rows.ts';
import { insertUploads, receiveUploads, type Upload } from '../files/upload-files.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { permissionDenied } from '../query/read-access.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection } from '../schema/registry.ts';
import { toFileId } from '../schema/types/file.ts';
import { parseBody } from './request-body.ts';
import type { RequestContext } from './request-context.ts';
import type { RequestUpload } from './uploads.ts';

const recordPart = 'data';

/** The content of a received body. The bytes of its files are stored. */
interface ReceivedForm {
  readonly values: Readonly<Record<string, unknown>>;
  readonly uploads: readonly Upload[];
}

/** A received body, and the context in which it is written. */
export interface RecordForm extends ReceivedForm {
  readonly context: RecordContext;
  readonly collection: Collection;
}

/**
 * Reads a body, once, even if the action is repeated. The permissions may change while the bytes arrive, so the credential is
 * verified again.
 *
 * @throws ApiError 401 without a credential, 400 for parts that are neither the record nor a file of it.
 */
export async function receiveRecordForm(
  request: RequestContext,
  upload: RequestUpload,
  context: RecordContext,
  collection: Collection,
): Promise<RecordForm> {
  if (context.caller.type === 'anonymous') throw permissionDenied(collection.name, request.route.action);
  const form = await upload.readOnce(() => receiveForm(request, upload, context, collection));
  const now = await request.contextNow();
  if (now.registry !== context.registry) throw new StaleVersion();
  return { ...form, context: now, collection };
}

async function receiveForm(
  { application }: RequestContext,
  upload: RequestUpload,
  context: RecordContext,
  collection: Collection,
): Promise<ReceivedForm> {
  const texts: string[] = [];
  const uploads = await receiveUploads(context, application.files, upload, {
    checkFile: (part) => {
      requireFileField(collection, part);
    },
    onText: (part, text) => {
      if (part !== recordPart || texts.length > 0)
        throw new ApiError('BODY_INVALID', `Give the record once, as JSON in the part "${recordPart}".`);
      texts.push(text);
    },
  });
  const values = texts[0] === undefined ? {} : parseBody(texts[0]);
  if (!isObject(values))
    throw new ApiError('BODY_INVALID', `The part "${recordPart}" must be one record as a JSON object.`);
  return { values, uploads };
}

/** The field of a part: `photo`, or for several files also `papers[]`. */
function requireFileField(
  { name, byName }: Collection,
  part: string,
): { readonly name: string; readonly multiple: boolean } {
  const field = byName.get(part.replace(/\[\]$/, ''));
  if (field?.type.name !== 'file' || field.hidden)
    throw new ApiError('BODY_INVALID', `The part "${part.slice(0, 60)}" is not a file field of ${name}.`);
  return { name: field.name, multiple: field.definition.multiple ?? false };
}

/** Stores the files of a form in the transaction of its record. @returns the body of the record, with the ids of the files. */
export async function insertRecordForm(
  tx: RecordContext,
  { values, uploads, collection }: RecordForm,
): Promise<unknown> {
  const files = await insertUploads(tx, uploads);
  const body: Record<string, unknown> = { ...values };
  for (const [index, { field: part }] of uploads.entries())
    addFile(body, requireFileField(collection, part), files[index]!);
  return body;
}

function addFile(
  body: Record<string, unknown>,
  { name, multiple }: { readonly name: string; readonly multiple: boolean },
  { id }: FileRecord,
): void {
  const present = body[name];
  const isEmpty = present === undefined || present === null;
  if (multiple && (isEmpty || Array.isArray(present))) body[name] = [...(present ?? []).map(toFileId), id];
  else if (isEmpty) body[name] = id;
  else throw new ApiError('BODY_INVALID', `"${name}" takes ${multiple ? 'a list of files' : 'one file'}.`);
}
