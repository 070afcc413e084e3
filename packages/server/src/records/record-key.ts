import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { misfit } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';

/**
 * `filterByTk` in canonical form: a key, a list of distinct keys, or undefined when absent.
 *
 * @throws ApiError `PARAMETER_INVALID` when a key is empty or of another type than the primary key.
 */
export function keyOf(input: unknown, collection: Collection): unknown {
  if (input === undefined) return undefined;
  if (!Array.isArray(input)) return oneKey(input, collection);
  if (input.length === 0)
    throw new ApiError('PARAMETER_INVALID', 'filterByTk is an empty list; give at least one key.');
  if (input.length > limits.inValues)
    throw new ApiError('LIMIT_EXCEEDED', `filterByTk takes at most ${limits.inValues} keys.`);
  return [...new Set(input.map((each) => oneKey(each, collection)))];
}

function oneKey(input: unknown, collection: Collection): unknown {
  const key = collection.primaryKey.type.readOperand(typeof input === 'number' ? input : String(input), true);
  if (key === misfit || input === null || input === '' || typeof input === 'object') {
    throw new ApiError(
      'PARAMETER_INVALID',
      `filterByTk is no key of ${collection.name}: its "${collection.primaryKey.name}" is a ${collection.primaryKey.type.name}.`,
    );
  }
  return key;
}
