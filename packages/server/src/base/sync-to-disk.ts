import { open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Waits until a file or folder is on the disk. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Waits until a folder with all its files and folders is on the disk, and its own name. */
export async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    await syncToDisk(join(entry.parentPath, entry.name));
  await syncToDisk(folder);
  await syncToDisk(dirname(folder));
}
