import { conditionalMailActions } from '../mail/actions/action-facts.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { IfMatch } from '../records/write/write-steps.ts';
import type { RequestContext } from './request-context.ts';

/** An entity tag (RFC 9110, 8.8.3), weak or strong. */
const tagPattern = String.raw`(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const tagsPattern = new RegExp(String.raw`^[\t ,]*${tagPattern}(?:[\t ]*,[\t ,]*${tagPattern})*[\t ,]*$`);
const counterPattern = /"(\d{1,15})(?:\.[^"]*)?"/g;

/**
 * The counters in `"<counter>.<hash>", …`; the hash and `W/` are ignored. Tags of another form have no counter and match no
 * record.
 *
 * @throws ApiError 400 for anything other than `*` or a list of entity tags.
 */
export function parseIfMatch(header: string | undefined): IfMatch {
  if (header === undefined) return null;
  if (header.trim() === '*') return 'any';
  if (!tagsPattern.test(header))
    throw new ApiError('HEADER_INVALID', '"If-Match" takes the ETag of a get, such as "3.abc", a list of ETags, or *.');
  return [...header.matchAll(counterPattern)].map(([, digits]) => Number(digits));
}

/** System actions that support If-Match, because what they change has an ETag. */
const conditionalActions = new Set([
  'collections:update',
  'collections:destroy',
  'fields:update',
  'fields:destroy',
  'applications:update',
  ...conditionalMailActions,
]);

/** For system actions. @throws ApiError 400 if the action does not support If-Match. */
export function refuseUnsupportedIfMatch(request: Pick<RequestContext, 'ifMatch' | 'route'>): void {
  const { resource, action } = request.route;
  if (!conditionalActions.has(`${resource}:${action}`)) refuseIfMatch(request);
}

/** An unsupported condition must not be ignored silently. @throws ApiError 400 if the request has an If-Match header. */
export function refuseIfMatch({ ifMatch, route }: Pick<RequestContext, 'ifMatch' | 'route'>): void {
  if (ifMatch !== undefined)
    throw new ApiError(
      'HEADER_INVALID',
      `${route.resource}:${route.action} does not support the header "If-Match". Omit it.`,
    );
}

/** @throws ApiError 412 if a definition was changed after the caller read it. @param counter of the present definition. */
export function requireVersionMatch(match: IfMatch, counter: number): void {
  if (match !== null && match !== 'any' && !match.includes(counter))
    throw new ApiError('VERSION_STALE', 'The definition was changed after it was read. Read it again.');
}
