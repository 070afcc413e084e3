import { ApiError } from '../protocol/api-error.ts';

/** An action-style path taken apart. */
export interface Route {
  readonly resource: string;
  readonly action: string;
  /** The key behind the action, `/api/posts:get/5`, or null. */
  readonly tk: string | null;
}

const prefix = '/api/';

/**
 * Reads `/api/<resource>:<action>[/<tk>]`.
 *
 * @throws ApiError `ROUTE_UNKNOWN` for any other path.
 */
export function parseRoute(path: string): Route {
  const [head = '', ...rest] = path.startsWith(prefix) ? path.slice(prefix.length).split('/') : [];
  const colon = head.indexOf(':') >= 0 ? head.indexOf(':') : head.search(/%3a/i);
  if (colon <= 0 || rest.length > 1) throw unknownRoute();
  const width = head[colon] === ':' ? 1 : 3;
  const resource = decoded(head.slice(0, colon));
  const action = decoded(head.slice(colon + width));
  if (action === '') throw unknownRoute();
  return { resource, action, tk: rest[0] === undefined || rest[0] === '' ? null : decoded(rest[0]) };
}

export function unknownRoute(): ApiError {
  return new ApiError('ROUTE_UNKNOWN', 'There is no such route. Actions are called as /api/<resource>:<action>.');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiError('PARAMETER_INVALID', 'The path holds a percent escape that is not UTF-8.');
  }
}
