import { plainCreateActions } from '../mail/actions/action-facts.ts';
import { isMailResource } from '../mail/collections/mail-resources.ts';
import { ApiError } from '../protocol/api-error.ts';

/** A parsed path. */
export interface Route {
  readonly resource: string;
  readonly action: string;
  /** The key after the action, as in `/api/posts:get/5`, or null. */
  readonly key: string | null;
  /** The parent of `resource`: a record, as in `/api/posts/5/tags:list`, or the collection of fields; else null. */
  readonly of: { readonly collection: string; readonly key: string } | null;
  /** Whether the path is in plain style, where the method determines the action. */
  readonly plain?: true;
}

const prefix = '/api/';
/** The path of WebSocket upgrades and event streams, which has no action. */
export const realtimePath = '/api/realtime';
/** The action of plain paths that name the bytes of a file. */
export const fileBytesAction = 'bytes';
/** The path of the Model Context Protocol. Its messages name tools, not actions. */
export const mcpPath = '/mcp';
const mcpRoute: Route = { resource: 'mcp', action: '', key: null, of: null };
/** The route of batches, whose actions are in the body. */
const batchRoute: Route = { resource: 'batch', action: '', key: null, of: null };

/**
 * Parses `/api/<resource>:<action>[/<tk>]` and `/api/<collection>/<tk>/<relation>:<action>[/<tk>]`.
 *
 * @throws ApiError `ROUTE_UNKNOWN` for any other path.
 */
export function parseRoute(path: string): Route {
  if (path === realtimePath) return { resource: 'realtime', action: 'listen', key: null, of: null };
  if (path === '/api/batch') return batchRoute;
  if (path === mcpPath) return mcpRoute;
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

/** Formats the path of a route with `{key}` in place of keys, so that requests of the same kind have the same path. */
export function formatRoute({ resource, action, key, of, plain }: Route): string {
  const parent = of === null ? '' : `${of.collection}/{key}/`;
  const suffix = key === null ? '' : '/{key}';
  return `/api/${parent}${resource}${plain || action === '' ? '' : `:${action}`}${suffix}`;
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
 * Reads `/api/<resource>` and `/api/<resource>/<id>`: plain style, which only mail has; and the paths of bytes,
 * `/api/files/<id>`, `/api/<collection>/<key>/<field>` and `/api/<collection>/<key>/<field>/<index>`. Null for any other path.
 *
 * @throws ApiError `METHOD_NOT_ALLOWED`.
 */
export function parsePlainRoute(path: string, method: string): Route | null {
  if (path.includes(':') || !path.startsWith(prefix)) return null;
  const [resource = '', key = '', ...more] = path.slice(prefix.length).split('/');
  if (more.length > 0 || (resource === 'files' && key !== '')) return parseFilePath(path, method);
  if (!isMailResource(resource)) return null;
  const [one, all] = plainActions[method] ?? [null, null];
  const action = key === '' ? (all === 'create' ? (plainCreateActions[resource] ?? all) : all) : one;
  if (action !== null) return { resource, action, key: key === '' ? null : decodeSegment(key), of: null, plain: true };
  const allow = key === '' ? 'GET, HEAD, POST' : 'GET, HEAD, PATCH, PUT, DELETE';
  throw new ApiError(
    'METHOD_NOT_ALLOWED',
    `This path does not support the method ${method}; use ${allow}. Nothing was changed.`,
    { allow },
  );
}

function parseFilePath(path: string, method: string): Route | null {
  if (method !== 'GET' && method !== 'HEAD') return null;
  const [collection = '', key = '', field, index, ...more] = path.slice(prefix.length).split('/').map(decodeSegment);
  const route = { action: fileBytesAction, plain: true } as const;
  if (collection === 'files' && field === undefined) return { ...route, resource: collection, key, of: null };
  const isComplete = collection !== '' && key !== '' && field !== '' && index !== '' && more.length === 0;
  // A colon may be percent-encoded.
  if (!isComplete || field === undefined || field.includes(':')) return null;
  return { ...route, resource: field, key: index ?? null, of: { collection, key } };
}

/** 404 for a path that is not a route. */
export function unknownRoute(): ApiError {
  return new ApiError('ROUTE_UNKNOWN', 'There is no such route. Actions are called as /api/<resource>:<action>.');
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiError('PARAMETER_INVALID', 'The path contains a percent escape that is not UTF-8.');
  }
}
