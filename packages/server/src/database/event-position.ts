/**
 * Positions in the event log: `<transaction>.<id>`. On an engine with one process the transaction is 0, since its ids follow the order of
 * the commits.
 */

/** Before every event. */
export const startPosition = '0.0';

/** The two numbers of a position, as text. */
export function splitPosition(position: string): readonly [transaction: string, id: string] {
  const point = position.indexOf('.');
  return [position.slice(0, point), position.slice(point + 1)];
}

/** Whether the first position comes after the second. */
export function isAfter(position: string, other: string): boolean {
  if (position === other) return false;
  const [transaction, id] = splitPosition(position).map(BigInt) as [bigint, bigint];
  const [otherTransaction, otherId] = splitPosition(other).map(BigInt) as [bigint, bigint];
  return transaction === otherTransaction ? id > otherId : transaction > otherTransaction;
}
