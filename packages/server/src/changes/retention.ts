/** Deletes old events, in small batches between writes, so that no write waits for long. */
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundWorker } from '../base/background-worker.ts';
import { type Clock, dayMilliseconds, isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ChangeLog } from './change-log.ts';

/** Events are deleted when they are older than `days`, or when more than `entries` newer ones exist. */
export interface EventLimits {
  readonly days: number;
  readonly entries: number;
}

export interface EventRetentionParts {
  readonly log: ChangeLog;
  readonly limits: EventLimits;
  readonly clock: Clock;
  readonly logger: Logger;
}

const pruneIntervalMilliseconds = 30_000;
/** Without new events, old ones are deleted this often. Those of other servers are deleted by them. */
const idlePruneMilliseconds = 600_000;
const eventsPerBatch = 200;
/** Other writes run between two batches. At most 20,000 events are deleted in a second. */
const batchPauseMilliseconds = 10;

/** Creates a worker that deletes old events at a fixed interval. A run ends when no event exceeds the limits. */
export function createEventRetention({ log, limits, clock, logger }: EventRetentionParts): BackgroundWorker {
  let hasNew = false;
  let prunedAt = Number.NEGATIVE_INFINITY;
  log.subscribe(() => {
    hasNew = true;
  });
  const run = async (): Promise<void> => {
    if (!hasNew && clock.now() - prunedAt < idlePruneMilliseconds) return;
    hasNew = false;
    prunedAt = clock.now();
    const before = isoTime(clock.now() - limits.days * dayMilliseconds);
    const batch = { before, maxEvents: limits.entries, batchSize: eventsPerBatch };
    while (!worker.isStopped && (await log.prune(batch))) await pause(batchPauseMilliseconds);
  };
  const worker = new BackgroundWorker({
    run,
    onError: (error) => logger.warn({ err: error }, 'Old events could not be deleted.'),
    intervalMilliseconds: pruneIntervalMilliseconds,
  });
  return worker;
}
