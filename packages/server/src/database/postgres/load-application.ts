/** Creates a schema from the files of a backup, under a name that no server uses. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BackupManifest, compareCounts, UnusableBackup } from '../backup-manifest.ts';
import type { PostgresClient } from './postgres-client.ts';
import { runQueries, runQuery } from './run-query.ts';
import { type SavedSchema, schemaFile } from './save-application.ts';
import { findFilledTables, loadTable, noRows, saveTable, setForCopies } from './table-copy.ts';

/** Reads the saved definition of an application from its folder. */
export async function readSavedSchema(folder: string): Promise<SavedSchema> {
  return JSON.parse(await readFile(join(folder, schemaFile), 'utf8')) as SavedSchema;
}

/**
 * Creates a schema with its rows. It must not exist.
 *
 * @throws UnusableBackup if a file has other rows than its definition says.
 */
export async function loadApplication(client: PostgresClient, schema: string, folder: string): Promise<SavedSchema> {
  const saved = await readSavedSchema(folder);
  await runQuery(client, `CREATE SCHEMA ${schema}`);
  // Statements have no schema: names mean those of the new one, and extensions in `public`.
  await runQuery(client, `SET search_path TO ${schema},public; ${setForCopies('SESSION')}; SET jit TO off`);
  await runQueries(client, saved.create);
  for (const table of saved.tables) {
    const { rows, sha256 } = await loadTable(client, table, join(folder, table.file));
    if (rows !== table.rows || sha256 !== table.sha256) throw differentRows(table, rows);
  }
  await runQueries(client, [...saved.index, ...saved.relate]);
  return saved;
}

/** Compares the definition of an application with the counts of the manifest. @throws UnusableBackup */
export async function checkSavedCounts(folder: string, manifest: BackupManifest, store: string): Promise<void> {
  const { tables } = await readSavedSchema(folder);
  const prefix = `schemas/${store}/`;
  compareCounts(
    manifest.tables.filter(({ file }) => file.startsWith(prefix)),
    tables.map(({ table, rows, file }) => ({ table, rows, file })),
  );
}

/** Counts the rows of the files of an application without a database. @throws UnusableBackup */
export async function countSavedRows(folder: string): Promise<void> {
  for (const table of (await readSavedSchema(folder)).tables) {
    const { rows, sha256 } = await loadTable(null, table, join(folder, table.file));
    if (rows !== table.rows || sha256 !== table.sha256) throw differentRows(table, rows);
  }
}

/** Reads the rows of a loaded schema, on the connection that loaded it. @throws UnusableBackup if they differ from those of the backup. */
export async function compareRows(client: PostgresClient, saved: SavedSchema): Promise<void> {
  const filled = await findFilledTables(client, saved.tables);
  for (const table of saved.tables) {
    const { rows, sha256 } = filled.has(table.table) ? await saveTable(client, table, null) : noRows;
    if (rows !== table.rows || sha256 !== table.sha256) throw differentRows(table, rows);
  }
}

function differentRows({ table, rows }: SavedSchema['tables'][number], found: number): UnusableBackup {
  const difference = found === rows ? 'other rows than were saved' : `${found} rows instead of ${rows}`;
  return new UnusableBackup(`The table "${table}" of the backup has ${difference}. Use another backup.`);
}
