/** Which tables a move copies: those of the catalogue, and those that the copied definitions describe. */
import { planIndexes, toColumnDefinition } from '../../collections/storage.ts';
import { storeVersion } from '../../database/catalogue.ts';
import type { MovedVersions, MoveReader, NewTable } from '../../database/move/move-stores.ts';
import { listFixedTables, type MovedRow, type MovedTable, toMovedTable } from '../../database/move/moved-table.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import { buildNextRegistry } from '../../schema/load-registry.ts';
import { listColumnFields, Registry } from '../../schema/registry.ts';

/** The tables of an application at one version of its definitions. */
export interface TablePlan {
  readonly registry: Registry;
  /** With those of the catalogue and of the journal. */
  readonly tables: readonly MovedTable[];
  /** The tables of collections. */
  readonly created: readonly NewTable[];
}

/**
 * @param versions those of the source; a copy that is being built has none yet.
 * @throws Error if the store is not as this version of the server writes it.
 */
export async function planTables(reader: MoveReader, versions?: MovedVersions): Promise<TablePlan> {
  const { store, schema } = versions ?? (await reader.versions());
  if (store !== storeVersion)
    throw new Error(
      `The store of the application has version ${store}, and this version of the server needs ${storeVersion}. Start the server, open the application once, and try again.`,
    );
  const fixed = listFixedTables();
  const registry = await readRegistry(reader, fixed, schema);
  const created = registry.all().map((collection): NewTable => {
    const columns = listColumnFields(collection).map((field) => toColumnDefinition(field, registry));
    const mostlyNullColumn = collection.trash?.deletedAt.column ?? null;
    return { table: collection.table, columns, indexes: planIndexes(collection), mostlyNullColumn };
  });
  return { registry, created, tables: [...fixed, ...created.map((each) => toMovedTable(each.table, each.columns))] };
}

async function readRegistry(reader: MoveReader, fixed: readonly MovedTable[], schema: string): Promise<Registry> {
  const records = async (name: string): Promise<Record<string, string | null>[]> => {
    const table = fixed.find((each) => each.table === name);
    if (!table) throw new Error(`no table ${name} in the catalogue`);
    const rows: MovedRow[] = [];
    for await (const batch of reader.rows(table)) rows.push(...batch);
    return rows.map((row) =>
      Object.fromEntries(table.columns.map(({ name: column }, index) => [column, row[index] ?? null])),
    );
  };
  const collections = (await records('_collections')).map((row) => ({
    id: Number(row['id']),
    name: row['name'] ?? '',
    title: row['title'] ?? null,
    description: row['description'] ?? null,
    options: JSON.parse(row['options'] ?? '{}') as unknown,
    table: row['table_name'] ?? '',
    system: row['system'] === '1',
    internal: row['internal'] === '1',
  }));
  const fields = (await records('_fields')).map((row) => ({
    id: Number(row['id']),
    collectionId: Number(row['collection_id']),
    name: row['name'] ?? '',
    definition: parseExactJson(row['definition'] ?? '{}'),
    facts: JSON.parse(row['facts'] ?? '{}') as unknown,
  }));
  const ids = new Set(collections.map(({ id }) => id));
  const empty = new Registry(0, new Map(), new Map());
  return buildNextRegistry(empty, Number(schema), { ids, collections, fields });
}
