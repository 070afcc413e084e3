import { unreferencedGraceMilliseconds } from '../base/blob-store.ts';
import { isoTime } from '../base/clock.ts';
import { deleteExpiredLogins } from '../database/login-rows.ts';
import { deleteExpiredTokens } from '../database/one-time-tokens.ts';
import type { Application } from './application.ts';

/** Minimum time between two openings, so that an application is not opened for each login that expires. */
const minIntervalMilliseconds = 3_600_000;
/** How often an application with webhooks schedules its next opening. */
const webhookCheckMilliseconds = 300_000;
/** An application whose server has died is opened by another server after this time, if it synchronises mail accounts. */
export const syncTakeoverMilliseconds = 20_000;

/** When housekeeping of an application is due next, in milliseconds since the epoch; null: never. */
export interface HousekeepingSchedule {
  /** While it is open. */
  readonly dueWhileOpen: number | null;
  /** After it was closed, or its process was killed. */
  readonly dueWhenClosed: number | null;
}

/**
 * Deletes expired logins and links, old deliveries of webhooks, old imports, expired tombstones of the schema, and unreferenced files and bytes of mail. An application is not opened
 * only for expired links.
 *
 * An application with webhooks, with mail accounts to synchronise or with mail that waits to be sent schedules its next opening in
 * advance. If its process is killed, the next process goes on with this work.
 */
export async function runHousekeeping({
  database,
  clock,
  webhooks,
  mail,
  files,
  imports,
}: Application): Promise<HousekeepingSchedule> {
  const now = clock.now();
  await deleteExpiredTokens(database, isoTime(now));
  const next = await deleteExpiredLogins(database, isoTime(now));
  await webhooks.prune();
  await mail.sweep(now);
  await imports.sweep(now);
  await files.sweep(now);
  const { deleteExpiredTombstones } = await import('../database/schema-tombstones.ts');
  await deleteExpiredTombstones(database, isoTime(now));
  const nextLoginSweep = next === null ? null : Math.max(Date.parse(next), now + minIntervalMilliseconds);
  const nextMail = await mail.nextDue();
  if (!webhooks.listening && !mail.isBusy)
    // Bytes that nothing refers to are removed daily.
    return {
      dueWhileOpen: minNullable(nextLoginSweep, now + unreferencedGraceMilliseconds),
      dueWhenClosed: minNullable(nextLoginSweep, nextMail),
    };
  const dueWhileOpen = minNullable(nextLoginSweep, now + webhookCheckMilliseconds);
  const grace = mail.mustStayOpen ? syncTakeoverMilliseconds : 2 * webhookCheckMilliseconds;
  const nextCheck = minNullable(nextMail, now + grace);
  return { dueWhileOpen, dueWhenClosed: minNullable(nextLoginSweep, nextCheck) };
}

/** When an application that is about to be closed must be opened again without a request; null: never. */
export async function findReopeningTime({
  database,
  clock,
  webhooks,
  mail,
  imports,
}: Application): Promise<number | null> {
  const now = clock.now();
  const next = await deleteExpiredLogins(database, isoTime(now));
  const nextLoginSweep = next === null ? null : Math.max(Date.parse(next), now + minIntervalMilliseconds);
  const nextWork = minNullable(await webhooks.nextDue(), mail.isBusy || imports.isBusy ? now : await mail.nextDue());
  return minNullable(nextLoginSweep, nextWork);
}

function minNullable(first: number | null, second: number | null): number | null {
  if (first === null || second === null) return first ?? second;
  return Math.min(first, second);
}
