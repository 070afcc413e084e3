import type { BackupApplication } from '../../database/backup-manifest.ts';
import { signCopiedChains } from '../../journal/chain.ts';
import { ChainSigner } from '../../journal/hash-chain.ts';
import type { Requester } from '../application-list.ts';
import type { ApplicationStores } from '../application-stores.ts';
import type { RestoreSteps } from './backup-entry.ts';
import type { Backups, RunningJob } from './backups.ts';

/** A checked request for a restore. */
export interface RestoreRequest {
  /** Of the backup. */
  readonly id: string;
  /** The application in the backup. */
  readonly application: BackupApplication;
  /** The name under which it is restored. */
  readonly name: string;
  /** Whether it is a copy next to the original. */
  readonly isCopy: boolean;
  /** Secret keys of age. */
  readonly identities: readonly string[];
  readonly requester: Requester;
}

/**
 * Restores one application while the server runs. Its data is written to a new store, which the application gets in one transaction of
 * `main`. A crash before this transaction leaves the earlier data, a crash after it all of the restored data. While the earlier data is
 * saved, requests to the application are refused.
 */
export async function restoreApplication(
  backups: Backups,
  job: RunningJob,
  { id, application, name, isCopy, identities, requester }: RestoreRequest,
  steps: RestoreSteps,
): Promise<void> {
  const { applications, stores } = backups.parts;
  const { store } = steps;
  try {
    const location = await backups.storage.locate(id, job.entry.id);
    const request = { ...location, application: application.name, store, identities, isCopy };
    await backups.runTask({ kind: 'createStore', request });
    if (isCopy)
      await signCopiedJournal(stores, store, { original: application.name, copy: name }, backups.parts.appKeys);
    const { displayName, options } = application;
    const restored = { name, displayName: isCopy ? null : displayName, options, store, mustBeNew: isCopy };
    let kept: string | null = null;
    const replaced = await applications.replaceStore(restored, requester, {
      beforeStop: (earlier, wasServed) => job.update({}, { store, replaced: earlier, wasStopped: wasServed }),
      whileStopped: async () => {
        kept = (await backups.saveWithin(name)).id;
        await job.update({ keptAs: kept });
      },
    });
    if (replaced !== null) await stores.remove(replaced);
    if (kept !== null) await backups.moveToBucket(kept);
  } catch (error) {
    if (!(await applications.isStoreListed(store))) await removeStore(backups, store).catch(() => {});
    throw error;
  }
}

/** The name of a restored application, and that of its copy. */
export interface CopyNames {
  readonly original: string;
  readonly copy: string;
}

/** Signs the audit journal of a copy: its signatures contain the name of the application. */
export async function signCopiedJournal(
  stores: Pick<ApplicationStores, 'open' | 'openJournal'>,
  store: string,
  names: CopyNames,
  appKeys: readonly string[],
): Promise<void> {
  const journal = (await stores.openJournal(store)) ?? (await stores.open(store, false));
  try {
    await signCopiedChains(journal, new ChainSigner(names.original, appKeys), new ChainSigner(names.copy, appKeys));
  } finally {
    await journal.close();
  }
}

/** Removes a restored store that is not used. */
export async function removeStore(backups: Backups, store: string): Promise<void> {
  await backups.runTask({ kind: 'removeStorePart', store });
  await backups.parts.stores.remove(store);
}
