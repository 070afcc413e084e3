import { isoTime } from '../base/clock.ts';
import { deleteExpiredLogins } from '../database/identity-store.ts';
import { deleteExpiredTokens } from '../database/one-time-tokens.ts';
import type { Application } from './application.ts';

/** Work is gathered: an application is not opened for every single login that ends. */
const leastMilliseconds = 3_600_000;
/** How often one that has webhooks notes that it is to be opened again. */
const watchMilliseconds = 300_000;

/** When an application is looked after next, in milliseconds since the epoch; null: never. */
export interface Due {
  /** While it is open. */
  readonly again: number | null;
  /** Once it is not open any more, however it came to be closed. */
  readonly wake: number | null;
}

/**
 * What an application has to do without being asked: logins and links that are over are deleted (links along with
 * logins: nothing is opened for them alone), deliveries of webhooks are forgotten after their time, bytes of mail that
 * nothing refers to are removed.
 *
 * One that has webhooks notes ahead that it is to be opened: should its process be killed, what waits to be sent is
 * sent by the next one.
 */
export async function housekeep({ database, clock, webhooks, mail }: Application): Promise<Due> {
  const now = clock.now();
  await deleteExpiredTokens(database, isoTime(now));
  const next = await deleteExpiredLogins(database, isoTime(now));
  await webhooks.prune();
  await mail.sweep(now);
  const logins = next === null ? null : Math.max(Date.parse(next), now + leastMilliseconds);
  if (!webhooks.listening && !mail.busy) return { again: logins, wake: logins };
  const again = earlier(logins, now + watchMilliseconds);
  return { again, wake: earlier(logins, now + 2 * watchMilliseconds) };
}

/** When an application that is about to be closed is to be opened again without being asked for; null: not at all. */
export async function reopening({ database, clock, webhooks, mail }: Application): Promise<number | null> {
  const now = clock.now();
  const next = await deleteExpiredLogins(database, isoTime(now));
  const logins = next === null ? null : Math.max(Date.parse(next), now + leastMilliseconds);
  return earlier(earlier(logins, await webhooks.nextDue()), mail.busy ? now : null);
}

function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
