/** Keys of e-mails. */

/** Keys within one second. */
export const keysPerSecond = 2 ** 20;

/**
 * The key of an e-mail: the second in which it was received, followed by a unique number. The order of keys is the order of
 * lists.
 */
export function emailKey(receivedAt: string, number: number): number {
  const seconds = Math.max(0, Math.floor(Date.parse(receivedAt) / 1000));
  return seconds * keysPerSecond + (number % keysPerSecond);
}

/** The time in a key, in milliseconds since the Unix epoch, to the second. */
export function readEmailKeyTime(key: number): number {
  return Math.floor(key / keysPerSecond) * 1000;
}
