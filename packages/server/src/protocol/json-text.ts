import { ApiError } from './api-error.ts';

const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether a name is one of those by which objects are poisoned. */
export function isForbiddenKey(name: string): boolean {
  return forbiddenKeys.has(name);
}

/**
 * JSON text that a request carried, as plain data.
 *
 * @throws ApiError `BODY_INVALID` for the names by which objects are poisoned, else what `malformed` makes.
 */
export function parseJson(text: string, malformed: () => ApiError): unknown {
  // Only a text that may spell such a name, escapes included, is read with the slow check.
  const suspicious = /__proto__|constructor|prototype|\\u/.test(text);
  try {
    return suspicious ? JSON.parse(text, refuseForbiddenKey) : JSON.parse(text);
  } catch (error) {
    throw error instanceof ApiError ? error : malformed();
  }
}

function refuseForbiddenKey(key: string, value: unknown): unknown {
  if (isForbiddenKey(key)) throw new ApiError('BODY_INVALID', `The key "${key}" is not allowed in a request.`);
  return value;
}

/** Whether a parsed value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
