/** A restore of `main` in a data folder: it is prepared while the server runs, and takes effect while it has closed all stores. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncToDisk } from '../../base/sync-to-disk.ts';
import { UnusableBackup } from '../backup-manifest.ts';
import { compileListCopies } from '../main-lists.ts';
import { requireSameVersion } from '../store-version.ts';
import { decideRestore, intentName, partName } from './finish-restore.ts';
import { copyStore, type NewStoreOptions } from './restore-folder.ts';
import { SqliteConnection } from './sqlite-connection.ts';

/** The files of `main` from the backup, next to the present ones. */
const partPath = (dataDir: string, store: string): string => join(dataDir, partName, 'applications', `${store}.db`);

/**
 * Copies `main` of a backup to `restore.part`, and checks the copy.
 *
 * @param epoch the name of its event log. @throws UnusableBackup
 */
export async function prepareMainFiles(
  { epoch, ...options }: NewStoreOptions & { readonly epoch: string },
  dataDir: string,
): Promise<void> {
  if (existsSync(join(dataDir, intentName))) throw new Error('Another restore has not been finished.');
  await copyStore(options, join(dataDir, partName));
  const connection = new SqliteConnection(partPath(dataDir, options.store));
  const present = new SqliteConnection(join(dataDir, 'applications', `${options.store}.db`));
  try {
    requireSameVersion(readVersion(connection), readVersion(present));
    connection.run({ text: 'UPDATE _meta SET epoch=?', values: [epoch] });
    connection.run({ text: 'PRAGMA wal_checkpoint(TRUNCATE)', values: [] });
  } finally {
    connection.close();
    present.close();
  }
}

/** Removes what {@link prepareMainFiles} has written, unless it takes effect. */
export async function removeMainFiles(dataDir: string): Promise<void> {
  if (!existsSync(join(dataDir, intentName))) await rm(join(dataDir, partName), { recursive: true, force: true });
}

function readVersion(connection: SqliteConnection): number | null {
  const [found] = connection.run({ text: "SELECT 1 FROM sqlite_schema WHERE name='_migrations'", values: [] });
  if (!found) return null;
  const [row] = connection.run({ text: 'SELECT max(number) FROM _migrations', values: [] });
  return row?.[0] as number;
}

/**
 * Decides that the prepared `main` takes the place of the present one; the next start moves the files. Call it while the folder is locked
 * and no store is open.
 *
 * @returns the folder that will have the replaced files.
 */
export async function decideMainRestore(
  dataDir: string,
  store: string,
  { epoch, at }: { readonly epoch: string; readonly at: string },
): Promise<string> {
  const keep = `replaced-${at.replace(/[^\d]/g, '').slice(0, 14)}-${randomUUID().slice(0, 8)}`;
  const path = partPath(dataDir, store);
  const connection = new SqliteConnection(path);
  try {
    const [row] = connection.run({ text: 'SELECT epoch FROM _meta', values: [] });
    if (row?.[0] !== epoch) throw new UnusableBackup('The prepared data is of another restore.');
    await copyLists(connection, join(dataDir, 'applications', `${store}.db`));
  } finally {
    connection.close();
  }
  await syncToDisk(path);
  await decideRestore(dataDir, { keep, main: store });
  return join(dataDir, keep);
}

async function copyLists(connection: SqliteConnection, present: string): Promise<void> {
  const run = (text: string, values: readonly string[] = []): unknown[][] =>
    connection.run({ text, values: [...values] }) as unknown[][];
  run('ATTACH ? AS present', [present]);
  const readColumns = async (table: string): Promise<string[]> => {
    const [restored, earlier] = ['main', 'present'].map((schema) =>
      run('SELECT name FROM pragma_table_info(?,?)', [table, schema]).map(([name]) => name as string),
    );
    return (restored ?? []).filter((name) => earlier?.includes(name));
  };
  const statements = await compileListCopies('present', 'main', readColumns);
  run('BEGIN IMMEDIATE');
  for (const statement of statements) run(statement);
  run('COMMIT');
  run('DETACH present');
  run('PRAGMA wal_checkpoint(TRUNCATE)');
}
