/**
 * The backups of the server, and restores of single applications. Only one of them runs at a time, on all servers with the same data.
 * Their list is in the store of `main`; complete backups have a manifest and are in a folder or a bucket.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { BackupSource } from '../../base/backup-config.ts';
import { isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { processCounters } from '../../base/metrics.ts';
import type { HealthReporter } from '../../base/server-health.ts';
import { toAuditActor } from '../../changes/admin-actions.ts';
import type { BackupEngine, BackupManifest, BackupReason } from '../../database/backup-manifest.ts';
import {
  deleteBackup,
  insertBackup,
  pruneBackupReports,
  readBackups,
  readRunningBackups,
  updateBackup,
} from '../../database/backup-rows.ts';
import type { BackupProgress, BackupTask } from '../../database/backup-task.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { type Application, mainApplicationName } from '../application.ts';
import type { ApplicationStores } from '../application-stores.ts';
import type { Applications } from '../applications.ts';
import {
  type BackupEntry,
  describeManifest,
  parseJob,
  type RestoreSteps,
  type StoredJob,
  startEntry,
  toEntry,
} from './backup-entry.ts';
import { BackupLock } from './backup-lock.ts';
import type { BackupStorage, FoundBackup, KnownJobs } from './backup-storage.ts';
import { type RestoreRequest, restoreApplication } from './restore-application.ts';
import { restoreMain } from './restore-main.ts';
import { runBackupTask } from './run-backup-task.ts';
import { settleInterrupted } from './settle-interrupted.ts';

/** The number of failed backups and finished restores that stay in the list. */
const maxReports = 50;
/** How often the progress is stored. */
const progressMilliseconds = 2000;

export interface BackupsParts {
  readonly applications: Applications;
  readonly stores: ApplicationStores;
  readonly source: BackupSource;
  /** The current APP_KEY, then the previous one. */
  readonly appKeys: readonly string[];
  readonly storage: BackupStorage;
  readonly logger: Logger;
  readonly report: HealthReporter;
}

export interface NewBackup {
  /** The only application; null for all. */
  readonly application: string | null;
  readonly reason: BackupReason;
  /** The time of the schedule, ISO 8601; null: none. */
  readonly slot: string | null;
}

/** A job that has the lock. */
export interface RunningJob {
  readonly entry: BackupEntry;
  /** Whether its end is settled after a restart. */
  isHandedOver: boolean;
  /** Stores changes of the job, durably. */
  update(change: Partial<BackupEntry>, restore?: RestoreSteps): Promise<void>;
}

export class Backups {
  readonly parts: BackupsParts;
  readonly storage: BackupStorage;
  readonly #main: Application;
  readonly #stopping = new AbortController();
  readonly #lock: BackupLock;
  /** Entries of backups that are not in the stored list. They are cached, because complete backups never change. */
  readonly #found = new Map<string, BackupEntry>();

  constructor(parts: BackupsParts) {
    this.parts = parts;
    this.storage = parts.storage;
    this.#main = parts.applications.main;
    this.#lock = new BackupLock(this.#main.database, this.#stopping.signal);
  }

  get engine(): BackupEngine {
    return this.parts.source.databaseUrl === null ? 'sqlite' : 'postgres';
  }

  /** All backups and restores, the newest first. */
  async list(): Promise<BackupEntry[]> {
    const complete = await this.storage.list();
    const entries = await this.#listOwn(complete);
    const known = new Set(entries.map(({ id }) => id));
    for (const id of complete) {
      if (known.has(id)) continue;
      const entry = this.#found.get(id) ?? (await this.#readEntry(id));
      if (!entry) continue;
      this.#found.set(id, entry);
      entries.push(entry);
    }
    return newestFirst(entries);
  }

  /**
   * Those of {@link list} that are stored in `main`, because the servers of this data have made them. Other servers may use the same folder
   * or prefix of a bucket.
   */
  async listOwn(): Promise<BackupEntry[]> {
    return newestFirst(await this.#listOwn(await this.storage.list()));
  }

  async #listOwn(complete: ReadonlySet<string>): Promise<BackupEntry[]> {
    const rows = await readBackups(this.#main.database);
    return rows.map(
      (row): BackupEntry => ({ ...parseJob(row).entry, status: row.status, isAvailable: complete.has(row.id) }),
    );
  }

  /** @throws ApiError 404. */
  async get(id: string): Promise<BackupEntry> {
    const found = (await this.list()).find((each) => each.id === id);
    if (!found)
      throw new ApiError('RECORD_UNKNOWN', `There is no backup "${id.slice(0, 100)}". Call backups:list to see them.`);
    return found;
  }

  /** A backup whose files are here. @throws ApiError 404, or 409 if it is not complete or its files are elsewhere. */
  async find(id: string): Promise<FoundBackup> {
    const entry = await this.get(id);
    const manifest = await this.storage.read(id);
    if (manifest) return { id, manifest };
    if (entry.kind === 'restore' || entry.status !== 'done')
      throw new ApiError('BACKUP_UNUSABLE', `"${id}" is not a complete backup. Choose one whose "status" is "done".`);
    const { bucket } = this.storage;
    const notInBucket = bucket === null ? '' : ` and not in the bucket "${bucket.bucket}" (BACKUP_S3_BUCKET)`;
    throw new ApiError(
      'BACKUP_UNUSABLE',
      `The files of the backup "${id}" are not in the backup folder of this server (BACKUP_DIR)${notInBucket}${entry.machine === null ? '' : `. The machine "${entry.machine}" made it`}. If there are several servers, set BACKUP_DIR of all of them to one shared folder, or use BACKUP_S3_BUCKET.`,
    );
  }

  /**
   * Begins a backup.
   *
   * @returns its entry while it runs; null if there is one for the same time of the schedule.
   * @throws ApiError `BACKUP_RUNNING` if another backup or restore runs; 404 for an unknown application; 503 if the bucket cannot be used.
   */
  async create({ application, reason, slot }: NewBackup): Promise<BackupEntry | null> {
    if (application !== null) await this.parts.applications.requireListed(application);
    await this.storage.bucket?.list();
    const entry = this.#newEntry('backup', { application, reason });
    return this.#begin({ entry }, slot, (job) => this.save(job));
  }

  /**
   * Begins to restore one application. To restore `main`, the server closes all stores and opens them again.
   *
   * @throws ApiError `BACKUP_RUNNING`, and for a request that cannot be carried out.
   */
  async restore(request: RestoreRequest): Promise<BackupEntry> {
    const { name, id } = request;
    const entry = this.#newEntry('restore', { application: name, reason: 'request', backup: id });
    const isMain = name === mainApplicationName;
    const { caller, requestId } = request.requester;
    const mainCaller = isMain && { mainCaller: toAuditActor(caller, requestId) };
    const restore: RestoreSteps = { store: randomUUID(), replaced: null, wasStopped: false, ...mainCaller };
    const started = await this.#begin({ entry, restore }, null, (job) =>
      isMain ? restoreMain(this, job, request, restore) : restoreApplication(this, job, request, restore),
    );
    return started ?? entry;
  }

  /** Removes a backup, or an entry of a failed one. @throws ApiError */
  async destroy(id: string): Promise<void> {
    const entry = await this.get(id);
    if (entry.status === 'running') throw backupRunning();
    const isElsewhere = entry.kind === 'backup' && entry.status === 'done' && !entry.isAvailable;
    if (isElsewhere && entry.machine !== hostname()) await this.find(id); // names the machine with the files
    await this.removeBackup(id);
  }

  async removeBackup(id: string): Promise<void> {
    await this.storage.remove(id);
    this.#found.delete(id);
    await deleteBackup(this.#main.database, id);
  }

  /** Finishes or undoes the jobs of servers that have died. Does nothing while a backup, restore or move to another node runs. */
  async settle(): Promise<void> {
    const { nodes } = this.parts.stores;
    const rows = await readRunningBackups(this.#main.database);
    const isUnsettled = nodes !== null && (await nodes.isCluster()) && (await (await nodes.load()).hasUnsettled());
    if (rows.length > 0 || isUnsettled) await this.#lock.tryRun(() => settleInterrupted(this));
  }

  /**
   * Runs other work that must not run at the same time as a backup or restore, on any server.
   *
   * @param work calls its parameter when it has begun, and goes on in the background.
   * @throws ApiError `BACKUP_RUNNING`; the error of work that has not begun.
   */
  async runOther<T>(work: (onBegun: (result: T) => void) => Promise<void>): Promise<T> {
    const begun = Promise.withResolvers<T>();
    const running = this.#lock.run(async () => {
      await this.#requireNone();
      await work(begun.resolve);
      return true;
    });
    running.then((ran) => ran ?? begun.reject(backupRunning()), begun.reject);
    return begun.promise;
  }

  /** Removes the files of interrupted jobs from the folder and the bucket. */
  async sweep(): Promise<void> {
    const readJobs = async (): Promise<KnownJobs> => {
      const rows = await readBackups(this.#main.database);
      const running = rows.filter(({ status }) => status === 'running');
      // A running restore uploads the backup of the replaced data to the bucket.
      const kept = running.flatMap((row) => parseJob(row).entry.keptAs ?? []);
      return { running: new Set([...running.map(({ id }) => id), ...kept]), listed: new Set(rows.map(({ id }) => id)) };
    };
    await this.storage.sweep(readJobs, this.#main.clock.now());
  }

  /** Resolves when no backup or restore of this server runs. */
  async waitForEnd(): Promise<void> {
    await this.#lock.waitForEnd();
  }

  /** Aborts the running job. Its entry then has the status `failed`. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#lock.waitForEnd();
    this.storage.bucket?.close();
  }

  /** Saves the application of a job, or all. */
  async save({ entry, update }: RunningJob): Promise<void> {
    const { id, application, reason } = entry;
    const isUrgent = reason === 'restore'; // the application is stopped until the backup is made
    let storedAt = performance.now();
    const onProgress = (progress: BackupProgress): void => {
      if (performance.now() - storedAt < progressMilliseconds && progress.done < progress.total) return;
      storedAt = performance.now();
      void update({ progress }).catch(() => {});
    };
    const request = { ...(await this.storage.prepare(id, isUrgent)), application, reason };
    if (request.inBucket !== null) await this.sweep();
    await this.runTask({ kind: 'save', request }, onProgress);
    const manifest = (await this.storage.read(id)) as BackupManifest;
    await update({ ...describeManifest(manifest), progress: null });
  }

  /** Moves a backup from the folder to the bucket, if one is set. If this fails, the backup stays in the folder. */
  async moveToBucket(id: string): Promise<void> {
    const { bucket, folders } = this.storage;
    if (bucket === null) return;
    try {
      await this.runTask({ kind: 'upload', request: { folder: folders.path(id), inBucket: id } });
      await folders.remove(id);
    } catch (error) {
      this.parts.logger.warn(
        { err: error, backup: id },
        'A backup stays in BACKUP_DIR, because it could not be stored in the bucket.',
      );
      await bucket.removePart(id).catch(() => {});
    }
  }

  runTask(task: BackupTask, onProgress?: (progress: BackupProgress) => void): Promise<void> {
    const control = { signal: this.#stopping.signal, ...(onProgress && { onProgress }) };
    return runBackupTask(this.parts.source, task, control);
  }

  /** Makes a second backup within a running job, with its own entry. @returns the entry when the backup is complete. */
  async saveWithin(application: string): Promise<BackupEntry> {
    const entry = this.#newEntry('backup', { application, reason: 'restore' });
    const stored = await this.#insert({ entry }, null);
    if (!stored) throw new Error('the entry of the backup exists');
    const error = await this.#run(stored, (job) => this.save(job));
    if (error !== null) throw error;
    return stored.entry;
  }

  /** Runs a job in the background while it has the lock. @returns its entry; null if the time of the schedule is taken. */
  async #begin(
    job: StoredJob,
    slot: string | null,
    work: (job: RunningJob) => Promise<void>,
  ): Promise<BackupEntry | null> {
    const started = Promise.withResolvers<BackupEntry | null>();
    const running = this.#lock.run(async () => {
      await this.#requireNone();
      const stored = await this.#insert(job, slot);
      started.resolve(stored && job.entry);
      if (stored) await this.#run(stored, work);
      return true;
    });
    running.then((ran) => ran ?? started.reject(backupRunning()), started.reject);
    return started.promise;
  }

  /** Settles interrupted jobs. @throws ApiError `BACKUP_RUNNING` if one remains: another server restores `main`. */
  async #requireNone(): Promise<void> {
    await settleInterrupted(this);
    if ((await readRunningBackups(this.#main.database)).length > 0) throw backupRunning();
  }

  async #insert(job: StoredJob, slot: string | null): Promise<RunningJob | null> {
    const { database } = this.#main;
    const { id } = job.entry;
    let stored = job;
    if (!(await insertBackup(database, { id, status: 'running', slot, job: JSON.stringify(job) }))) return null;
    // Changes are written one after the other.
    let writing: Promise<unknown> = Promise.resolve();
    return {
      isHandedOver: false,
      get entry(): BackupEntry {
        return stored.entry;
      },
      update: (change, restore) => {
        stored = { ...stored, entry: { ...stored.entry, ...change }, ...(restore && { restore }) };
        const row = { id, status: stored.entry.status, job: JSON.stringify(stored) };
        const written = writing.then(() => updateBackup(database, row));
        writing = written.catch(() => {});
        return written;
      },
    };
  }

  /** @returns the error; null if the work is done. */
  async #run(job: RunningJob, work: (job: RunningJob) => Promise<void>): Promise<Error | null> {
    const { id, kind } = job.entry;
    const { logger, report } = this.parts;
    try {
      await work(job);
      if (job.isHandedOver) return null;
      await job.update({ status: 'done', finishedAt: this.now() });
      await pruneBackupReports(this.#main.database, maxReports);
      logger.info({ backup: id }, `A ${kind} is complete.`);
      if (kind === 'backup') {
        processCounters.backups.done += 1;
        report(null);
      }
      return null;
    } catch (error) {
      const problem = (error as Error).message;
      logger.error({ err: error, backup: id }, `A ${kind} has failed.`);
      // The files of the restore cannot be removed now. Its entry stays as after a crash, so that the next start, or
      // another server, undoes the restore.
      if (kind === 'restore' && this.#stopping.signal.aborted) return error as Error;
      if (kind === 'backup') {
        processCounters.backups.failed += 1;
        // A stopping server does not wait for the bucket. The next start removes the remains there.
        const { folders } = this.storage;
        await (this.#stopping.signal.aborted ? folders : this.storage).removePart(id).catch(() => {});
        if (!this.#stopping.signal.aborted)
          report({
            severity: 'warning',
            message: 'The last backup has failed. backups:list shows the reason.',
            cause: error,
          });
      }
      await job
        .update({ status: 'failed', finishedAt: this.now(), problem, progress: null })
        .catch((cause: unknown) =>
          logger.error({ err: cause, backup: id }, 'The failure of a backup or restore could not be stored.'),
        );
      return error as Error;
    }
  }

  now(): string {
    return isoTime(this.#main.clock.now());
  }

  #newEntry(
    kind: BackupEntry['kind'],
    parts: Pick<BackupEntry, 'application' | 'reason'> & Partial<BackupEntry>,
  ): BackupEntry {
    const startedAt = this.now();
    const digits = startedAt.replace(/\D/g, '');
    const id = `${kind === 'backup' ? 'b' : 'r'}${digits.slice(0, 8)}-${digits.slice(8, 14)}-${randomUUID().slice(0, 8)}`;
    return startEntry({ ...parts, id, kind, startedAt, machine: hostname() });
  }

  async #readEntry(id: string): Promise<BackupEntry | null> {
    const manifest = await this.storage.read(id);
    return manifest && toEntry(id, manifest);
  }
}

function backupRunning(): ApiError {
  return new ApiError(
    'BACKUP_RUNNING',
    'Another backup, restore or move to another node is running. Wait until it has ended: backups:list and applications:list show it.',
  );
}

function newestFirst(entries: BackupEntry[]): BackupEntry[] {
  return entries.sort((one, other) => (one.startedAt < other.startedAt ? 1 : -1));
}
