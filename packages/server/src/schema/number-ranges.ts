/** Bounds of numbers in records from which the server continues to count. */
import type { Storage } from './field-type.ts';

/** The largest value of an integer key. */
export const maxInteger = 2 ** 31 - 1;
/** Sort positions that clients set leave room for later ones, all of which JavaScript represents exactly. */
export const maxSortPosition = 2 ** 52;

/**
 * The greatest generated key that a client may set itself. Beyond it, a million keys of an integer (half of the range
 * of a bigInt) remain for records without a given key. Without this limit, one record at the end of the range would
 * prevent any further record.
 */
export function maxGivenKey(storage: Storage | null): bigint {
  return storage === 'integer' ? BigInt(maxInteger) - 1_000_000n : 2n ** 62n;
}
