import { LruMap } from '../base/lru-map.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { parseQueryText } from '../protocol/query-text.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { isNormalised, type NormalisedAction, normaliseRequest } from '../protocol/request-normaliser.ts';
import type { Route } from './route.ts';

const maxCachedQuery = 2000;
/** Requests by their exact text: a polling client sends the same again and again. */
const requests = new LruMap<AskedRecordRequest>({
  entries: 10_000,
  bytes: 16 * 1024 * 1024,
  keyLength: maxCachedQuery + 20,
  sizeOf: requestSize,
});

function requestSize({ shape, values }: AskedRecordRequest): number {
  const items = values.reduce<number>((sum, each) => sum + (Array.isArray(each) ? 1 + each.length : 1), 0);
  return 1000 + 12 * shape.length + 50 * items;
}

/** The parameters of a request: of its query, and of its body for a read by POST. The key may stand in the path. */
export function readParameters(
  route: Route,
  query: string,
  body: unknown,
  readByPost: boolean,
): Record<string, unknown> {
  const parameters: Record<string, unknown> = { ...parseQueryText(query) };
  if (readByPost && body !== undefined) {
    if (!isObject(body))
      throw new ApiError('BODY_INVALID', 'The body of a read by POST must be an object of parameters.');
    for (const [name, value] of Object.entries(body)) add(parameters, name, value);
  }
  if (route.tk !== null) add(parameters, 'filterByTk', route.tk);
  return parameters;
}

/** The normalised request of a record action. */
export function readRecordRequest(route: Route, query: string, body: unknown, readByPost: boolean): AskedRecordRequest {
  if (!isNormalised(route.action)) throw new Error(`${route.action} is no record action`);
  const { action } = route;
  if (!readByPost && route.tk === null && query.length < maxCachedQuery) return cachedRequest(action, query);
  const fromBody = readByPost && body !== undefined && body !== null;
  const parameters = readParameters(route, query, body, readByPost);
  return normaliseRequest(action, parameters, !fromBody || query !== '', route.tk !== null);
}

function cachedRequest(action: NormalisedAction, query: string): AskedRecordRequest {
  const key = `${action}?${query}`;
  let request = requests.get(key);
  if (!request) {
    request = normaliseRequest(action, parseQueryText(query), true);
    requests.set(key, request);
  }
  return request;
}

function add(parameters: Record<string, unknown>, name: string, value: unknown): void {
  const present = parameters[name];
  if (present !== undefined && !isSame(present, value)) {
    throw new ApiError('PARAMETER_INVALID', `The parameter "${name.slice(0, 60)}" is given in two forms that differ.`);
  }
  parameters[name] = value;
}

/** A number in a body is the text of it in a query, a list one with commas. */
function isSame(one: unknown, other: unknown): boolean {
  if (JSON.stringify(one) === JSON.stringify(other)) return true;
  const text = textOf(one);
  return text !== null && text === textOf(other);
}

/** Null for an object, which need not have a text. */
function textOf(value: unknown): string | null {
  const parts = Array.isArray(value) ? value : [value];
  return parts.some((each) => each === null || isObject(each) || Array.isArray(each)) ? null : parts.join(',');
}
