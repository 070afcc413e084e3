import { backup, DatabaseSync } from 'node:sqlite';
import { syncToDisk } from '../../base/sync-to-disk.ts';

/** Copies all pages in one step, so that the copy is consistent during writes. */
const allPages = 2 ** 31 - 1;

/**
 * Copies a database, which may be in use, to a new file, durably.
 *
 * It copies pages instead of running VACUUM INTO, because expressions in indexes need functions that only the server defines.
 */
export async function copyDatabase(path: string, target: string): Promise<void> {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  try {
    await backup(database, target, { rate: allPages });
  } finally {
    database.close();
  }
  await syncToDisk(target);
}
