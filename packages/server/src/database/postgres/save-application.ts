/** Writes the schema of one application to files: its definition, and the rows of each table, all as of one moment. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupTable } from '../backup-manifest.ts';
import type { PostgresClient } from './postgres-client.ts';
import { runQuery } from './run-query.ts';
import type { SchemaDefinition } from './schema-definition.ts';
import { copySchema, type SchemaSnapshot, type SchemaSource } from './schema-snapshot.ts';
import { type CopiedRows, findFilledTables, saveNoRows, saveTable } from './table-copy.ts';

/** The content of `schema.json`: the definition, and for each of its tables the copied rows and their file next to it. */
export interface SavedSchema extends Omit<SchemaDefinition, 'tables'> {
  readonly tables: readonly (SchemaDefinition['tables'][number] & CopiedRows & { readonly file: string })[];
}

export const schemaFile = 'schema.json';

export interface SaveParts extends SchemaSource {
  /** The folder of the backup. */
  readonly root: string;
  /** The folder of this application, within `root`; it is created. */
  readonly path: string;
}

/**
 * Saves a schema while servers use it.
 *
 * @param read reads more of the moment that is saved.
 * @throws Error if definitions change during each of several attempts.
 */
export function saveApplication<T>(
  parts: SaveParts,
  read: (client: PostgresClient) => Promise<T>,
): Promise<{ readonly tables: BackupTable[]; readonly read: T }> {
  const folder = join(parts.root, parts.path);
  return copySchema(parts, async (snapshot) => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await snapshot.begin('READ ONLY');
    const found = await read(snapshot.client);
    await runQuery(snapshot.client, 'COMMIT');
    return { tables: await saveTables(snapshot, parts), read: found };
  });
}

/** Writes all files of an application, one table for each transaction. */
async function saveTables(
  { definition, client, begin }: SchemaSnapshot,
  { root, path }: SaveParts,
): Promise<BackupTable[]> {
  const tables: SavedSchema['tables'][number][] = [];
  await begin('READ ONLY');
  const filled = await findFilledTables(client, definition.tables);
  await runQuery(client, 'COMMIT');
  for (const [index, table] of definition.tables.entries()) {
    const file = `${String(index + 1).padStart(5, '0')}.copy.zst`;
    const target = join(root, path, file);
    if (filled.has(table.table)) {
      await begin('READ ONLY');
      const copied = await saveTable(client, table, target);
      await runQuery(client, 'COMMIT');
      tables.push({ ...table, file, ...copied });
    } else tables.push({ ...table, file, ...(await saveNoRows(target)) });
  }
  const saved: SavedSchema = { ...definition, tables };
  await writeFile(join(root, path, schemaFile), JSON.stringify(saved, null, 1), { mode: 0o600 });
  return tables.map(({ table, file, rows }) => ({ file: `${path}/${file}`, table, rows }));
}
