/** Bodies that are no JSON: bytes as they come, for the actions that take them. */
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../protocol/api-error.ts';
import { mediaTypeUnsupported } from './error-reply.ts';

export interface Upload {
  /** Without parameters, in lower case. */
  readonly type: string;
  readonly bytes: Readable;
}

/** Which types an action takes. */
const takers: readonly (readonly [path: RegExp, types: readonly string[]])[] = [
  [/^\/api\/emails(?::|%3a)import(?:[?/]|$)/i, ['message/rfc822', 'application/mbox']],
  [/^\/api\/emails(?::|%3a)attach(?:[?/]|$)/i, ['application/octet-stream']],
];

/** Hands on what is uploaded without holding it: whoever takes it reads at its own pace. */
export function takeUploads(fastify: FastifyInstance): void {
  for (const [path, types] of takers)
    fastify.addContentTypeParser([...types], (request, payload, done) => {
      if (path.test(request.raw.url!)) return done(null, payload);
      return request.headers['content-length'] === '0' ? done(null, '') : done(mediaTypeUnsupported());
    });
}

export function uploadOf({ body, headers }: FastifyRequest): Upload | null {
  if (body === null || typeof body !== 'object' || !('pipe' in body)) return null;
  return { type: headers['content-type']!.split(';')[0]!.trim().toLowerCase(), bytes: body as Readable };
}

/** What is uploaded is not hashed ahead, so a key would not tell two uploads apart. */
export function refuseOnce(): never {
  throw new ApiError(
    'HEADER_INVALID',
    'Idempotency-Key does not go with an upload. It may be repeated: what is there already is counted as a duplicate.',
  );
}
