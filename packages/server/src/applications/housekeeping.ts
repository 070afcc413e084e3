import { isoTime } from '../base/clock.ts';
import { deleteExpiredLogins } from '../database/login-rows.ts';
import { deleteExpiredTokens } from '../database/one-time-tokens.ts';
import type { Application } from './application.ts';

/** Work is gathered: an application is not opened for every single login that ends. */
const minIntervalMilliseconds = 3_600_000;
/** How often one that has webhooks notes that it is to be opened again. */
const webhookCheckMilliseconds = 300_000;

/** When an application is looked after next, in milliseconds since the epoch; null: never. */
export interface HousekeepingSchedule {
  /** While it is open. */
  readonly dueWhileOpen: number | null;
  /** Once it is not open any more, however it came to be closed. */
  readonly dueWhenClosed: number | null;
}

/**
 * What an application has to do without being asked: logins and links that are over are deleted (links along with
 * logins: nothing is opened for them alone), deliveries of webhooks are forgotten after their time, bytes of mail that
 * nothing refers to are removed.
 *
 * One that has webhooks notes ahead that it is to be opened: should its process be killed, what waits to be sent is
 * sent by the next one.
 */
export async function runHousekeeping({ database, clock, webhooks, mail }: Application): Promise<HousekeepingSchedule> {
  const now = clock.now();
  await deleteExpiredTokens(database, isoTime(now));
  const next = await deleteExpiredLogins(database, isoTime(now));
  await webhooks.prune();
  await mail.sweep(now);
  const nextLoginSweep = next === null ? null : Math.max(Date.parse(next), now + minIntervalMilliseconds);
  if (!webhooks.listening && !mail.isBusy) return { dueWhileOpen: nextLoginSweep, dueWhenClosed: nextLoginSweep };
  const dueWhileOpen = minNullable(nextLoginSweep, now + webhookCheckMilliseconds);
  return { dueWhileOpen, dueWhenClosed: minNullable(nextLoginSweep, now + 2 * webhookCheckMilliseconds) };
}

/** When an application that is about to be closed is to be opened again without being asked for; null: not at all. */
export async function findReopeningTime({ database, clock, webhooks, mail }: Application): Promise<number | null> {
  const now = clock.now();
  const next = await deleteExpiredLogins(database, isoTime(now));
  const nextLoginSweep = next === null ? null : Math.max(Date.parse(next), now + minIntervalMilliseconds);
  return minNullable(minNullable(nextLoginSweep, await webhooks.nextDue()), mail.isBusy ? now : null);
}

function minNullable(first: number | null, second: number | null): number | null {
  if (first === null || second === null) return first ?? second;
  return Math.min(first, second);
}
