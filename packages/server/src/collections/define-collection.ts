/**
 * Makes collections and fields: catalogue rows and storage in one transaction, so that a definition is wholly there or
 * wholly absent. Enters a checked definition; refuses names that exist and relations that do not hold.
 */
import { insertCollection, insertFields, markChanged, nameTable } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import { renumber } from '../database/positions.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { CollectionDefinition, FieldDefinition } from '../protocol/definition.ts';
import { placeOf } from '../records/places.ts';
import { isAddedKey } from '../schema/definition-check.ts';
import { collectionOf, type FieldRow } from '../schema/load-registry.ts';
import { tableName } from '../schema/names.ts';
import { type Collection, columnsOf, type Field, type Registry } from '../schema/registry.ts';
import { adoptKey } from './adopt-key.ts';
import { anchorKey } from './anchor-key.ts';
import { changing, logged, runAll } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { fillNewColumn } from './fill-column.ts';
import { keptFields } from './kept-fields.ts';
import type { NewField } from './new-field.ts';
import { resolveFields } from './resolve-fields.ts';
import { columnDefinition, indexesOf, indexOfField } from './storage.ts';
import { storedFacts } from './stored-facts.ts';
import { refuseUngiven, requireFreeName } from './system-fields.ts';

/** How a collection is born: people define plain ones; the system's own have fixed table names and core fields. */
export interface Birth {
  readonly system: boolean;
  readonly internal: boolean;
  readonly hidden: (definition: FieldDefinition) => boolean;
  /** Whose columns themselves refuse null. */
  readonly notNull?: (definition: FieldDefinition) => boolean;
}

const plainBirth: Birth = { system: false, internal: false, hidden: () => false };

/** @throws ApiError 409 when the name is taken, 422 where relations do not hold. */
export async function defineCollection(
  context: DefinitionContext,
  definition: CollectionDefinition,
  birth = plainBirth,
): Promise<void> {
  const { registry } = context;
  if (registry.all().some((each) => each.name === definition.name))
    // internal ones too
    throw new ApiError('COLLECTION_EXISTS', `A collection "${definition.name}" exists already.`);
  if (!birth.system && registry.all().filter((each) => !each.system).length >= context.maximumCollections) {
    throw new ApiError('LIMIT_EXCEEDED', `An application has at most ${context.maximumCollections} collections.`);
  }
  const resolution = resolveFields({
    collection: definition.name,
    fields: definition.fields,
    existing: [],
    registry,
    core: birth.system,
    hidden: birth.hidden,
    ...(birth.notNull && { notNull: birth.notNull }),
    at: (index) => `fields[${indexInRequest(definition, index)}].`,
  });
  const fields = [...resolution.own, ...keptFields(definition.options, birth.system)];
  const abroad = [...resolution.foreign, ...resolution.adopted, ...resolution.anchored];
  const tables = [...new Set(abroad.map((each) => registry.get(each.collection).table))];
  const rebuild = resolution.adopted.length > 0;
  await changing(context, { subject: definition.name, tables, rebuild }, async (transaction) => {
    let grown = registry;
    for (const { collection: other, name } of resolution.anchored)
      grown = await anchorKey(context, transaction, grown.get(other), name, grown);
    grown = await make(context, transaction, definition, fields, birth, grown);
    await logged(context, transaction, 'collections.created', definition.name);
    for (const join of resolution.joins) {
      grown = await make(context, transaction, join.definition, join.fields, plainBirth, grown);
      await logged(context, transaction, 'collections.created', join.definition.name);
    }
    for (const { collection: other, field } of resolution.adopted)
      grown = await adoptKey(context, transaction, grown.get(other), field, grown);
    for (const { collection: other, field } of resolution.foreign)
      await growAbroad(context, transaction, grown.get(other), field, grown);
  });
}

/** A collection's catalogue rows, table and indexes; returns the registry with it. */
async function make(
  context: DefinitionContext,
  transaction: Transaction,
  definition: CollectionDefinition,
  fields: readonly NewField[],
  birth: Birth,
  registry: Registry,
): Promise<Registry> {
  const { dialect } = context.database;
  const collection = await store(context, transaction, definition, fields, birth);
  const grown = registry.with([collection], [], registry.version);
  const columns = columnsOf(collection).map((field) => columnDefinition(field, grown));
  const seldom = collection.trash?.deletedAt.column ?? null;
  await runAll(context, transaction, dialect.createTable(collection.table, columns, indexesOf(collection), seldom));
  return grown;
}

/** @throws ApiError 404, 409 when the name is taken, 422. */
export async function addField(
  context: DefinitionContext,
  collectionName: string,
  definition: FieldDefinition,
): Promise<void> {
  const { registry } = context;
  const collection = registry.find(collectionName);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${collectionName.slice(0, 60)}".`);
  requireFreeName(collection, definition.name);
  refuseUngiven(collection, definition);
  const { scopeKey } = definition;
  if (scopeKey !== undefined && !collection.byName.get(scopeKey)?.type.sortable)
    throw invalidDefinition({ scopeKey: `"${scopeKey}" is no field by which places are told apart.` });
  const existing = collection.fields.map((field) => ({ definition: field.definition, facts: storedFacts(field) }));
  const resolution = resolveFields({
    collection: collectionName,
    fields: [definition],
    existing,
    registry,
    core: false,
    hidden: () => false,
    at: () => '',
  });
  if (collection.fields.length + resolution.own.length > context.maximumFields) {
    throw new ApiError('LIMIT_EXCEEDED', `A collection has at most ${context.maximumFields} fields.`);
  }
  const abroad = [...resolution.foreign, ...resolution.adopted, ...resolution.anchored].map((each) =>
    registry.get(each.collection),
  );
  const tables = [...new Set([collection, ...abroad].map((each) => each.table))];
  const rebuild = resolution.adopted.length > 0;
  await changing(context, { subject: collectionName, tables, rebuild }, async (transaction) => {
    let grown = registry;
    for (const { collection: other, name } of resolution.anchored)
      grown = await anchorKey(context, transaction, grown.get(other), name, grown);
    await growCollection(context, transaction, grown.get(collectionName), resolution.own, grown);
    for (const join of resolution.joins) {
      await make(context, transaction, join.definition, join.fields, plainBirth, grown);
      await logged(context, transaction, 'collections.created', join.definition.name);
    }
    // First what exists: a table that is rebuilt takes only the columns that it had.
    for (const { collection: other, field } of resolution.adopted)
      grown = await adoptKey(context, transaction, grown.get(other), field, grown);
    for (const { collection: other, field } of resolution.foreign)
      await growAbroad(context, transaction, grown.get(other), field, grown);
    await logged(context, transaction, 'fields.created', `${collectionName}.${definition.name}`);
  });
}

/** Adds a field to a system collection while an application is born, or after the server has learned of it. */
export async function addSystemField(
  context: DefinitionContext,
  collectionName: string,
  field: NewField,
): Promise<void> {
  const { registry } = context;
  const collection = registry.get(collectionName);
  const tables = field.facts.relation ? [] : [collection.table];
  await changing(context, { subject: collectionName, tables }, (transaction) =>
    growCollection(context, transaction, collection, [field], registry),
  );
}

async function store(
  context: DefinitionContext,
  transaction: Transaction,
  definition: CollectionDefinition,
  fields: readonly NewField[],
  birth: Birth,
): Promise<Collection> {
  const { database } = context;
  const parts = {
    name: definition.name,
    title: definition.title ?? null,
    description: definition.description ?? null,
    options: definition.options,
    system: birth.system,
    internal: birth.internal,
  };
  const id = await insertCollection(database, transaction, { ...parts, table: null });
  const table = birth.system ? definition.name : tableName(definition.name, id);
  await nameTable(database, transaction, id, table);
  const rows = await storeFields(context, transaction, id, fields);
  return collectionOf({ ...parts, id, table }, rows);
}

async function storeFields(
  context: DefinitionContext,
  transaction: Transaction,
  collectionId: number,
  fields: readonly NewField[],
): Promise<FieldRow[]> {
  const rows = fields.map(({ definition, facts }) => ({ collectionId, name: definition.name, definition, facts }));
  const ids = await insertFields(context.database, transaction, rows);
  return rows.map((row, index) => ({ ...row, id: ids[index]! }));
}

/** Adds the foreign key that a relation needs in another collection. */
async function growAbroad(
  context: DefinitionContext,
  transaction: Transaction,
  other: Collection,
  field: NewField,
  registry: Registry,
): Promise<void> {
  await growCollection(context, transaction, other, [field], registry);
  await logged(context, transaction, 'fields.created', `${other.name}.${field.definition.name}`);
}

/** Adds fields to a collection that exists: columns, values for the records that are there, indexes. */
async function growCollection(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  fields: readonly NewField[],
  registry: Registry,
): Promise<void> {
  const { dialect } = context.database;
  for (const { definition } of fields) requireFreeName(collection, definition.name);
  const rows = await storeFields(context, transaction, collection.id, fields);
  await markChanged(context.database, transaction, collection.id);
  const { fields: made } = collectionOf({ ...collection }, [...keyRow(collection), ...rows]);
  for (const field of made.slice(1)) {
    if (field.column === null) continue;
    await runAll(context, transaction, dialect.addColumn(collection.table, columnDefinition(field, registry)));
    await fillNewColumn(context, transaction, collection, field);
    if (field.type.name === 'sort') await numberRecords(context, transaction, collection, field);
    const index = indexOfField(collection, field);
    if (index) await runAll(context, transaction, [dialect.createIndex(collection.table, index)]);
  }
  transaction.touch(collection.table);
}

/** Records that are there get places in the order of their keys. */
async function numberRecords(
  { database }: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  field: Field,
): Promise<void> {
  await renumber(database, transaction, placeOf(collection, field));
}

/** A collection needs its key; only the rows after it are new. */
function keyRow(collection: Collection): FieldRow[] {
  const { primaryKey } = collection;
  return [
    {
      id: primaryKey.id,
      collectionId: collection.id,
      name: primaryKey.name,
      definition: primaryKey.definition,
      facts: storedFacts(primaryKey),
    },
  ];
}

/** The index of a field in the request: a primary key that was added stands before the others. */
function indexInRequest(definition: CollectionDefinition, index: number): number {
  return definition.fields[0] && isAddedKey(definition.fields[0]) ? Math.max(0, index - 1) : index;
}
