import { ApiError } from './api-error.ts';
import { JsonNumber } from './exact-json.ts';
import { isForbiddenKey } from './json-text.ts';

/** A query string as nested plain data: text, lists and objects of text. A bare key is null. */
export type QueryValue = string | null | QueryValue[] | { [key: string]: QueryValue };

const maxDepth = 40;
const maxPairs = 20_000;

/**
 * Reads a query string in the bracket spelling of `qs`: `a=1`, `a[]=1&a[]=2`, `a[b][$gt]=1`, `a[0][b]=1`.
 *
 * @throws ApiError `PARAMETER_INVALID` for bad percent escapes, forbidden names, too much nesting, or a name that is
 * both a value and an object.
 */
export function parseQueryText(text: string): Record<string, QueryValue> {
  const root: Record<string, QueryValue> = Object.create(null);
  if (text === '') return root;
  const pairs = text.split('&');
  if (pairs.length > maxPairs)
    throw new ApiError(
      'PARAMETER_INVALID',
      `The query string has more than ${maxPairs} parameters. Send the request as a POST with a body.`,
    );
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    assignValue(root, parsePath(name), equals < 0 ? null : decode(pair.slice(equals + 1)), name);
  }
  return root;
}

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ApiError(
      'PARAMETER_INVALID',
      'The query string contains a percent escape that is not UTF-8. Encode its text as UTF-8.',
    );
  }
}

function parsePath(name: string): string[] {
  const open = name.indexOf('[');
  if (open <= 0) return [checkName(name)];
  const path = [checkName(name.slice(0, open))];
  const rest = name.slice(open);
  if (!/^(\[[^[\]]*\])+$/.test(rest))
    throw new ApiError(
      'PARAMETER_INVALID',
      'The brackets in the name of a query parameter are not balanced. Write names such as "filter[views][$gt]".',
    );
  for (const part of rest.slice(1, -1).split('][')) path.push(checkName(part));
  if (path.length > maxDepth)
    throw new ApiError(
      'PARAMETER_INVALID',
      `The brackets in the name of a query parameter are nested deeper than ${maxDepth} levels. Send the request as a POST with a body.`,
    );
  return path;
}

function checkName(name: string): string {
  if (isForbiddenKey(name))
    throw new ApiError('PARAMETER_INVALID', `The query parameter "${name}" is not allowed in a request. Rename it.`);
  return name;
}

function assignValue(root: Record<string, QueryValue>, path: string[], value: string | null, name: string): void {
  let into: Record<string, QueryValue> = root;
  for (let index = 0; index < path.length; index += 1) {
    const key = path[index] === '' ? String(Object.keys(into).length) : path[index]!;
    const existing = into[key];
    if (index === path.length - 1) {
      into[key] = existing === undefined ? value : resolveRepeated(existing, value, name);
      return;
    }
    if (existing !== undefined && (existing === null || typeof existing !== 'object' || Array.isArray(existing)))
      throw new ApiError(
        'PARAMETER_INVALID',
        `The query parameter "${path[0]}" is given in two different forms. Send it in one of them.`,
      );
    const deeper = existing ?? (Object.create(null) as Record<string, QueryValue>);
    into[key] = deeper;
    into = deeper;
  }
}

/** `a=1&a=1` is one value; `a=1&a=2` is a contradiction, except with brackets, which make lists. */
function resolveRepeated(existing: QueryValue, value: string | null, name: string): QueryValue {
  if (existing === value) return existing;
  throw new ApiError(
    'PARAMETER_INVALID',
    `The query parameter "${name}" is given twice with different values. Send it once.`,
  );
}

/** Converts `{0: a, 1: b}` from `x[]=a&x[]=b` or `x[0]=a` to a list; other objects are returned unchanged. */
export function listsFromIndexes(value: QueryValue): QueryValue {
  if (value === null || typeof value !== 'object' || (value as unknown) instanceof JsonNumber) return value;
  if (Array.isArray(value)) return value.map(listsFromIndexes);
  const keys = Object.keys(value);
  if (keys.length > 0 && keys.every((key) => /^(0|[1-9]\d{0,5})$/.test(key)))
    return keys.sort((a, b) => Number(a) - Number(b)).map((key) => listsFromIndexes(value[key] ?? null));
  const copy: Record<string, QueryValue> = {};
  for (const key of keys) copy[key] = listsFromIndexes(value[key] ?? null);
  return copy;
}
