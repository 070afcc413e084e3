import { ApiError } from './api-error.ts';
import { JsonNumber, parseExactJson } from './exact-json.ts';
import { scanJson, unscannedLength } from './json-scan.ts';
import { limits } from './limits.ts';

const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether a name is one of those by which objects are poisoned. */
export function isForbiddenKey(name: string): boolean {
  return forbiddenKeys.has(name);
}

/**
 * JSON text that a request carried, as plain data in which nothing is lost; see {@link parseExactJson}. Time and memory are
 * bounded: the text is scanned before it is parsed.
 *
 * @throws ApiError `BODY_INVALID` for the names by which objects are poisoned, `LIMIT_EXCEEDED` for too many values or
 * levels, else what `malformed` makes.
 */
export function parseJson(text: string, malformed: () => ApiError): unknown {
  // Only a text that may spell a forbidden name, escapes included, has its keys compared.
  const suspicious = /__proto__|constructor|prototype|\\u/.test(text);
  if (suspicious || text.length > unscannedLength) refuseHostile(text, suspicious);
  try {
    return parseExactJson(text);
  } catch (error) {
    throw error instanceof ApiError ? error : malformed();
  }
}

function refuseHostile(text: string, suspicious: boolean): void {
  const bounds = { values: limits.jsonValues, depth: limits.jsonLevels, keys: limits.jsonKeys };
  const finding = scanJson(text, bounds, suspicious ? isForbiddenKey : null);
  if (finding === null) return;
  if (finding === 'values')
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The JSON text contains more than ${limits.jsonValues} values. Split it into several requests.`,
    );
  if (finding === 'keys')
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The JSON text contains more than ${limits.jsonKeys} different keys. Split it into several requests.`,
    );
  if (finding === 'depth')
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The JSON text is nested deeper than ${limits.jsonLevels} levels. Flatten it.`,
    );
  throw new ApiError('BODY_INVALID', `The key "${finding.forbiddenKey}" is not allowed in a request.`);
}

/** Whether a parsed value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof JsonNumber);
}
