/** When a message that could not be delivered is sent again: after one minute, then with increasing waits, for two days. */

const minute = 60_000;
const waits = [1, 5, 15, 30, 60, 120, 240].map((minutes) => minutes * minute);
const maxWait = 6 * 60 * minute;
/** How long a message is tried, beginning with the first attempt. */
export const retryMilliseconds = 48 * 60 * minute;
/** Maximum random addition, as a part of the wait, so that messages that failed together are not sent together again. */
const jitter = 0.2;

/**
 * When the next attempt is due, in milliseconds since the Unix epoch. The last attempt is made when two days are over.
 *
 * @param attempts the number of attempts that have failed, from 1.
 * @param firstAttempt the time of the first one.
 * @returns null when the two days are over.
 */
export function computeNextAttempt(
  attempts: number,
  firstAttempt: number,
  now: number,
  random = Math.random(),
): number | null {
  const end = firstAttempt + retryMilliseconds;
  if (now >= end) return null;
  const wait = waits[attempts - 1] ?? maxWait;
  return Math.min(end, Math.round(now + wait * (1 + jitter * random)));
}
