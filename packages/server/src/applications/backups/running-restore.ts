/**
 * Which application a restore is replacing now. It is read from the list of backups in the store of `main`, so it holds for all servers, and
 * until a restore that was interrupted is settled.
 */
import { readRunningBackups } from '../../database/backup-rows.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { parseJob } from './backup-entry.ts';

/**
 * @param transaction a transaction that has changed the row of the application; null for a first check. A restore
 * stores what it replaces before it changes that row, so that a transaction and a restore that run at the same time
 * notice each other.
 * @throws ApiError 409 if a restore has begun to replace the application.
 */
export async function requireNotRestored(
  database: Database,
  transaction: Transaction | null,
  name: string,
): Promise<void> {
  for (const row of await readRunningBackups(database, transaction)) {
    const { entry, restore } = parseJob(row);
    if (!restore || restore.replaced === null || entry.application !== name) continue;
    const machine = entry.machine === null ? '' : ` by the machine "${entry.machine}"`;
    throw new ApiError(
      'BACKUP_RUNNING',
      `The application "${name}" is being restored from the backup "${entry.backup}"${machine} (${entry.id}). Wait until that has ended: backups:list shows it.`,
    );
  }
}

/** @throws ApiError 409 if the restore that has made a store was given up, because another server did not find it running. */
export async function requireRestoreRunning(
  database: Database,
  transaction: Transaction,
  store: string,
): Promise<void> {
  const rows = await readRunningBackups(database, transaction);
  if (!rows.some((row) => parseJob(row).restore?.store === store))
    throw new ApiError('BACKUP_UNUSABLE', 'The restore lost its connection and was given up. Try again.');
}
