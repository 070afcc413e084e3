import { ApiError } from '../protocol/api-error.ts';
import { JsonNumber } from '../protocol/exact-json.ts';
import { limits } from '../protocol/limits.ts';
import { invalidOperand } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';

/**
 * `filterByTk` in canonical form: a key, a list of distinct keys, or undefined when absent.
 *
 * @throws ApiError `PARAMETER_INVALID` when a key is empty or of another type than the primary key.
 */
export function parseKey(input: unknown, collection: Collection): unknown {
  if (input === undefined) return undefined;
  if (!Array.isArray(input)) return parseOneKey(input, collection);
  if (input.length === 0)
    throw new ApiError('PARAMETER_INVALID', '"filterByTk" is an empty list. Give at least one key.');
  if (input.length > limits.inValues)
    throw new ApiError('LIMIT_EXCEEDED', `filterByTk takes at most ${limits.inValues} keys.`);
  return [...new Set(input.map((each) => parseOneKey(each, collection)))];
}

/** Keys in the order of the primary key, whichever an engine found first: numbers by size, text by code point. */
export function compareKeys(one: unknown, other: unknown): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  const whole = /^-?\d+$/;
  if (whole.test(String(one)) && whole.test(String(other)) && (typeof one === 'number' || typeof other === 'number'))
    return BigInt(one as string) < BigInt(other as string) ? -1 : 1;
  const [a, b] = [Buffer.from(String(one)), Buffer.from(String(other))];
  return Buffer.compare(a, b);
}

function parseOneKey(input: unknown, collection: Collection): unknown {
  const isNumber = typeof input === 'number' || input instanceof JsonNumber;
  const isKey = isNumber || (input !== null && input !== '' && typeof input !== 'object');
  const key = isKey ? collection.primaryKey.type.readOperand(isNumber ? input : String(input), true) : invalidOperand;
  if (key === invalidOperand)
    throw new ApiError(
      'PARAMETER_INVALID',
      `"filterByTk" is not a key of ${collection.name}: "${collection.primaryKey.name}" has the type ${collection.primaryKey.type.name}.`,
    );
  return key;
}
