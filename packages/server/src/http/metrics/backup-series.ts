/** The metrics of backups. They are read from the list of backups, so they are the same on all servers. */
import { parseJob } from '../../applications/backups/backup-entry.ts';
import { readLastBackup, readRunningBackups } from '../../database/backup-rows.ts';
import type { Database } from '../../database/database.ts';

type Family = readonly [string, string, readonly (readonly [() => Promise<number>])[]];

/** The gauges of backups. A value that is not known is not a number. */
export function listBackupGauges(main: Database): readonly Family[] {
  const readLast = async (
    read: (startedAt: number, finishedAt: number, bytes: number | null) => number | null,
  ): Promise<number> => {
    const row = await readLastBackup(main).catch(() => null);
    if (!row) return Number.NaN;
    const { startedAt, finishedAt, bytes } = parseJob(row).entry;
    return read(Date.parse(startedAt) / 1000, Date.parse(finishedAt ?? startedAt) / 1000, bytes) ?? Number.NaN;
  };
  return [
    [
      'tablinum_backup_last_success_timestamp_seconds',
      'When the last complete backup of the server ended, in seconds since 1970; NaN without a backup.',
      [[() => readLast((_, finishedAt) => finishedAt)]],
    ],
    [
      'tablinum_backup_last_duration_seconds',
      'Duration of the last complete backup, in seconds.',
      [[() => readLast((startedAt, finishedAt) => finishedAt - startedAt)]],
    ],
    [
      'tablinum_backup_last_bytes',
      'Size of the last complete backup, in bytes.',
      [[() => readLast((_, __, bytes) => bytes)]],
    ],
    [
      'tablinum_backups_running',
      'Backups and restores that run, or that were interrupted and not yet finished or undone.',
      [[async () => (await readRunningBackups(main).catch(() => [])).length]],
    ],
  ];
}
