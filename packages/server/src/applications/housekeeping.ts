import { isoTime } from '../base/clock.ts';
import { deleteExpiredLogins } from '../database/identity-store.ts';
import { deleteExpiredTokens } from '../database/one-time-tokens.ts';
import type { Application } from './application.ts';

/** Work is gathered: an application is not opened for every single login that ends. */
const leastMilliseconds = 3_600_000;

/**
 * What an application has to do without being asked: logins and links that are over are deleted (links along with
 * logins: nothing is opened for them alone).
 *
 * @returns when there is more to do, in milliseconds since the epoch, or null for never.
 */
export async function housekeep({ database, clock }: Application): Promise<number | null> {
  const now = clock.now();
  await deleteExpiredTokens(database, isoTime(now));
  const next = await deleteExpiredLogins(database, isoTime(now));
  return next === null ? null : Math.max(Date.parse(next), now + leastMilliseconds);
}
