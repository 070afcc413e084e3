import { readEpoch } from '../../database/catalogue.ts';
import { type Application, mainApplicationName } from '../application.ts';
import type { RestoreSteps } from './backup-entry.ts';
import type { Backups, RunningJob } from './backups.ts';
import type { RestoreRequest } from './restore-application.ts';

/**
 * Restores `main`: its data is written next to the present data, which is saved. Then the server closes all stores, exchanges the two, and
 * opens them again; other servers with the same data do the same. The name of the event log says afterwards which of the two is in place,
 * and the restore is settled like one whose server has died.
 */
export async function restoreMain(
  backups: Backups,
  job: RunningJob,
  { id, application, identities }: RestoreRequest,
  { store: epoch }: RestoreSteps,
): Promise<void> {
  const { applications, stores } = backups.parts;
  try {
    const location = await backups.storage.locate(id, job.entry.id);
    const request = { ...location, application: application.name, epoch, identities };
    await backups.runTask({ kind: 'prepareMain', request });
    const kept = (await backups.saveWithin(mainApplicationName)).id;
    await job.update({ keptAs: kept });
    await backups.moveToBucket(kept);
  } catch (error) {
    await backups.runTask({ kind: 'removeMainPart' }).catch(() => {});
    throw error;
  }
  // Other servers do not settle the restore until it has taken place, or this server has died.
  await stores.group()?.hold(job.entry.id);
  job.isHandedOver = true;
  const { logger } = backups.parts;
  const restored = { epoch, job: job.entry.id, at: backups.now() };
  applications.restart(async () => {
    const replaced = await stores.replaceMain(restored);
    logger.warn({ replaced }, '"main" is restored. What it replaced is kept. Remove it when it is no longer needed.');
  });
}

/** Whether another server is restoring `main` now. It no longer has the lock of backups. */
export async function isMainRestoredElsewhere({ parts }: Backups, job: string): Promise<boolean> {
  return (await parts.stores.group()?.isHeldElsewhere(job)) ?? false;
}

/** @returns whether the restored data is in place. Otherwise nothing is changed, and what was prepared is removed. */
export async function settleMainRestore(
  backups: Backups,
  { store: epoch, mainCaller }: RestoreSteps,
): Promise<boolean> {
  const { main } = backups.parts.applications;
  if ((await readEpoch(main.database)) !== epoch) {
    await backups.runTask({ kind: 'removeMainPart' });
    return false;
  }
  if (mainCaller) await recordRestore(main, backups.now(), mainCaller);
  return true;
}

/** The journal of the replaced data has the entry of the request. */
async function recordRestore(
  main: Application,
  at: string,
  caller: NonNullable<RestoreSteps['mainCaller']>,
): Promise<void> {
  const action = { action: 'backups:restore', resource: 'backups', targets: [mainApplicationName], destroyed: false };
  await main.journal.appendAdminAction({ ...caller, ...action, at });
}
