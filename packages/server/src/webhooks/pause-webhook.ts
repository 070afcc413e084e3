import { type Clock, isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import { recordEvent } from '../changes/record-event.ts';
import type { Database } from '../database/database.ts';
import { pauseWebhook } from '../database/webhook-rows.ts';

export interface PauseParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PauseReason {
  /** Shown as `pausedFor`. */
  readonly text: string;
  /** The webhook is only paused if it has failed without a success since this time. */
  readonly failingSince?: string;
}

/** Disables a webhook until somebody enables it again, and logs an event. Does nothing if it is disabled already. */
export async function pauseAndReport(
  { database, changes, clock, logger }: PauseParts,
  id: number,
  { text, failingSince }: PauseReason,
): Promise<void> {
  const time = isoTime(clock.now());
  const isPaused = await database.write(async (transaction) => {
    if (
      !(await pauseWebhook(database, transaction, id, { now: time, failingSince: failingSince ?? null, reason: text }))
    )
      return false;
    const event = recordEvent('webhooks', 'updated', [id], { changed: ['enabled', 'pausedAt', 'pausedFor'] });
    await changes.append(transaction, event, time);
    return true;
  });
  if (isPaused) logger.warn({ webhook: id, reason: text }, 'A webhook was paused.');
}
