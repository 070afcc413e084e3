/** Checks of database files that no server uses. */

import { constants } from 'node:fs';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { type BackupManifest, type BackupTable, compareCounts, UnusableBackup } from '../backup-manifest.ts';
import { hasProcessExited } from './folder-lock.ts';
import { SqliteConnection } from './sqlite-connection.ts';

/** Opens a file that nobody writes, without making files next to it. */
export function openCopy(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: true });
}

/** Counts the rows of all tables of a copy. Those of a virtual table are in its own tables. */
export function countTableRows(folder: string, path: string): BackupTable[] {
  const database = openCopy(join(folder, path));
  try {
    const tables = database
      .prepare(
        "SELECT name,'\"'||replace(name,'\"','\"\"')||'\"' AS quoted FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
      )
      .all() as unknown as { name: string; quoted: string }[];
    return tables.map(({ name, quoted }) => {
      const row = database.prepare(`SELECT count(*) AS rows FROM ${quoted}`).get();
      return { file: path, table: name, rows: Number(row?.['rows']) };
    });
  } finally {
    database.close();
  }
}

/**
 * Opens copies of the databases of a backup and compares their tables with the manifest.
 *
 * @throws UnusableBackup naming what differs.
 */
export async function checkDatabases(folder: string, manifest: BackupManifest): Promise<void> {
  await removeLeftovers();
  const scratch = await mkdtemp(join(tmpdir(), `tablinum-verify-${process.pid}-`));
  try {
    for (const { path } of manifest.files.filter((file) => file.path.endsWith('.db'))) {
      const name = 'copy.db';
      await copyFile(join(folder, path), join(scratch, name), constants.COPYFILE_FICLONE);
      checkIntegrity(join(scratch, name), path);
      compareCounts(
        manifest.tables.filter(({ file }) => file === path),
        countTableRows(scratch, name),
      );
    }
  } finally {
    await rm(scratch, { recursive: true });
  }
}

/** Removes the copies of calls that were interrupted: their process has ended. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const [, pid] = /^tablinum-verify-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && hasProcessExited(Number(pid)))
      await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {}); // that of another user
  }
}

/** @throws UnusableBackup */
function checkIntegrity(file: string, path: string): void {
  const connection = new SqliteConnection(file);
  try {
    const [row] = connection.run({ text: 'PRAGMA integrity_check(1)', values: [] });
    if (row?.[0] !== 'ok') throw new UnusableBackup(`The database ${path} is damaged: ${String(row?.[0])}.`);
  } finally {
    connection.close();
  }
}
