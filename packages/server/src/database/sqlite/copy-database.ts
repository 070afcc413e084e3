import { open } from 'node:fs/promises';
import { backup, DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { syncToDisk } from '../../base/sync-to-disk.ts';

/** Copies all pages in one step, so that the copy is consistent during writes. */
const allPages = 2 ** 31 - 1;
/** How often the copy is written to the disk while it grows. */
const syncMilliseconds = 50;

/**
 * Copies a database, which may be in use, to a new file, durably.
 *
 * It copies pages instead of running VACUUM INTO, because expressions in indexes need functions that only the server defines.
 */
export async function copyDatabase(path: string, target: string): Promise<void> {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  const ended = new AbortController();
  const syncing = syncRepeatedly(target, ended.signal);
  try {
    await backup(database, target, { rate: allPages });
  } finally {
    ended.abort();
    database.close();
    await syncing;
  }
  await syncToDisk(target);
}

/** Writes a growing file to the disk in small parts: otherwise a sync of the server has to wait for gigabytes of it. */
async function syncRepeatedly(path: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(syncMilliseconds);
    const file = await open(path, 'r').catch(() => null); // it does not exist yet
    await file
      ?.datasync()
      .catch(() => {}) // the last sync reports the error
      .finally(() => file.close());
  }
}
