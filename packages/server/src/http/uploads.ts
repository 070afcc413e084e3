/** Bodies that are not JSON: streams of bytes, for the actions that accept them. */
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { uploadTypes } from '../mail/actions/action-facts.ts';
import { ApiError } from '../protocol/api-error.ts';

export interface RequestUpload {
  /** Without parameters, in lower case. */
  readonly type: string;
  /** The parameter `format` of the type, in lower case; null without one. */
  readonly format: string | null;
  readonly bytes: Readable;
}

/** Which types an action takes. */
const uploadActions = Object.entries(uploadTypes).map(
  ([name, types]): readonly [path: RegExp, types: readonly string[]] => [
    new RegExp(`^/api/${name.replace(':', '(?::|%3a)')}(?:[?/]|$)`, 'i'),
    types,
  ],
);

/** The type of an upload; null if the action does not accept uploads of this type. */
export function readUploadType({ raw, headers }: FastifyRequest): string | null {
  const [type = ''] = (headers['content-type'] ?? '')
    .toLowerCase()
    .split(';', 1)
    .map((each) => each.trim());
  if (type === '' || type === 'application/json') return null;
  return uploadActions.some(([path, types]) => types.includes(type) && path.test(raw.url ?? '')) ? type : null;
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
  const bytes = Readable.from(request.raw.iterator({ destroyOnReturn: false }), { objectMode: false });
  return { type, format, bytes };
}

/** Uploads are not hashed in advance, so a key could not distinguish two uploads. */
export function refuseIdempotencyKey(): never {
  throw new ApiError(
    'HEADER_INVALID',
    'An upload does not support the header "Idempotency-Key". Omit it: an upload can be repeated, and existing messages are counted as duplicates.',
  );
}
