/** How long to wait after a failure, by its cause. */

/** Whether and how soon a failed attempt is repeated. */
export type RetryKind = 'soon' | 'later' | 'never';

const maxWaitMilliseconds: Readonly<Record<Exclude<RetryKind, 'never'>, number>> = {
  soon: 300_000,
  later: 3_600_000,
};
/** A server that limits connections or requests gets a longer pause from the start. */
const laterFactor = 15;

/**
 * The wait before the next attempt, in milliseconds. It doubles with each failure in succession up to 5 minutes (`soon`) or an hour
 * (`later`). A random part spreads accounts that failed together.
 *
 * @param failures failed attempts in succession, at least 1.
 * @param base the wait after the first failure, in milliseconds.
 * @returns null for `never`.
 */
export function computeSyncPause(
  retry: RetryKind,
  failures: number,
  base: number,
  random: () => number = Math.random,
): number | null {
  if (retry === 'never') return null;
  const first = retry === 'later' ? base * laterFactor : base;
  const wait = Math.min(maxWaitMilliseconds[retry], first * 2 ** Math.min(Math.max(0, failures - 1), 20));
  return Math.round(wait * (0.5 + random() / 2));
}
