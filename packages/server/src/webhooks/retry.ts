/** When a delivery is retried: first after ten seconds, then with increasing waits, for a day. */

const firstWaitMilliseconds = 10_000;
const factor = 3;
const maxWaitMilliseconds = 6 * 3_600_000;
/** Maximum random addition, as a part of the wait, so that simultaneous failures are not retried simultaneously. */
const jitter = 0.2;

/**
 * Milliseconds until the next attempt: 10 s, 30 s, 90 s … 6 h, and up to a fifth more.
 *
 * @param attempts the number of failed attempts, from 1.
 */
export function computeRetryWait(attempts: number, random = Math.random()): number {
  return Math.round(
    Math.min(maxWaitMilliseconds, firstWaitMilliseconds * factor ** (attempts - 1)) * (1 + jitter * random),
  );
}

/**
 * Parses `Retry-After`: seconds, or a date (RFC 9110, 10.2.3).
 *
 * @returns milliseconds, at most six hours; null for an invalid value or a date in the past.
 */
export function parseRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  const wait = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(wait) || wait <= 0 ? null : Math.min(wait, maxWaitMilliseconds);
}
