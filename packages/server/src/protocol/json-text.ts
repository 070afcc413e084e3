import { ApiError } from './api-error.ts';
import { JsonNumber, parseExactJson } from './exact-json.ts';
import { JsonScanner, type ScanFinding, unscannedLength } from './json-scan.ts';
import { limits } from './limits.ts';

const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether a name could change the prototype of an object. */
export function isForbiddenKey(name: string): boolean {
  return forbiddenKeys.has(name);
}

/**
 * Parses the JSON text of a request without losing digits or the order of members; see {@link parseExactJson}. Time and
 * memory are bounded, because the text is scanned before it is parsed.
 *
 * @throws ApiError `BODY_INVALID` for names that could change the prototype of an object, `LIMIT_EXCEEDED` for too many
 * values or levels, otherwise the error of `malformed`.
 */
export function parseJson(text: string, malformed: () => ApiError): unknown {
  // Keys are only compared if the text may contain a forbidden name, also in an escaped spelling.
  if (text.length > unscannedLength || /__proto__|constructor|prototype|\\u/.test(text))
    new JsonGuard().check(Buffer.from(text));
  return parseGuardedJson(text, malformed);
}

/** Like {@link parseJson}, for a text that a {@link JsonGuard} has scanned completely. */
export function parseGuardedJson(text: string, malformed: () => ApiError): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    throw error instanceof ApiError ? error : malformed();
  }
}

/** Scans JSON while it arrives, and refuses text that would cost too much to parse before all of it is in memory. */
export class JsonGuard {
  readonly #scanner = new JsonScanner(
    { values: limits.jsonValues, depth: limits.jsonLevels, keys: limits.jsonKeys },
    forbiddenKeys,
  );

  /**
   * @param bytes the next piece of the text in UTF-8; it may end anywhere.
   * @throws ApiError see {@link parseJson}.
   */
  check(bytes: Uint8Array): void {
    const finding = this.#scanner.scan(bytes);
    if (finding !== null) throw toRefusal(finding);
  }
}

function toRefusal(finding: Exclude<ScanFinding, null>): ApiError {
  if (finding === 'values')
    return new ApiError(
      'LIMIT_EXCEEDED',
      `The JSON text contains more than ${limits.jsonValues} values. Split it into several requests.`,
    );
  if (finding === 'keys')
    return new ApiError(
      'LIMIT_EXCEEDED',
      `The JSON text contains more than ${limits.jsonKeys} different keys. Split it into several requests.`,
    );
  if (finding === 'depth')
    return new ApiError(
      'LIMIT_EXCEEDED',
      `The JSON text is nested deeper than ${limits.jsonLevels} levels. Flatten it.`,
    );
  return new ApiError('BODY_INVALID', `The key "${finding.forbiddenKey}" is not allowed in a request.`);
}

/** Whether a parsed value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof JsonNumber);
}
