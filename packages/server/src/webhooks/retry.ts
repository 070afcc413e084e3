/** When a delivery is tried again: after ten seconds first, then ever later, for a day. */

export const dayMilliseconds = 86_400_000;
const firstWaitMilliseconds = 10_000;
const factor = 3;
const maxWaitMilliseconds = 6 * 3_600_000;
/** Up to so much of the wait is added, so that what failed together does not come back together. */
const jitter = 0.2;

/**
 * Milliseconds until the next try: 10 s, 30 s, 90 s … 6 h, and up to a fifth more.
 *
 * @param attempts how many tries have failed, from 1.
 */
export function computeRetryWait(attempts: number, random = Math.random()): number {
  return Math.round(
    Math.min(maxWaitMilliseconds, firstWaitMilliseconds * factor ** (attempts - 1)) * (1 + jitter * random),
  );
}

/**
 * What a receiver asks for by `Retry-After`, in milliseconds: seconds, or a moment (RFC 9110, 10.2.3). Six hours at most.
 *
 * @returns null where it asks for nothing that can be understood, or for what is over.
 */
export function parseRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  const wait = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(wait) || wait <= 0 ? null : Math.min(wait, maxWaitMilliseconds);
}
