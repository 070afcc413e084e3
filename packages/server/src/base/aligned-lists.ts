/** Lists whose elements belong together by their index. */

/**
 * The elements of two lists, in pairs.
 *
 * @example `pairUp(['a', 'b'], [1, 2])` is `[['a', 1], ['b', 2]]`
 * @throws Error if the lists have different lengths.
 */
export function pairUp<A, B>(first: readonly A[], second: readonly B[]): (readonly [A, B])[] {
  if (first.length !== second.length)
    throw new Error(`lists of ${first.length} and of ${second.length} elements cannot be paired`);
  const rest = second.values();
  return first.map((each) => {
    const next = rest.next();
    if (next.done) throw new Error('a list became shorter while it was paired');
    return [each, next.value];
  });
}

/** The element with an index. @throws RangeError if the index is out of range. */
export function getElement<T>(list: ArrayLike<T>, index: number): T {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} in a list of ${list.length}`);
  return element;
}

/** The first element of a list that is known to have one. @throws RangeError for an empty list. */
export function getFirst<T>(list: ArrayLike<T>): T {
  return getElement(list, 0);
}
