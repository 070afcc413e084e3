/** The actions of files that are not generated: uploads and bytes. */
import type { FastifyRequest } from 'fastify';
import { isoTime } from '../base/clock.ts';
import type { MultipartBody } from '../files/multipart.ts';
import {
  type FileContent,
  type FileReading,
  openFile,
  openRecordFile,
  requireReadableFile,
} from '../files/read-file.ts';
import { addressSeconds, signAddress } from '../files/signed-address.ts';
import { parseThumbnailSize } from '../files/thumbnail-size.ts';
import { insertUploads, receiveUploads } from '../files/upload-files.ts';
import { tokenMissingError } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';
import { requireKnownNames } from '../protocol/known-names.ts';
import { requireGrant } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { describeFile } from '../records/write/file-values.ts';
import { parseRecordId } from './auth-actions.ts';
import { readKnownParameters } from './known-parameters.ts';
import { requireVisibleCollection } from './record-actions.ts';
import { type ActionResult, getRecordContext, type RequestContext, type SystemAction } from './request-context.ts';
import { fileBytesAction, type Route, unknownRoute } from './route.ts';

const thumbnailParameters: ReadonlySet<string> = new Set(['width', 'height', 'fit']);

export const fileActions: Readonly<Record<string, SystemAction>> = {
  'files:upload': { reads: false, run: upload },
  'files:sign': { reads: false, run: sign },
};

/** `files:upload`: stores all files of a body, or none. */
async function upload(request: RequestContext): Promise<ActionResult> {
  const { application } = request;
  const context = getRecordContext(request);
  const files = context.registry.get('files');
  requireGrant(context, files, 'create');
  readKnownParameters(request, [], false);
  const uploads = await receiveUploads(context, application.files, requireMultipart(request), {
    onText: (name) => {
      throw new ApiError('BODY_INVALID', `The part "${name.slice(0, 60)}" is not a file. Give it a file name.`);
    },
  });
  if (uploads.length === 0) throw new ApiError('BODY_INVALID', 'The upload contains no file.');
  // The permission may have been withdrawn while the bytes arrived.
  const now = await request.contextNow();
  requireGrant(now, files, 'create');
  const stored = await insertUploads(now, uploads);
  return { data: JSON.stringify(stored.map(describeFile)) };
}

/** `files:sign`: an address of a file that works without a header, for a while. */
async function sign(request: RequestContext): Promise<ActionResult> {
  const { application, caller } = request;
  if (caller.type === 'anonymous') throw tokenMissingError();
  const { filterByTk, expiresIn = addressSeconds.default } = readKnownParameters(
    request,
    ['filterByTk', 'expiresIn'],
    false,
  );
  const file = parseRecordId(filterByTk);
  const seconds = Number(expiresIn);
  if (!/^\d+$/.test(String(expiresIn)) || seconds < 1 || seconds > addressSeconds.max)
    throw new ApiError('PARAMETER_INVALID', `"expiresIn" is a number of seconds from 1 to ${addressSeconds.max}.`);
  await requireReadableFile(getRecordContext(request), file);
  const expiresAt = application.clock.now() + 1000 * seconds;
  const parts = { application: application.name, file, expiresAt };
  const signature = signAddress(caller, parts, (text) => application.hashTokenWithAllKeys(text));
  return {
    data: JSON.stringify({ url: `/api/files/${file}?signature=${signature}`, expiresAt: isoTime(expiresAt) }),
  };
}

/** The signature of a request for the bytes of a file or backup, if it has no other credential. */
export function readAddressSignature(route: Route, { raw, headers }: FastifyRequest): string | null {
  const { action, of, plain } = route;
  const takesSignature = (plain && action === fileBytesAction && of === null) || isBackupDownload(route);
  if (!takesSignature || headers.authorization !== undefined) return null;
  return readQuery(raw.url).get('signature');
}

/** What a signed address of this request must state. */
export function readSignedFile(route: Route, { raw }: FastifyRequest): string | null {
  return isBackupDownload(route) ? `backup:${readQuery(raw.url).get('filterByTk') ?? ''}` : route.key;
}

const isBackupDownload = ({ resource, action, of }: Route): boolean =>
  resource === 'backups' && action === 'download' && of === null;
const readQuery = (url = ''): URLSearchParams => new URL(url, 'http://localhost').searchParams;

function requireMultipart({ upload: body }: RequestContext): MultipartBody {
  if (body) return body;
  throw new ApiError('MEDIA_TYPE_UNSUPPORTED', 'Upload files as multipart/form-data.');
}

/** `GET /api/files/<id>` and `GET /api/<collection>/<key>/<field>/<index>`: the bytes, or a thumbnail. */
export const readFileBytes: SystemAction = {
  reads: true,
  run: async (request) => {
    const content = request.route.of ? await openOfRecord(request, request.route.of) : await openById(request);
    const lease = request.retain();
    const isShared = 'signature' in request.parameters();
    return { ...content, isShared, done: () => lease.release() };
  },
};

function openById(request: RequestContext): Promise<FileContent> {
  return openFile(readFileReading(request, getRecordContext(request)), parseRecordId(request.route.key));
}

async function openOfRecord(request: RequestContext, of: NonNullable<Route['of']>): Promise<FileContent> {
  const { resource, key: index } = request.route;
  const context = getRecordContext(request);
  const collection = requireVisibleCollection(context, of.collection, 'get');
  requireGrant(context, collection, 'get');
  const field = collection.byName.get(resource);
  if (field?.type.name !== 'file' || !/^\d{1,3}$/.test(index ?? '0')) throw unknownRoute();
  const place = { collection, key: of.key, field, index: Number(index ?? 0) };
  return openRecordFile(readFileReading(request, context), place);
}

/** The parameters of a request for bytes. */
function readFileReading({ application, parameters, route }: RequestContext, context: RecordContext): FileReading {
  const { filterByTk: _, signature: __, ...others } = parameters();
  requireKnownNames(`GET ${route.resource}`, others, thumbnailParameters);
  return { context, store: application.files, thumbnail: parseThumbnailSize(others) };
}
