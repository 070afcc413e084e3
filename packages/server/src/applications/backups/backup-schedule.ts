/** Makes backups at the times of `BACKUP_SCHEDULE`, and removes old ones. */
import { Cron } from 'croner';
import type { BackupConfig } from '../../base/backup-config.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { hasBackupOfSlot } from '../../database/backup-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { Backups } from './backups.ts';

/** How often the time is compared with the schedule. */
const tickMilliseconds = 15_000;

export interface ScheduleParts {
  readonly backups: Backups;
  /** Returns the current settings, which may change. `schedule` is a cron expression in UTC; null: none. */
  readonly settings: () => Pick<BackupConfig, 'schedule' | 'keep'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether there may be other servers, whose interrupted jobs must be finished or undone. */
  readonly isShared: boolean;
}

/**
 * The schedule of one server. Several servers compete for each time of the schedule, and the database decides which one makes the backup. If
 * no server ran at a time of the schedule, the backup is made at the next start.
 */
export class BackupSchedule {
  readonly #parts: ScheduleParts;
  #cron: { readonly schedule: string; readonly cron: Cron } | null = null;
  /** The last time of the schedule for which a backup exists. */
  #handled: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #ticking: Promise<void> = Promise.resolve();

  /** @throws Error if the schedule is invalid. */
  constructor(parts: ScheduleParts) {
    this.#parts = parts;
    this.#loadCron();
  }

  /** The next time, ISO 8601; null without a schedule. */
  get next(): string | null {
    return this.#loadCron()?.nextRun(new Date(this.#parts.clock.now()))?.toISOString() ?? null;
  }

  /** Starts the timer if a schedule is set, and checks immediately whether a backup is due. Call it again when a schedule has been set. */
  begin(): void {
    if (this.#parts.settings().schedule === null && !this.#parts.isShared) return;
    this.#timer ??= setInterval(() => this.#startTick(), tickMilliseconds).unref();
    this.#startTick();
  }

  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#ticking;
  }

  #startTick(): void {
    this.#ticking = this.#ticking.then(() => this.tick());
  }

  /** Finishes or undoes jobs of servers that have died, and starts the backup that is due. */
  async tick(): Promise<void> {
    const { backups, logger, isShared } = this.#parts;
    try {
      if (isShared) await backups.settle();
      const slot = this.#findSlot();
      if (slot === null || slot === this.#handled) return;
      if (!(await hasBackupOfSlot(backups.parts.applications.main.database, slot))) {
        const created = await backups.create({ application: null, reason: 'schedule', slot });
        if (created) void this.#prune(created.id);
      }
      this.#handled = slot;
    } catch (error) {
      // The next tick tries again.
      if (!(error instanceof ApiError && error.code === 'BACKUP_RUNNING'))
        logger.warn({ err: error }, 'The backup of the schedule could not be started.');
    }
  }

  /** The latest time of the schedule that has passed. */
  #findSlot(): string | null {
    const [last] = this.#loadCron()?.previousRuns(1, new Date(this.#parts.clock.now() + 1000)) ?? [];
    return last?.toISOString() ?? null;
  }

  /** @throws Error if the schedule is invalid. */
  #loadCron(): Cron | null {
    const { schedule } = this.#parts.settings();
    if (schedule === null) return null;
    if (this.#cron?.schedule !== schedule) this.#cron = { schedule, cron: parseSchedule(schedule) };
    return this.#cron.cron;
  }

  async #prune(id: string): Promise<void> {
    const { backups, settings, logger } = this.#parts;
    try {
      await backups.waitForEnd();
      // Only own backups: other servers may use the same folder or bucket.
      const entries = await backups.listOwn();
      if (entries.find((each) => each.id === id)?.status !== 'done') return;
      const old = entries.filter(
        ({ reason, status, isAvailable }) => reason === 'schedule' && status === 'done' && isAvailable,
      );
      for (const each of old.slice(settings().keep)) {
        await backups.removeBackup(each.id);
        logger.info({ backup: each.id }, 'An old backup was removed.');
      }
    } catch (error) {
      logger.warn({ err: error }, 'Old backups could not be removed.');
    }
  }
}

/** Returns the problem of a schedule with its cure; null if the schedule is valid. */
export function findScheduleProblem(schedule: string): string | null {
  try {
    parseSchedule(schedule);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** @throws Error naming the setting. */
function parseSchedule(schedule: string): Cron {
  try {
    const cron = new Cron(schedule, { timezone: 'UTC', mode: '5-part' });
    if (cron.nextRun() === null) throw new Error('It names a date that does not exist.');
    return cron;
  } catch (cause) {
    throw new Error(
      `BACKUP_SCHEDULE is not a cron expression: ${(cause as Error).message} For 03:00 UTC every day, write "0 3 * * *".`,
      { cause },
    );
  }
}
