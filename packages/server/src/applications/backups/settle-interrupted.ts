import { type BackupRow, readRunningBackups, updateBackup } from '../../database/backup-rows.ts';
import { settleNodeMoves } from '../moves/node-moves.ts';
import { type BackupEntry, describeManifest, parseJob, type RestoreSteps } from './backup-entry.ts';
import type { Backups } from './backups.ts';
import { removeStore } from './restore-application.ts';
import { isMainRestoredElsewhere, settleMainRestore } from './restore-main.ts';

const interrupted = 'The server stopped before the work was finished.';
const mainNotRestored =
  'The server was stopped, or the restored data could not be put in place: then its log names the cause. Nothing was changed.';
const nothingChanged = `${interrupted} Nothing was changed.`;

/**
 * Finishes or undoes the backups, restores and moves to other nodes of servers that have died. Call it with the lock of backups, so that none of them still
 * runs. Each step can be repeated. A restore of `main` that another server is carrying out is left alone.
 *
 * @throws the first error, for example because the bucket for backups cannot be used. The other jobs are settled before.
 */
export async function settleInterrupted(backups: Backups): Promise<void> {
  const { database } = backups.parts.applications.main;
  await settleNodeMoves(backups);
  const rows = await readRunningBackups(database);
  const settled = await Promise.allSettled(rows.map((row) => settleJob(backups, row)));
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
}

async function settleJob(backups: Backups, row: BackupRow): Promise<void> {
  const { database } = backups.parts.applications.main;
  const { entry, restore } = parseJob(row);
  if (restore?.mainCaller && (await isMainRestoredElsewhere(backups, entry.id))) return;
  const problem = restore ? await settleRestore(backups, entry, restore) : null;
  const manifest = restore ? null : await backups.storage.read(entry.id);
  if (!manifest) await backups.storage.removePart(entry.id);
  const isDone = restore ? problem === null : manifest !== null;
  const settled: BackupEntry = {
    ...entry,
    ...(manifest && describeManifest(manifest)),
    status: isDone ? 'done' : 'failed',
    finishedAt: backups.now(),
    progress: null,
    problem: isDone ? null : (problem ?? interrupted),
  };
  await updateBackup(database, { id: entry.id, status: settled.status, job: JSON.stringify({ entry: settled }) });
  if (restore?.mainCaller && isDone)
    return backups.parts.logger.info({ backup: entry.id }, 'A restore of "main" is complete.');
  backups.parts.logger.warn(
    { backup: entry.id, status: settled.status },
    isDone ? `An interrupted ${entry.kind} was finished.` : `An interrupted ${entry.kind} was undone.`,
  );
}

/** @returns why it failed; null if the application has its restored data. */
async function settleRestore(backups: Backups, entry: BackupEntry, steps: RestoreSteps): Promise<string | null> {
  const { applications, stores } = backups.parts;
  const { store, replaced, wasStopped, mainCaller } = steps;
  if (mainCaller) return (await settleMainRestore(backups, steps)) ? null : mainNotRestored;
  if (await applications.isStoreListed(store)) {
    if (replaced !== null && !(await applications.isStoreListed(replaced))) await stores.remove(replaced);
    return null;
  }
  await removeStore(backups, store);
  if (wasStopped && entry.application !== null) await applications.resume(entry.application);
  return nothingChanged;
}
