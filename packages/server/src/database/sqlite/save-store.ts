import { existsSync, statfsSync, statSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { StartFailure } from '../../base/start-failure.ts';
import { syncToDisk } from '../../base/sync-to-disk.ts';
import { copyDatabase } from './copy-database.ts';

/**
 * Copies a database and its audit journal before they are upgraded. The copy replaces an earlier one of the same version: each
 * migration is a transaction, so the database is intact at each version.
 *
 * @param path the database file. @param target the folder that contains the copies. @param version the version of the store.
 * @returns the folder of the copy, `<target>/<store>-version-<version>`.
 * @throws StartFailure if the disk has no space for it.
 */
export async function saveStore(path: string, target: string, version: number): Promise<string> {
  const name = basename(path, '.db');
  const folder = join(target, `${name}-version-${version}`);
  const part = `${folder}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true, mode: 0o700 });
  requireSpace(path, part);
  await copyDatabase(path, join(part, `${name}.db`));
  const journal = join(dirname(path), `${name}.audit.db`);
  if (existsSync(journal)) await copyDatabase(journal, join(part, `${name}.audit.db`));
  await rm(folder, { recursive: true, force: true });
  await rename(part, folder);
  await syncToDisk(target);
  return folder;
}

function requireSpace(path: string, folder: string): void {
  const needed = statSync(path).size;
  const { bavail, bsize } = statfsSync(folder);
  const megabytes = (bytes: number): number => Math.ceil(bytes / 1024 / 1024);
  if (bavail * bsize > needed) return;
  throw new StartFailure(
    `Before an upgrade, ${path} is copied to ${folder}, which needs ${megabytes(needed)} MB; ${megabytes(bavail * bsize)} MB are free. Free some space, or make a backup yourself and set UPGRADE_BACKUP=off. Nothing was changed.`,
  );
}

/** Removes the copies of a store. @param target the folder that contains the copies. */
export async function removeSavedStore(store: string, target: string): Promise<void> {
  const names = existsSync(target) ? await readdir(target) : [];
  for (const name of names.filter((each) => each.startsWith(`${store}-version-`)))
    await rm(join(target, name), { recursive: true, force: true });
}
