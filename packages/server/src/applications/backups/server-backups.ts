/** The backups of a server, and their schedule. Loaded when it is first needed. */

import type { BackupSource } from '../../base/backup-config.ts';
import type { Config } from '../../base/config.ts';
import type { ServerHealth } from '../../base/server-health.ts';
import { StartFailure } from '../../base/start-failure.ts';
import type { BackupBucket } from '../../database/backup-bucket.ts';
import type { ApplicationStores } from '../application-stores.ts';
import type { Applications } from '../applications.ts';
import { BackupSchedule } from './backup-schedule.ts';
import { BackupStorage } from './backup-storage.ts';
import { Backups, type BackupsParts } from './backups.ts';

export interface ServerBackupsParts {
  readonly applications: Applications;
  readonly stores: ApplicationStores;
  readonly source: BackupSource;
  readonly appKeys: BackupsParts['appKeys'];
  /** The folder for backups. Backups for a bucket are also made there first. */
  readonly folder: string;
  /** Returns the current settings, which may change. */
  readonly settings: () => Config['backups'];
  readonly health: ServerHealth;
}

/** @throws StartFailure if the schedule is invalid. */
export async function openServerBackups(parts: ServerBackupsParts): Promise<ServerBackups> {
  const { s3 } = parts.settings();
  if (s3 === null) return new ServerBackups(parts, null);
  const { BackupBucket } = await import('../../database/backup-bucket.ts');
  return new ServerBackups(parts, new BackupBucket(s3, parts.health.reporter('backup storage')));
}

export class ServerBackups {
  readonly #settings: ServerBackupsParts['settings'];
  readonly backups: Backups;
  readonly schedule: BackupSchedule;

  #sweeping: Promise<void> = Promise.resolve();

  /** @throws StartFailure if the schedule is invalid. */
  constructor(parts: ServerBackupsParts, bucket: BackupBucket | null) {
    const { applications, settings, health } = parts;
    const { clock, logger } = applications.main;
    this.#settings = settings;
    const storage = new BackupStorage(parts.folder, bucket);
    this.backups = new Backups({ ...parts, storage, logger, report: health.reporter('backups') });
    try {
      const { backups } = this;
      this.schedule = new BackupSchedule({ settings, backups, clock, logger, isShared: applications.isShared });
    } catch (error) {
      throw new StartFailure((error as Error).message, { cause: error });
    }
  }

  /** The current settings. */
  get settings(): Config['backups'] {
    return this.#settings();
  }

  /** Finishes or undoes interrupted jobs, and starts the schedule. */
  async begin(): Promise<void> {
    const { logger } = this.backups.parts;
    // An unavailable bucket does not delay the start. The health of the server reports it, and the next backup settles these jobs.
    await this.backups.settle().catch((error: unknown) => {
      if (this.settings.s3 === null) throw error;
      logger.warn({ err: error }, 'Interrupted backups could not be settled.');
    });
    this.#sweeping = this.backups.sweep().catch((error: unknown) => {
      logger.warn({ err: error }, 'The files of interrupted backups could not be removed.');
    });
    if (this.settings.s3 === null) await this.#sweeping;
    this.schedule.begin();
  }

  async close(): Promise<void> {
    await this.schedule.close();
    await this.#sweeping;
    await this.backups.close();
  }
}
