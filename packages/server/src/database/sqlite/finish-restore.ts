/**
 * The end of a restore into a data folder. A file, `restore.json`, says that the restored data is complete in `restore.part` and takes the
 * place of the earlier data. It is there until all is moved, so that a restore that is interrupted is finished at the next start.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncToDisk } from '../../base/sync-to-disk.ts';

export const intentName = 'restore.json';
export const partName = 'restore.part';

/** Decides that the restored data takes effect. @param keep the folder, within the data folder, for what it replaces. */
export async function decideRestore(dataDir: string, keep: string): Promise<void> {
  const path = join(dataDir, intentName);
  await writeFile(`${path}.part`, JSON.stringify({ keep }), { mode: 0o600 });
  await syncToDisk(`${path}.part`);
  await rename(`${path}.part`, path);
  await syncToDisk(dataDir);
}

/**
 * Moves the restored data of a decided restore to its place, and what it replaces to another folder. Call it while the folder is locked.
 *
 * @returns the folder with the replaced data; null if there was none, or no restore is pending.
 */
export async function finishRestore(dataDir: string): Promise<string | null> {
  if (!existsSync(join(dataDir, intentName))) return null;
  const { keep } = JSON.parse(await readFile(join(dataDir, intentName), 'utf8')) as { keep: string };
  const part = join(dataDir, partName);
  const kept = join(dataDir, keep);
  for (const name of existsSync(part) ? await readdir(part) : []) {
    // What was moved before an interruption is no longer in the part, so nothing restored is taken for replaced data.
    if (existsSync(join(dataDir, name))) {
      await mkdir(kept, { recursive: true, mode: 0o700 });
      await rename(join(dataDir, name), join(kept, name));
      await syncToDisk(kept);
    }
    await rename(join(part, name), join(dataDir, name));
    await syncToDisk(dataDir);
  }
  await rm(part, { recursive: true, force: true });
  await rm(join(dataDir, intentName));
  await syncToDisk(dataDir);
  return existsSync(kept) ? kept : null;
}
