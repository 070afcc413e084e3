/** Bodies that are not JSON: streams of bytes, for the actions that accept them. */
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { uploadTypes } from '../mail/actions/action-facts.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { limitIdleTime } from './idle-limit.ts';

/** The type of bodies that contain files. */
export const multipartType = 'multipart/form-data';
const fileUploads = { 'files:upload': [multipartType], 'applications:receive': ['application/octet-stream'] };
/** Creates and updates of records take files too. */
const recordWrite = /^\/api\/[^/?]+?(?::|%3a)(?:create|update)(?:[?/]|$)/i;

/** Imports take a form, or the file itself. */
const importTypes: ReadonlySet<string> = new Set([
  multipartType,
  'text/csv',
  'application/x-ndjson',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
]);
const recordImport = /^\/api\/(?!emails(?::|%3a))[^/?]+?(?::|%3a)import(?:preview)?(?:[?/]|$)/i;

export interface RequestUpload {
  /** The header Content-Type. */
  readonly contentType: string;
  /** Without parameters, in lower case. */
  readonly type: string;
  /** The parameter `format` of the type, in lower case; null without one. */
  readonly format: string | null;
  readonly bytes: Readable;
  /** Runs work that reads the bytes, once: a repeated action gets the same result. */
  readonly readOnce: <T>(read: () => Promise<T>) => Promise<T>;
}

/** Which types an action takes. */
const uploadActions = Object.entries({ ...uploadTypes, ...fileUploads }).map(
  ([name, types]): readonly [path: RegExp, types: readonly string[]] => [
    new RegExp(`^/api/${name.replace(':', '(?::|%3a)')}(?:[?/]|$)`, 'i'),
    types,
  ],
);

/** The type of an upload; null if the action does not accept uploads of this type. */
export function readUploadType({ raw, headers }: FastifyRequest): string | null {
  const header = headers['content-type'];
  if (header === undefined || header === 'application/json') return null; // most requests
  const [type = ''] = header
    .toLowerCase()
    .split(';', 1)
    .map((each) => each.trim());
  if (type === '' || type === 'application/json') return null;
  const url = raw.url ?? '';
  const isUpload = uploadActions.some(([path, types]) => types.includes(type) && path.test(url));
  const isImport = importTypes.has(type) && recordImport.test(url);
  return isUpload || isImport || (type === multipartType && recordWrite.test(url)) ? type : null;
}

/**
 * Streams an upload without buffering it. A consumer that stops early does not close the connection, so that the client can
 * read the refusal.
 */
export function openUpload(request: FastifyRequest): RequestUpload | null {
  const type = readUploadType(request);
  if (type === null) return null;
  const [, ...parameters] = request.headers['content-type']!.toLowerCase().split(';');
  const format = parameters.map((each) => /^\s*format\s*=\s*"?([a-z\d-]+)"?\s*$/.exec(each)?.[1]).find(Boolean) ?? null;
  const pieces = request.raw.iterator({ destroyOnReturn: false });
  const bytes = Readable.from(limitIdleTime(pieces, limits.uploadIdleMilliseconds), { objectMode: false });
  let result: Promise<unknown> | null = null;
  const readOnce = <T>(read: () => Promise<T>): Promise<T> => {
    result ??= read();
    return result as Promise<T>;
  };
  return { type, format, bytes, contentType: request.headers['content-type'] ?? '', readOnce };
}

/** Uploads are not hashed in advance, so a key could not distinguish two uploads. */
export function refuseIdempotencyKey(): never {
  throw new ApiError(
    'HEADER_INVALID',
    'An upload does not support the header "Idempotency-Key". Omit it, or send the file of an import or record with files:upload first, and name its id in a JSON body. A repeated import of mail counts existing messages as duplicates; a repeated create creates another record, and so does a repeated import of records.',
  );
}
