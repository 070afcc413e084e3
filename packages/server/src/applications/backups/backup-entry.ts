/** A backup or restore, as replies show it. */
import type { AuditActor } from '../../changes/admin-actions.ts';
import type { BackupManifest, BackupReason } from '../../database/backup-manifest.ts';
import type { BackupRow, BackupStatus } from '../../database/backup-rows.ts';
import type { BackupProgress } from '../../database/backup-task.ts';

export interface BackupEntry {
  readonly id: string;
  readonly kind: 'backup' | 'restore';
  readonly status: BackupStatus;
  /** Null: made by the command line. */
  readonly reason: BackupReason | null;
  /** Of a backup: the only application that was saved, null for all. Of a restore: the name under which it was restored. */
  readonly application: string | null;
  /** The applications that the backup contains. */
  readonly applications: readonly string[];
  /** ISO 8601. */
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly progress: BackupProgress | null;
  /** The size of all files. This and the following members are null until the backup is complete. */
  readonly bytes: number | null;
  readonly files: number | null;
  readonly tables: number | null;
  readonly rows: number | null;
  readonly serverVersion: string | null;
  readonly isEncrypted: boolean;
  /** With BACKUP_FILES=off, the bucket that has the bytes of files and e-mails, which are then not in the backup. */
  readonly bucket: string | null;
  /** The machine that made it; null if that is not known. */
  readonly machine: string | null;
  /** Whether its files are in the folder for backups of the server that replies. */
  readonly isAvailable: boolean;
  /** Why it failed. */
  readonly problem: string | null;
  /** Of a restore: the backup that was restored, and the backup with the replaced data. */
  readonly backup: string | null;
  readonly keptAs: string | null;
}

/** A backup or restore, as it is stored. */
export interface StoredJob {
  readonly entry: BackupEntry;
  /** Of a restore: what must be undone or finished if it is interrupted. */
  readonly restore?: RestoreSteps;
}

export interface RestoreSteps {
  /** The name of the restored store. */
  readonly store: string;
  /** The store that it replaces; null: none, or it is not stopped yet. */
  readonly replaced: string | null;
  /** Whether the application was stopped for the restore, so that it must be started again. */
  readonly wasStopped: boolean;
  /** Of `main`, whose restored event log has the name `store`: the caller, for the restored audit journal. */
  readonly mainCaller?: AuditActor;
}

export const parseJob = ({ job }: Pick<BackupRow, 'job'>): StoredJob => JSON.parse(job) as StoredJob;

const emptyEntry = {
  applications: [],
  finishedAt: null,
  progress: null,
  bytes: null,
  files: null,
  tables: null,
  rows: null,
  serverVersion: null,
  isEncrypted: false,
  bucket: null,
  machine: null,
  isAvailable: false,
  problem: null,
  backup: null,
  keptAs: null,
} as const;

/** The entry of a backup or restore that starts to run. */
export function startEntry(
  entry: Pick<BackupEntry, 'id' | 'kind' | 'reason' | 'application' | 'startedAt'> & Partial<BackupEntry>,
): BackupEntry {
  return { ...emptyEntry, status: 'running', ...entry };
}

/** The members of an entry that the manifest of a complete backup contains. */
export function describeManifest(manifest: BackupManifest): Partial<BackupEntry> {
  const { applications, files, tables, serverVersion, bucket, encryption } = manifest;
  return {
    applications: applications.map(({ name }) => name),
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    files: files.length,
    tables: tables.length,
    rows: tables.reduce((sum, table) => sum + table.rows, 0),
    serverVersion,
    isEncrypted: encryption !== undefined,
    bucket,
    isAvailable: true,
  };
}

/** The entry of a folder that is not in the stored list, for example because `main` was restored. */
export function toEntry(id: string, manifest: BackupManifest): BackupEntry {
  const application = manifest.scope === 'all' ? null : (manifest.applications[0]?.name ?? null);
  const { at, reason = null } = manifest;
  const started = startEntry({ id, kind: 'backup', reason, application, startedAt: at });
  return { ...started, ...describeManifest(manifest), status: 'done', finishedAt: at };
}
