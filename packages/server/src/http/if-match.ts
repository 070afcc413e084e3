import { ApiError } from '../protocol/api-error.ts';
import type { IfMatch } from '../records/write/write-steps.ts';
import type { RequestContext } from './request-context.ts';

/** An entity tag (RFC 9110, 8.8.3), weak or strong. */
const tagPattern = String.raw`(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const tagsPattern = new RegExp(String.raw`^[\t ,]*${tagPattern}(?:[\t ]*,[\t ,]*${tagPattern})*[\t ,]*$`);
const counterPattern = /"(\d{1,15})(?:\.[^"]*)?"/g;

/**
 * The counters in `"<counter>.<hash>", …`; the hash and `W/` do not matter. Tags that this server did not make have none,
 * and so match no record.
 *
 * @throws ApiError 400 for what is neither `*` nor a list of entity tags.
 */
export function parseIfMatch(header: string | undefined): IfMatch {
  if (header === undefined) return null;
  if (header.trim() === '*') return 'any';
  if (!tagsPattern.test(header))
    throw new ApiError('HEADER_INVALID', '"If-Match" takes the ETag of a get, such as "3.abc", a list of ETags, or *.');
  return [...header.matchAll(counterPattern)].map(([, digits]) => Number(digits));
}

/** Actions written by hand that take If-Match: what they change has an ETag of its own. */
const conditionalActions = new Set([
  'collections:update',
  'collections:destroy',
  'fields:update',
  'fields:destroy',
  'applications:update',
  'emails:saveDraft',
  'emails:attach',
  'emails:send',
]);

/** For actions written by hand. @throws ApiError 400 where the action takes no If-Match. */
export function refuseUnsupportedIfMatch(request: Pick<RequestContext, 'ifMatch' | 'route'>): void {
  const { resource, action } = request.route;
  if (!conditionalActions.has(`${resource}:${action}`)) refuseIfMatch(request);
}

/** A condition that would be passed over must not look as if it held. @throws ApiError 400 where there is an If-Match. */
export function refuseIfMatch({ ifMatch, route }: Pick<RequestContext, 'ifMatch' | 'route'>): void {
  if (ifMatch !== undefined)
    throw new ApiError(
      'HEADER_INVALID',
      `${route.resource}:${route.action} takes no "If-Match"; leave the header out.`,
    );
}

/** @throws ApiError 412 where a definition is another one than the caller has read. @param counter of the definition as it is. */
export function requireVersionMatch(match: IfMatch, counter: number): void {
  if (match !== null && match !== 'any' && !match.includes(counter))
    throw new ApiError('VERSION_STALE', 'The definition was changed since it was read; read it again.');
}
