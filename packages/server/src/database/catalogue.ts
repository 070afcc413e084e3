/** The catalogue's own statements: versions and definitions of an application. */
import { parseExactJson } from '../protocol/exact-json.ts';
import { type BoundStatement, bindFixed, type Database, type Row, type Transaction } from './database.ts';
import type { Dialect } from './dialect.ts';
import { type Columns, insertRows } from './row-insert.ts';
import { runInTransaction } from './run-statement.ts';
import { type Sql, sql, value } from './sql.ts';

export interface StoredCollection {
  readonly id: number;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly options: unknown;
  readonly table: string;
  readonly system: boolean;
  readonly internal: boolean;
}

export interface StoredField {
  readonly id: number;
  readonly collectionId: number;
  readonly name: string;
  readonly definition: unknown;
  readonly facts: unknown;
}

/** The versions of an application: `schema` moves with definitions, `version` with those and with who may do what. */
export interface Versions {
  readonly version: number;
  readonly schema: number;
}

export async function readVersions(database: Database): Promise<Versions> {
  const [rows] = await database.read([{ text: 'SELECT version,schema_version FROM _meta', values: [] }]);
  return { version: Number(rows![0]![0]), schema: Number(rows![0]![1]) };
}

/** Moves the version on and returns it: every plan, grant and caller made under the former one is void. */
export async function bumpVersion(transaction: Transaction, what: 'access' | 'schema' = 'access'): Promise<number> {
  const schema = what === 'schema' ? ',schema_version=schema_version+1' : '';
  const [row] = await transaction.run({
    text: `UPDATE _meta SET version=version+1${schema} RETURNING version`,
    values: [],
  });
  return Number(row![0]);
}

/** Definitions that have changed, with the ids of all collections that there are. */
export interface StoredDefinitions {
  readonly ids: ReadonlySet<number>;
  readonly collections: readonly StoredCollection[];
  readonly fields: readonly StoredField[];
}

/** Reads the collections that changed after a schema version, so that a change costs what it touches. */
export async function readDefinitions(database: Database, since: number): Promise<StoredDefinitions> {
  const [ids, collections, fields] = await database.read(buildDefinitionQueries(database.dialect, since));
  return toStoredDefinitions(ids!, collections!, fields!);
}

/** The same as a transaction that is about to commit sees it. */
export async function readDefinitionsInTx(
  { dialect }: Database,
  transaction: Transaction,
  since: number,
): Promise<StoredDefinitions> {
  const [ids, collections, fields] = buildDefinitionQueries(dialect, since);
  return toStoredDefinitions(
    await transaction.run(ids!),
    await transaction.run(collections!),
    await transaction.run(fields!),
  );
}

function buildDefinitionQueries(dialect: Dialect, since: number): BoundStatement[] {
  const newer = sql`changed>${value('bigint', since)}`;
  return [
    { text: 'SELECT id FROM _collections', values: [] },
    bindFixed(
      dialect,
      sql`SELECT id,name,title,description,options,table_name,system,internal FROM _collections WHERE ${newer} ORDER BY id`,
    ),
    bindFixed(
      dialect,
      sql`SELECT id,collection_id,name,definition,facts FROM _fields WHERE collection_id IN (SELECT id FROM _collections WHERE ${newer}) ORDER BY id`,
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

/** What a collection's rows say of when they changed. */
const isChangedNow = sql`changed=(SELECT schema_version FROM _meta)`;

/** Notes that fields of a collection change with this version. */
export async function markChanged(database: Database, transaction: Transaction, id: number): Promise<void> {
  await runInTransaction(
    database,
    transaction,
    sql`UPDATE _collections SET ${isChangedNow} WHERE id=${value('integer', id)}`,
  );
}

export async function insertCollection(
  database: Database,
  transaction: Transaction,
  parts: Omit<StoredCollection, 'id' | 'table'> & { readonly table: string | null },
): Promise<number> {
  const insert = sql`INSERT INTO _collections (changed,name,title,description,options,table_name,system,internal) VALUES ((SELECT schema_version FROM _meta),${value('text', parts.name)},${value('text', parts.title)},${value('text', parts.description)},${value('json', parts.options)},${value('text', parts.table ?? '')},${value('boolean', parts.system)},${value('boolean', parts.internal)}) RETURNING id`;
  const [row] = await runInTransaction(database, transaction, insert);
  return Number(row![0]);
}

export async function setTableName(
  database: Database,
  transaction: Transaction,
  id: number,
  table: string,
): Promise<void> {
  await runInTransaction(
    database,
    transaction,
    sql`UPDATE _collections SET table_name=${value('text', table)} WHERE id=${value('integer', id)}`,
  );
}

/** Follows a table that was renamed; nothing where its collection has been destroyed meanwhile. */
export async function replaceTableName(
  database: Database,
  transaction: Transaction,
  from: string,
  to: string,
): Promise<void> {
  await runInTransaction(
    database,
    transaction,
    sql`UPDATE _collections SET table_name=${value('text', to)},${isChangedNow} WHERE table_name=${value('text', from)}`,
  );
}

export async function updateOptions(
  database: Database,
  transaction: Transaction,
  id: number,
  options: unknown,
): Promise<void> {
  await runInTransaction(
    database,
    transaction,
    sql`UPDATE _collections SET options=${value('json', options)},${isChangedNow} WHERE id=${value('integer', id)}`,
  );
}

const fieldColumns: Columns = [
  ['collection_id', 'integer'],
  ['name', 'text'],
  ['definition', 'json'],
  ['facts', 'json'],
];

/** Inserts fields; returns their ids in the same order. */
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

export async function updateField(
  database: Database,
  transaction: Transaction,
  { id, name, definition, facts }: Omit<StoredField, 'collectionId'>,
): Promise<void> {
  const [row] = await runInTransaction(
    database,
    transaction,
    sql`UPDATE _fields SET name=${value('text', name)},definition=${value('json', definition)},facts=${value('json', facts)} WHERE id=${value('integer', id)} RETURNING collection_id`,
  );
  await markChanged(database, transaction, Number(row![0]));
}

export async function updateCollection(
  database: Database,
  transaction: Transaction,
  { id, title, description, options }: Pick<StoredCollection, 'id' | 'title' | 'description' | 'options'>,
): Promise<void> {
  await runInTransaction(
    database,
    transaction,
    sql`UPDATE _collections SET title=${value('text', title)},description=${value('text', description)},options=${value('json', options)},${isChangedNow} WHERE id=${value('integer', id)}`,
  );
}

export async function deleteFields(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
): Promise<void> {
  for (const id of ids) {
    const [row] = await runInTransaction(
      database,
      transaction,
      sql`DELETE FROM _fields WHERE id=${value('integer', id)} RETURNING collection_id`,
    );
    if (row) await markChanged(database, transaction, Number(row[0]));
  }
}

/** Its fields are named too: where a rebuild runs, foreign keys do not act. */
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
  const [id, collectionId, name, definition, facts] = row;
  return {
    id: Number(id),
    collectionId: Number(collectionId),
    name: name as string,
    definition: parseExactJson(definition as string),
    facts: JSON.parse(facts as string),
  };
}

/** Whether an application's store has been made. */
export async function hasCatalogue(database: Database): Promise<boolean> {
  return (await readCatalogueTables(database)).has('_meta');
}

/** Makes the catalogue's tables in one transaction. */
export async function createCatalogue(database: Database, application: string, epoch: string): Promise<void> {
  await database.write(async (transaction) => {
    for (const statement of Object.values(database.dialect.catalogue).flat())
      await transaction.run(bindFixed(database.dialect, statement));
    const insert = sql`INSERT INTO _meta (version,schema_version,epoch,application) VALUES (1,1,${value('text', epoch)},${value('text', application)})`;
    await runInTransaction(database, transaction, insert);
  });
}

/** Makes the tables that a store of an earlier version has not. */
export async function addMissingCatalogueTables(database: Database): Promise<void> {
  const existing = await readCatalogueTables(database);
  const missing = Object.entries(database.dialect.catalogue).filter(([table]) => !existing.has(table));
  if (missing.length === 0) return;
  await database.write(async (transaction) => {
    for (const statement of missing.flatMap(([, statements]) => statements))
      await transaction.run(bindFixed(database.dialect, statement));
  });
}

async function readCatalogueTables(database: Database): Promise<Set<string>> {
  const [rows] = await database.read([{ text: database.dialect.catalogueProbe, values: [] }]);
  return new Set(rows!.map(([name]) => name as string));
}
