/** Numbers that records may be given, where the server itself counts on from them. */
import type { Storage } from './field-type.ts';

/** What an integer key holds. */
export const maxInteger = 2 ** 31 - 1;
/** A sort position that is given leaves room for those that follow, all of which JavaScript holds exactly. */
export const maxSortPosition = 2 ** 52;

/**
 * The greatest generated key that a client may give itself: beyond it a million keys of an integer, half of a bigInt's,
 * remain for the records that give none. Without the bound one record at the end of the range would end the collection.
 */
export function maxGivenKey(storage: Storage | null): bigint {
  return storage === 'integer' ? BigInt(maxInteger) - 1_000_000n : 2n ** 62n;
}
