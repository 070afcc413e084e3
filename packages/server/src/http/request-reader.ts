import { LruMap } from '../base/lru-map.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { parseQueryText } from '../protocol/query-text.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { isNormalisedAction, type NormalisedAction, normaliseRequest } from '../protocol/request-normaliser.ts';
import type { Route } from './route.ts';

const maxCachedQuery = 2000;
/** Parsed requests by their exact text, without the key of a record: polling clients repeat the same request. */
const requests = new LruMap<RecordRequest>({
  entries: 10_000,
  bytes: 16 * 1024 * 1024,
  keyLength: maxCachedQuery + 20,
  sizeOf: estimateRequestSize,
});

function estimateRequestSize({ shape, values }: RecordRequest): number {
  const items = values.reduce<number>((sum, each) => sum + (Array.isArray(each) ? 1 + each.length : 1), 0);
  return 1000 + 12 * shape.length + 50 * items;
}

/** The parameters of a request, from its path and query, and for a read by POST from its body. */
export function readParameters(
  route: Route,
  query: string,
  body: unknown,
  isReadByPost: boolean,
): Record<string, unknown> {
  const parameters: Record<string, unknown> = { ...parseQueryText(query) };
  if (isReadByPost && body !== undefined) {
    if (!isObject(body))
      throw new ApiError('BODY_INVALID', 'The body of a read by POST must be an object of parameters.');
    for (const [name, value] of Object.entries(body)) add(parameters, name, value);
  }
  if (route.key !== null) add(parameters, 'filterByTk', route.key);
  return parameters;
}

/** The normalised request of a record action. */
export function readRecordRequest(route: Route, query: string, body: unknown, isReadByPost: boolean): RecordRequest {
  if (!isNormalisedAction(route.action)) throw new Error(`${route.action} is not a record action`);
  const { action } = route;
  if (!isReadByPost && query.length < maxCachedQuery) {
    if (route.key === null) return getCachedRequest(action, query);
    if (route.key !== '' && !mayNameKey(query)) return { ...getRequestOfKey(action, query), filterByTk: route.key };
  }
  const fromBody = isReadByPost && body !== undefined && body !== null;
  const parameters = readParameters(route, query, body, isReadByPost);
  return normaliseRequest(action, parameters, !fromBody || query !== '', route.key !== null);
}

/** A key that is the first parameter, and means the same whatever follows: one key, without escapes. */
const plainKey = /^filterByTk=([\w-]{1,100})(?:&|$)/;

function getCachedRequest(action: NormalisedAction, query: string): RecordRequest {
  const filterByTk = plainKey.exec(query)?.[1];
  if (filterByTk !== undefined) {
    const rest = query.slice('filterByTk='.length + filterByTk.length + 1);
    if (!mayNameKey(rest)) return { ...getRequestOfKey(action, rest), filterByTk };
  }
  return getCached(`${action}?${query}`, () => normaliseRequest(action, parseQueryText(query), true));
}

/** Whether a query may contain the parameter `filterByTk`, also with escapes. */
function mayNameKey(query: string): boolean {
  return query !== '' && (query.includes('%') || query.includes('filterByTk'));
}

/** A request for a record by its key. Requests for other keys differ in nothing else, so they are parsed once. */
function getRequestOfKey(action: NormalisedAction, query: string): RecordRequest {
  return getCached(`${action}/${query}`, () =>
    normaliseRequest(action, { ...parseQueryText(query), filterByTk: '0' }, true, true),
  );
}

function getCached(key: string, normalise: () => RecordRequest): RecordRequest {
  let request = requests.get(key);
  if (!request) {
    request = normalise();
    requests.set(key, request);
  }
  return request;
}

function add(parameters: Record<string, unknown>, name: string, value: unknown): void {
  const present = parameters[name];
  if (present !== undefined && !isSame(present, value))
    throw new ApiError(
      'PARAMETER_INVALID',
      `The parameter "${name.slice(0, 60)}" is given twice with different values. Give it once.`,
    );
  parameters[name] = value;
}

/** The text of a parameter: numbers as in a query, lists with commas. */
function isSame(one: unknown, other: unknown): boolean {
  if (JSON.stringify(one) === JSON.stringify(other)) return true;
  const text = toQueryText(one);
  return text !== null && text === toQueryText(other);
}

/** Null for an object. */
function toQueryText(value: unknown): string | null {
  const parts = Array.isArray(value) ? value : [value];
  return parts.some((each) => each === null || isObject(each) || Array.isArray(each)) ? null : parts.join(',');
}
