/** The backups of a server, and their schedule. Loaded when it is first needed. */

import type { BackupSource } from '../../base/backup-config.ts';
import type { Config } from '../../base/config.ts';
import type { ServerHealth } from '../../base/server-health.ts';
import { StartFailure } from '../../base/start-failure.ts';
import type { ApplicationStores } from '../application-stores.ts';
import type { Applications } from '../applications.ts';
import { BackupSchedule } from './backup-schedule.ts';
import { Backups } from './backups.ts';

export interface ServerBackupsParts {
  readonly applications: Applications;
  readonly stores: ApplicationStores;
  readonly source: BackupSource;
  /** The folder for backups. */
  readonly folder: string;
  /** The present settings, which may change. */
  readonly settings: () => Config['backups'];
  readonly health: ServerHealth;
}

export class ServerBackups {
  readonly #settings: ServerBackupsParts['settings'];
  readonly backups: Backups;
  readonly schedule: BackupSchedule;

  /** @throws StartFailure if the schedule is invalid. */
  constructor(parts: ServerBackupsParts) {
    const { applications, settings, health } = parts;
    const { clock, logger } = applications.main;
    this.#settings = settings;
    this.backups = new Backups({ ...parts, logger, report: health.reporter('backups') });
    try {
      const { backups } = this;
      this.schedule = new BackupSchedule({ settings, backups, clock, logger, isShared: applications.isShared });
    } catch (error) {
      throw new StartFailure((error as Error).message, { cause: error });
    }
  }

  /** The present settings. */
  get settings(): Config['backups'] {
    return this.#settings();
  }

  /** Finishes or undoes interrupted jobs, and starts the schedule. */
  async begin(): Promise<void> {
    await this.backups.settle();
    await this.backups.sweep();
    this.schedule.begin();
  }

  async close(): Promise<void> {
    await this.schedule.close();
    await this.backups.close();
  }
}
