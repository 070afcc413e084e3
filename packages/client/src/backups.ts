import type { Client } from './client.ts';

/** A backup or restore of the server. Members are null until they are known. */
export interface Backup {
  readonly id: string;
  readonly kind: 'backup' | 'restore';
  readonly status: 'running' | 'done' | 'failed';
  /** Null: made by the command line. */
  readonly reason: 'request' | 'schedule' | 'restore' | null;
  /** The only application that was saved; null: all. */
  readonly application: string | null;
  readonly applications: readonly string[];
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** Saved applications and their total, and bytes written so far. `storedBytes`: bytes stored in the bucket; null until the upload begins. */
  readonly progress: {
    readonly done: number;
    readonly total: number;
    readonly bytes: number;
    readonly storedBytes: number | null;
  } | null;
  readonly bytes: number | null;
  readonly files: number | null;
  readonly tables: number | null;
  readonly rows: number | null;
  readonly serverVersion: string | null;
  readonly isEncrypted: boolean;
  readonly bucket: string | null;
  readonly machine: string | null;
  /** Whether the server that replied has its files. */
  readonly isAvailable: boolean;
  readonly problem: string | null;
  /** Of a restore: the backup that was restored, and the backup with the replaced data. */
  readonly backup: string | null;
  readonly keptAs: string | null;
}

export interface BackupSchedule {
  /** A cron expression in UTC. */
  readonly schedule: string | null;
  readonly nextAt: string | null;
  readonly keep: number;
  readonly isEncrypted: boolean;
  /** The bucket for new backups; null: they are stored in a folder. */
  readonly bucket: string | null;
}

export interface RestoreOptions {
  /** The application in the backup. Not needed if the backup contains only one besides `main`. */
  readonly application?: string;
  /** A new name: restores a copy, which sends nothing, next to the original. */
  readonly as?: string;
  /** The name of the application. Required if its data is replaced. */
  readonly confirm?: string;
  /** The secret key of age (`AGE-SECRET-KEY-1…`). Required if the backup is encrypted. */
  readonly identity?: string;
}

/** Backups of the server, for administrators of `main`. */
export class Backups {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** All backups and restores, the newest first. `meta` contains the schedule. */
  list(): Promise<{ readonly data: readonly Backup[]; readonly meta: BackupSchedule }> {
    return this.#client.call<readonly Backup[], BackupSchedule>('backups:list');
  }

  async get(id: string): Promise<Backup> {
    return (await this.#client.call<Backup>('backups:get', { query: { filterByTk: id } })).data;
  }

  /** Starts a backup. @param application the only one to save, other than `main`; default: all. */
  create(application?: string): Promise<Backup> {
    return this.#client.post('backups:create', application === undefined ? {} : { application });
  }

  /** The backup as a tar file. */
  download(id: string): Promise<Response> {
    return this.#client.send('backups:download', { query: { filterByTk: id } });
  }

  /** An address for the download that works without a header, for five minutes. */
  sign(id: string): Promise<{ readonly url: string; readonly expiresAt: string }> {
    return this.#client.post('backups:sign', undefined, { filterByTk: id });
  }

  /** Starts to restore one application other than `main`. `get` shows the progress. */
  restore(id: string, options: RestoreOptions = {}): Promise<Backup> {
    return this.#client.post('backups:restore', options, { filterByTk: id });
  }

  /** Deletes a backup, or the entry of a failed one. */
  destroy(id: string): Promise<number> {
    return this.#client.post('backups:destroy', undefined, { filterByTk: id });
  }
}
