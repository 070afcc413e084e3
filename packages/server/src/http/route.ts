import { plainCreateActions } from '../mail/actions/action-facts.ts';
import { isMailResource } from '../mail/collections/mail-resources.ts';
import { ApiError } from '../protocol/api-error.ts';

/** An action-style path taken apart. */
export interface Route {
  readonly resource: string;
  readonly action: string;
  /** The key behind the action, `/api/posts:get/5`, or null. */
  readonly key: string | null;
  /** The record whose relation, or the collection whose fields, `resource` names: `/api/posts/5/tags:list`; else null. */
  readonly of: { readonly collection: string; readonly key: string } | null;
  /** Written in plain style, where the method says what is done. */
  readonly plain?: true;
}

const prefix = '/api/';
/** The one path without an action: what asks to be upgraded names none. */
export const realtimePath = '/api/realtime';
/** The one route that names no action: what it does stands in its body. */
const batchRoute: Route = { resource: 'batch', action: '', key: null, of: null };

/**
 * Reads `/api/<resource>:<action>[/<tk>]` and `/api/<collection>/<tk>/<relation>:<action>[/<tk>]`.
 *
 * @throws ApiError `ROUTE_UNKNOWN` for any other path.
 */
export function parseRoute(path: string): Route {
  if (path === realtimePath) return { resource: 'realtime', action: 'listen', key: null, of: null };
  if (path === '/api/batch') return batchRoute;
  if (!path.startsWith(prefix)) throw unknownRoute();
  const parts = path.slice(prefix.length).split('/');
  const nested = parts.length > 2;
  const [head = '', key, more] = nested ? parts.slice(2) : parts;
  const colon = head.indexOf(':') >= 0 ? head.indexOf(':') : head.search(/%3a/i);
  if (colon <= 0 || more !== undefined) throw unknownRoute();
  const width = head[colon] === ':' ? 1 : 3;
  const resource = decodeSegment(head.slice(0, colon));
  const action = decodeSegment(head.slice(colon + width));
  if (action === '') throw unknownRoute();
  const of = nested ? { collection: decodeSegment(parts[0]!), key: decodeSegment(parts[1]!) } : null;
  if (of && (of.collection === '' || of.key === '')) throw unknownRoute();
  return { resource, action, key: key === undefined || key === '' ? null : decodeSegment(key), of };
}

const plainActions: Readonly<Record<string, readonly [one: string | null, all: string | null]>> = {
  GET: ['get', 'list'],
  HEAD: ['get', 'list'],
  POST: [null, 'create'],
  PATCH: ['update', null],
  PUT: ['update', null],
  DELETE: ['destroy', null],
};

/**
 * Reads `/api/<resource>` and `/api/<resource>/<id>`: plain style, which only mail has; null for any other path.
 *
 * @throws ApiError `METHOD_NOT_ALLOWED`.
 */
export function parsePlainRoute(path: string, method: string): Route | null {
  if (path.includes(':') || !path.startsWith(prefix)) return null;
  const [resource = '', key = '', ...more] = path.slice(prefix.length).split('/');
  if (more.length > 0 || !isMailResource(resource)) return null;
  const [one, all] = plainActions[method] ?? [null, null];
  const action = key === '' ? (all === 'create' ? (plainCreateActions[resource] ?? all) : all) : one;
  if (action !== null) return { resource, action, key: key === '' ? null : decodeSegment(key), of: null, plain: true };
  const allow = key === '' ? 'GET, HEAD, POST' : 'GET, HEAD, PATCH, PUT, DELETE';
  throw new ApiError('METHOD_NOT_ALLOWED', `This path answers ${allow}; nothing was changed.`, { allow });
}

export function unknownRoute(): ApiError {
  return new ApiError('ROUTE_UNKNOWN', 'There is no such route. Actions are called as /api/<resource>:<action>.');
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiError('PARAMETER_INVALID', 'The path holds a percent escape that is not UTF-8.');
  }
}
