/** Statements about the catalogue: the versions and definitions of an application. */
import { parseExactJson } from '../protocol/exact-json.ts';
import type { StoredCollection, StoredDefinitions, StoredField } from '../schema/load-registry.ts';
import { type BoundStatement, bindFixed, type Database, type Row, type Transaction } from './database.ts';
import type { Dialect } from './dialect.ts';
import { type Columns, insertRows } from './row-insert.ts';
import { readNumberInTx, readRows, requireRow, runInTransaction } from './run-statement.ts';
import { type Sql, sql, value } from './sql.ts';

/**
 * The versions of an application: `schema` changes with definitions, `version` with definitions and with access rules.
 */
export interface Versions {
  readonly version: number;
  readonly schema: number;
}

/** The version of the stores that this server writes: the number of the last migration of `upgrades/`. */
export const storeVersion = 7;

/**
 * The number of the last migration that a store has been through; 0: the store is older than the record of migrations.
 */
export async function readStoreVersion(database: Database): Promise<number> {
  const [row] = await readRows(database, sql`SELECT max(number) FROM _migrations`);
  return Number(row?.[0] ?? 0);
}

/** The current versions. */
export async function readVersions(database: Database): Promise<Versions> {
  const rows = await readRows<[version: number, schema: number]>(
    database,
    sql`SELECT version,schema_version FROM _meta`,
  );
  const [version, schema] = requireRow(rows);
  return { version: Number(version), schema: Number(schema) };
}

/** The current version, as a transaction sees it. */
export async function readVersionInTx(transaction: Transaction): Promise<number> {
  const [version] = requireRow(await transaction.run({ text: 'SELECT version FROM _meta', values: [] }));
  return Number(version);
}

/** Increments the version and returns it. Plans, grants and callers of the previous version become invalid. */
export async function bumpVersion(transaction: Transaction, what: 'access' | 'schema' = 'access'): Promise<number> {
  const schema = what === 'schema' ? ',schema_version=schema_version+1' : '';
  const [version] = requireRow(
    await transaction.run({ text: `UPDATE _meta SET version=version+1${schema} RETURNING version`, values: [] }),
  );
  return Number(version);
}

/** Reads the collections that changed after a schema version, so that the cost depends on the change only. */
export async function readDefinitions(database: Database, since: number): Promise<StoredDefinitions> {
  const queries = buildDefinitionQueries(database.dialect, since);
  const [ids = [], collections = [], fields = []] = await database.read(queries);
  return toStoredDefinitions(ids, collections, fields);
}

/** Like {@link readDefinitions}, as a transaction sees them. */
export async function readDefinitionsInTx(
  { dialect }: Database,
  transaction: Transaction,
  since: number,
): Promise<StoredDefinitions> {
  const [ids, collections, fields] = buildDefinitionQueries(dialect, since);
  return toStoredDefinitions(
    await transaction.run(ids),
    await transaction.run(collections),
    await transaction.run(fields),
  );
}

function buildDefinitionQueries(
  dialect: Dialect,
  since: number,
): readonly [ids: BoundStatement, collections: BoundStatement, fields: BoundStatement] {
  const newer = sql`changed>${value('bigint', since)}`;
  return [
    { text: 'SELECT id FROM _collections', values: [] },
    bindFixed(
      dialect,
      sql`SELECT id,name,title,description,options,table_name,system,internal FROM _collections WHERE ${newer}
ORDER BY id`,
    ),
    bindFixed(
      dialect,
      sql`SELECT id,collection_id,name,definition,facts,
(SELECT s.name FROM _search_indexes s WHERE s.field_id=_fields.id AND s.state='ready') FROM _fields
WHERE collection_id IN (SELECT id FROM _collections WHERE ${newer}) ORDER BY id`,
    ),
  ];
}

function toStoredDefinitions(
  ids: readonly Row[],
  collections: readonly Row[],
  fields: readonly Row[],
): StoredDefinitions {
  return {
    ids: new Set(ids.map((row) => Number(row[0]))),
    collections: collections.map(toStoredCollection),
    fields: fields.map(toStoredField),
  };
}

/** Marks a collection as changed in the current schema version. */
const isChangedNow = sql`changed=(SELECT schema_version FROM _meta)`;

/** Marks a collection as changed, because its fields change. */
export async function markChanged(database: Database, transaction: Transaction, id: number): Promise<void> {
  const update = sql`UPDATE _collections SET ${isChangedNow} WHERE id=${value('integer', id)}`;
  await runInTransaction(database, transaction, update);
}

/** Stores a collection. @returns its id. */
export async function insertCollection(
  database: Database,
  transaction: Transaction,
  parts: Omit<StoredCollection, 'id' | 'table'> & { readonly table: string | null },
): Promise<number> {
  const { name, title, description, options, table, system, internal } = parts;
  const texts = sql`${value('text', name)},${value('text', title)},${value('text', description)}`;
  const storage = sql`${value('json', options)},${value('text', table ?? '')}`;
  const values = sql`${texts},${storage},${value('boolean', system)},${value('boolean', internal)}`;
  const insert = sql`INSERT INTO _collections (changed,name,title,description,options,table_name,system,internal)
VALUES ((SELECT schema_version FROM _meta),${values}) RETURNING id`;
  return readNumberInTx(database, transaction, insert);
}

/** Sets the name of the table of a collection. */
export async function setTableName(
  database: Database,
  transaction: Transaction,
  id: number,
  table: string,
): Promise<void> {
  const update = sql`UPDATE _collections SET table_name=${value('text', table)} WHERE id=${value('integer', id)}`;
  await runInTransaction(database, transaction, update);
}

/** Stores the new name of a renamed table. It has no effect if the collection was deleted meanwhile. */
export async function replaceTableName(
  database: Database,
  transaction: Transaction,
  from: string,
  to: string,
): Promise<void> {
  const update = sql`UPDATE _collections SET table_name=${value('text', to)},${isChangedNow}
WHERE table_name=${value('text', from)}`;
  await runInTransaction(database, transaction, update);
}

/** Replaces the options of a collection. */
export async function updateOptions(
  database: Database,
  transaction: Transaction,
  { id, options }: Pick<StoredCollection, 'id' | 'options'>,
): Promise<void> {
  const update = sql`UPDATE _collections SET options=${value('json', options)},${isChangedNow}
WHERE id=${value('integer', id)}`;
  await runInTransaction(database, transaction, update);
}

const fieldColumns: Columns = [
  ['collection_id', 'integer'],
  ['name', 'text'],
  ['definition', 'json'],
  ['facts', 'json'],
];

/** Stores fields. @returns their ids in the same order. */
export async function insertFields(
  database: Database,
  transaction: Transaction,
  fields: readonly Omit<StoredField, 'id'>[],
): Promise<number[]> {
  const rows = fields.map(({ collectionId, name, definition, facts }) => [collectionId, name, definition, facts]);
  const statement = (insert: Sql): Promise<Row[]> => runInTransaction(database, transaction, insert);
  const ids = await insertRows(statement, database.dialect, '_fields', fieldColumns, rows, sql` RETURNING id`);
  return ids.map((row) => Number(row[0]));
}

/** Replaces the name, definition and facts of a field. */
export async function updateField(
  database: Database,
  transaction: Transaction,
  { id, name, definition, facts }: Omit<StoredField, 'collectionId'>,
): Promise<void> {
  const set = sql`name=${value('text', name)},definition=${value('json', definition)},facts=${value('json', facts)}`;
  const update = sql`UPDATE _fields SET ${set} WHERE id=${value('integer', id)} RETURNING collection_id`;
  await markChanged(database, transaction, await readNumberInTx(database, transaction, update));
}

/** Replaces the title, description and options of a collection. */
export async function updateCollection(
  database: Database,
  transaction: Transaction,
  { id, title, description, options }: Pick<StoredCollection, 'id' | 'title' | 'description' | 'options'>,
): Promise<void> {
  const texts = sql`title=${value('text', title)},description=${value('text', description)}`;
  const update = sql`UPDATE _collections SET ${texts},options=${value('json', options)},${isChangedNow}
WHERE id=${value('integer', id)}`;
  await runInTransaction(database, transaction, update);
}

/** Replaces the name of a collection. Its table keeps its name. */
export async function updateCollectionName(
  database: Database,
  transaction: Transaction,
  { id, name }: Pick<StoredCollection, 'id' | 'name'>,
): Promise<void> {
  const update = sql`UPDATE _collections SET name=${value('text', name)},${isChangedNow} WHERE id=${value('integer', id)}`;
  await runInTransaction(database, transaction, update);
}

/** Deletes fields from the catalogue. */
export async function deleteFields(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
): Promise<void> {
  for (const id of ids) {
    const remove = sql`DELETE FROM _fields WHERE id=${value('integer', id)} RETURNING collection_id`;
    const [row] = await runInTransaction(database, transaction, remove);
    if (row) await markChanged(database, transaction, Number(row[0]));
  }
}

/** Deletes a collection and its fields from the catalogue. During a rebuild, foreign keys do not cascade. */
export async function deleteCollection(database: Database, transaction: Transaction, id: number): Promise<void> {
  await runInTransaction(database, transaction, sql`DELETE FROM _fields WHERE collection_id=${value('integer', id)}`);
  await runInTransaction(database, transaction, sql`DELETE FROM _collections WHERE id=${value('integer', id)}`);
}

function toStoredCollection(row: Row): StoredCollection {
  const [id, name, title, description, options, table, system, internal] = row;
  return {
    id: Number(id),
    name: name as string,
    title: title as string | null,
    description: description as string | null,
    options: JSON.parse(options as string),
    table: table as string,
    system: Boolean(system),
    internal: Boolean(internal),
  };
}

function toStoredField(row: Row): StoredField {
  const [id, collectionId, name, definition, facts, searchIndex] = row;
  return {
    id: Number(id),
    collectionId: Number(collectionId),
    name: name as string,
    definition: parseExactJson(definition as string),
    facts: JSON.parse(facts as string),
    searchIndex: (searchIndex ?? null) as string | null,
  };
}

/** Whether the store of an application was created. */
export async function hasCatalogue(database: Database): Promise<boolean> {
  return (await readCatalogueTables(database)).has('_meta');
}

/** Whether a store exists that is as this server writes it. It may lack system collections. */
export async function isCurrentStore(database: Database): Promise<boolean> {
  const missing = await findMissingCatalogueTables(database);
  return missing.length === 0 && (await readStoreVersion(database)) === storeVersion;
}

/** The names of all collections, and of all fields as `collection.field`. */
export async function readDefinedNames(database: Database): Promise<ReadonlySet<string>> {
  const rows = await readRows<[collection: string, field: string | null]>(
    database,
    sql`SELECT c.name,f.name FROM _collections c LEFT JOIN _fields f ON f.collection_id=c.id`,
  );
  return new Set(rows.flatMap(([collection, field]) => [collection, `${collection}.${field}`]));
}

/** The names of the collections that users have defined. */
export async function readUserCollections(database: Database): Promise<string[]> {
  const isSystem = database.dialect.isTrue(sql`system`);
  const rows = await readRows<[name: string]>(database, sql`SELECT name FROM _collections WHERE NOT (${isSystem})`);
  return rows.map(([name]) => name);
}

/** The random name of the event log, which differs between sets of data. */
export async function readEpoch(database: Database): Promise<string> {
  const [row] = await readRows(database, sql`SELECT epoch FROM _meta`);
  return row?.[0] as string;
}

/** Creates the tables of the catalogue in one transaction. @param more writes what else a new store contains. */
export async function createCatalogue(
  database: Database,
  { application, epoch }: { readonly application: string; readonly epoch: string },
  more: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  await database.write(async (transaction) => {
    await addCatalogueTables(database, transaction, Object.keys(database.dialect.catalogue));
    const insert = sql`INSERT INTO _meta (version,schema_version,epoch,application)
VALUES (1,1,${value('text', epoch)},${value('text', application)})`;
    await runInTransaction(database, transaction, insert);
    await more(transaction);
  });
}

/** The tables of the catalogue that a store of an earlier version lacks. */
export async function findMissingCatalogueTables(database: Database): Promise<string[]> {
  const existing = await readCatalogueTables(database);
  return Object.keys(database.dialect.catalogue).filter((table) => !existing.has(table));
}

/** Creates tables of the catalogue. */
export async function addCatalogueTables(
  { dialect }: Database,
  transaction: Transaction,
  tables: readonly string[],
): Promise<void> {
  for (const statement of tables.flatMap((table) => dialect.catalogue[table] ?? []))
    await transaction.run(bindFixed(dialect, statement));
}

async function readCatalogueTables(database: Database): Promise<Set<string>> {
  const [rows = []] = await database.read([{ text: database.dialect.catalogueProbe, values: [] }]);
  return new Set(rows.map(([name]) => name as string));
}
