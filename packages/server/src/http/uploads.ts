/** Bodies that are not JSON: bytes as they come, for the actions that take them. */
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

/** The type of an upload; null for a request whose action takes none, or not this type. */
export function readUploadType({ raw, headers }: FastifyRequest): string | null {
  const [type = ''] = (headers['content-type'] ?? '')
    .toLowerCase()
    .split(';', 1)
    .map((each) => each.trim());
  if (type === '' || type === 'application/json') return null;
  return uploadActions.some(([path, types]) => types.includes(type) && path.test(raw.url!)) ? type : null;
}

/**
 * Hands on what is uploaded without holding it: whoever takes it reads at its own pace. A reader that stops early does not
 * close the connection, so that its refusal can be read.
 */
export function openUpload(request: FastifyRequest): RequestUpload | null {
  const type = readUploadType(request);
  if (type === null) return null;
  const [, ...parameters] = request.headers['content-type']!.toLowerCase().split(';');
  const format = parameters.map((each) => /^\s*format\s*=\s*"?([a-z\d-]+)"?\s*$/.exec(each)?.[1]).find(Boolean) ?? null;
  const bytes = Readable.from(request.raw.iterator({ destroyOnReturn: false }), { objectMode: false });
  return { type, format, bytes };
}

/** What is uploaded is not hashed ahead, so a key would not tell two uploads apart. */
export function refuseIdempotencyKey(): never {
  throw new ApiError(
    'HEADER_INVALID',
    'Idempotency-Key does not go with an upload. It may be repeated: what is there already is counted as a duplicate.',
  );
}
