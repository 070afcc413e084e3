/**
 * Creates collections and fields: catalogue rows and tables in one transaction, so that a definition exists completely
 * or not at all. The definition has been checked before. Existing names and invalid relations are refused.
 */
import { insertCollection, insertFields, markChanged, setTableName } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import { renumberSortPositions } from '../database/sort-positions.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { CollectionDefinition, FieldDefinition } from '../protocol/definition.ts';
import { getSortColumn } from '../records/write/sort-columns.ts';
import { isDefaultKey } from '../schema/definition-check.ts';
import { type StoredField, toCollection } from '../schema/load-registry.ts';
import { tableName } from '../schema/names.ts';
import { type Collection, type Field, listColumnFields, type Registry } from '../schema/registry.ts';
import { appendDefinitionEvent, runDefinitionChange, runStatements } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { useExistingForeignKey } from './existing-foreign-key.ts';
import { fillNewColumn } from './fill-column.ts';
import type { NewField } from './new-field.ts';
import { markReferencedKey } from './referenced-key.ts';
import type { Resolution } from './resolution-draft.ts';
import { resolveFields } from './resolve-fields.ts';
import { buildServerManagedFields } from './server-managed-fields.ts';
import { planFieldIndex, planIndexes, toColumnDefinition } from './storage.ts';
import { toStoredFacts } from './stored-facts.ts';
import { rejectRequiredField, requireFreeName } from './system-fields.ts';

/** The origin of a collection: users define plain ones; system collections have fixed table names and core fields. */
export interface CollectionOrigin {
  readonly system: boolean;
  readonly internal: boolean;
  readonly hidden: (definition: FieldDefinition) => boolean;
  /** Whether the column of a field is NOT NULL. */
  readonly notNull?: (definition: FieldDefinition) => boolean;
}

const userDefinedOrigin: CollectionOrigin = { system: false, internal: false, hidden: () => false };

/** Creates a collection. @throws ApiError 409 if the name is taken, 422 for invalid relations. */
export async function defineCollection(
  context: DefinitionContext,
  definition: CollectionDefinition,
  origin = userDefinedOrigin,
): Promise<void> {
  const { registry } = context;
  if (registry.all().some((each) => each.name === definition.name))
    // internal ones too
    throw new ApiError('COLLECTION_EXISTS', `The collection "${definition.name}" already exists. Choose another name.`);
  if (!origin.system && registry.all().filter((each) => !each.system).length >= context.maxCollections)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The application already has the maximum of ${context.maxCollections} collections. Destroy one first.`,
    );
  const { resolution, fields } = resolveDefinition(registry, definition, origin);
  const foreignChanges = [...resolution.foreignFields, ...resolution.existingForeignKeys, ...resolution.referencedKeys];
  const tables = [...new Set(foreignChanges.map((each) => registry.get(each.collection).table))];
  const rebuild = resolution.existingForeignKeys.length > 0;
  await runDefinitionChange(
    context,
    { subject: definition.name, tables, needsRebuild: rebuild },
    async (transaction) => {
      let nextRegistry = registry;
      for (const key of resolution.referencedKeys)
        nextRegistry = await markReferencedKey(context, transaction, key, nextRegistry);
      nextRegistry = await createCollection(context, transaction, { definition, fields, origin }, nextRegistry);
      await appendDefinitionEvent(context, transaction, 'collections.created', definition.name);
      await createRelatedFields(context, transaction, resolution, nextRegistry);
    },
  );
}

/**
 * A collection as it would be, without ids and a table. Values can be checked against it; no statement can be compiled for it.
 *
 * @throws ApiError 422 for invalid relations.
 */
export function sketchCollection({ registry }: DefinitionContext, definition: CollectionDefinition): Collection {
  const { name, title = null, description = null, options } = definition;
  const { fields } = resolveDefinition(registry, definition, userDefinedOrigin);
  const rows = fields.map((field, index) => ({
    id: index + 1,
    collectionId: 0,
    name: field.definition.name,
    definition: field.definition,
    facts: field.facts,
  }));
  return toCollection({ id: 0, name, title, description, options, table: '', system: false, internal: false }, rows);
}

function resolveDefinition(
  registry: Registry,
  definition: CollectionDefinition,
  origin: CollectionOrigin,
): { readonly resolution: Resolution; readonly fields: readonly NewField[] } {
  const resolution = resolveFields({
    collection: definition.name,
    fields: definition.fields,
    existing: [],
    registry,
    core: origin.system,
    hidden: origin.hidden,
    ...(origin.notNull && { notNull: origin.notNull }),
    errorPath: (index) => `fields[${toRequestIndex(definition, index)}].`,
  });
  return { resolution, fields: [...resolution.fields, ...buildServerManagedFields(definition.options, origin.system)] };
}

/** A collection that will be stored, with its resolved fields. */
interface NewCollection {
  readonly definition: CollectionDefinition;
  readonly fields: readonly NewField[];
  readonly origin: CollectionOrigin;
}

/** Creates the catalogue rows, the table and the indexes of a collection; returns the registry with it. */
async function createCollection(
  context: DefinitionContext,
  transaction: Transaction,
  newCollection: NewCollection,
  registry: Registry,
): Promise<Registry> {
  const { dialect } = context.database;
  const collection = await storeCollection(context, transaction, newCollection);
  const nextRegistry = registry.with([collection], [], registry.version);
  const columns = listColumnFields(collection).map((field) => toColumnDefinition(field, nextRegistry));
  const mostlyNullColumn = collection.trash?.deletedAt.column ?? null;
  await runStatements(
    context,
    transaction,
    dialect.createTable(collection.table, columns, planIndexes(collection), mostlyNullColumn),
  );
  return nextRegistry;
}

/**
 * Adds a field to a collection.
 *
 * @throws ApiError 404 for an unknown collection, 409 if the name is taken, 422 for an invalid definition.
 */
export async function addField(
  context: DefinitionContext,
  collectionName: string,
  definition: FieldDefinition,
): Promise<void> {
  const { registry } = context;
  const collection = registry.find(collectionName);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${collectionName.slice(0, 60)}".`);
  requireFreeName(collection, definition.name);
  rejectRequiredField(collection, definition);
  const { scopeKey } = definition;
  if (scopeKey !== undefined && !collection.byName.get(scopeKey)?.type.sortable)
    throw invalidDefinition({
      scopeKey: `"${scopeKey}" cannot be the scope of a sort field. Name a field of the collection that has a column and can be sorted.`,
    });
  const resolution = resolveFields({
    collection: collectionName,
    fields: [definition],
    existing: listExistingFields(collection),
    registry,
    core: false,
    hidden: () => false,
    errorPath: () => '',
  });
  if (collection.fields.length + resolution.fields.length > context.maxFields)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `The collection already has the maximum of ${context.maxFields} fields. Destroy one first.`,
    );
  const foreignCollections = [
    ...resolution.foreignFields,
    ...resolution.existingForeignKeys,
    ...resolution.referencedKeys,
  ].map((each) => registry.get(each.collection));
  const tables = [...new Set([collection, ...foreignCollections].map((each) => each.table))];
  const rebuild = resolution.existingForeignKeys.length > 0;
  await runDefinitionChange(
    context,
    { subject: collectionName, tables, needsRebuild: rebuild },
    async (transaction) => {
      let nextRegistry = registry;
      for (const key of resolution.referencedKeys)
        nextRegistry = await markReferencedKey(context, transaction, key, nextRegistry);
      const target = { collection: nextRegistry.get(collectionName), fields: resolution.fields };
      await addFieldsToCollection(context, transaction, target, nextRegistry);
      await createRelatedFields(context, transaction, resolution, nextRegistry);
      await appendDefinitionEvent(context, transaction, 'fields.created', `${collectionName}.${definition.name}`);
    },
  );
}

/** Adds a field to a system collection during the bootstrap or migration of an application; a belongsTo with its foreign key. */
export async function addSystemField(
  context: DefinitionContext,
  collectionName: string,
  field: NewField,
): Promise<void> {
  const { registry } = context;
  const collection = registry.get(collectionName);
  const { relation, hidden } = field.facts;
  const tables = relation ? [] : [collection.table];
  const resolution = relation
    ? { fields: [field], referencedKeys: [] }
    : resolveFields({
        collection: collectionName,
        fields: [field.definition],
        existing: listExistingFields(collection),
        registry,
        core: true,
        hidden: () => hidden,
        errorPath: () => '',
      });
  await runDefinitionChange(context, { subject: collectionName, tables }, async (transaction) => {
    let nextRegistry = registry;
    for (const key of resolution.referencedKeys)
      nextRegistry = await markReferencedKey(context, transaction, key, nextRegistry);
    const target = { collection: nextRegistry.get(collectionName), fields: resolution.fields };
    await addFieldsToCollection(context, transaction, target, nextRegistry);
  });
}

const listExistingFields = (collection: Collection): NewField[] =>
  collection.fields.map((field) => ({ definition: field.definition, facts: toStoredFacts(field) }));

async function storeCollection(
  context: DefinitionContext,
  transaction: Transaction,
  { definition, fields, origin }: NewCollection,
): Promise<Collection> {
  const { database } = context;
  const parts = {
    name: definition.name,
    title: definition.title ?? null,
    description: definition.description ?? null,
    options: definition.options,
    system: origin.system,
    internal: origin.internal,
  };
  const id = await insertCollection(database, transaction, { ...parts, table: null });
  const table = origin.system ? definition.name : tableName(definition.name, id);
  await setTableName(database, transaction, id, table);
  const rows = await storeFields(context, transaction, id, fields);
  return toCollection({ ...parts, id, table }, rows);
}

async function storeFields(
  context: DefinitionContext,
  transaction: Transaction,
  collectionId: number,
  fields: readonly NewField[],
): Promise<StoredField[]> {
  const rows = fields.map(({ definition, facts }) => ({ collectionId, name: definition.name, definition, facts }));
  const ids = await insertFields(context.database, transaction, rows);
  return rows.map((row, index) => ({ ...row, id: ids[index]! }));
}

/** Creates what the relations of a definition need elsewhere: joins, and foreign keys of other collections. */
async function createRelatedFields(
  context: DefinitionContext,
  transaction: Transaction,
  resolution: Resolution,
  registry: Registry,
): Promise<void> {
  let nextRegistry = registry;
  for (const { definition, fields } of resolution.joins) {
    const join = { definition, fields, origin: userDefinedOrigin };
    nextRegistry = await createCollection(context, transaction, join, nextRegistry);
    await appendDefinitionEvent(context, transaction, 'collections.created', definition.name);
  }
  // Existing fields first: rebuilding a table only copies the columns that it had.
  for (const { collection, field } of resolution.existingForeignKeys) {
    const foreignKey = { collection: nextRegistry.get(collection), field };
    nextRegistry = await useExistingForeignKey(context, transaction, foreignKey, nextRegistry);
  }
  for (const foreignField of resolution.foreignFields)
    await addForeignField(context, transaction, foreignField, nextRegistry);
}

/** Adds a foreign key that a relation needs in another collection. */
async function addForeignField(
  context: DefinitionContext,
  transaction: Transaction,
  { collection: name, field }: { readonly collection: string; readonly field: NewField },
  registry: Registry,
): Promise<void> {
  const collection = registry.get(name);
  await addFieldsToCollection(context, transaction, { collection, fields: [field] }, registry);
  await appendDefinitionEvent(context, transaction, 'fields.created', `${name}.${field.definition.name}`);
}

/** Adds fields to an existing collection: columns, values for existing records, and indexes. */
async function addFieldsToCollection(
  context: DefinitionContext,
  transaction: Transaction,
  { collection, fields }: { readonly collection: Collection; readonly fields: readonly NewField[] },
  registry: Registry,
): Promise<void> {
  const { dialect } = context.database;
  for (const { definition } of fields) requireFreeName(collection, definition.name);
  const rows = await storeFields(context, transaction, collection.id, fields);
  await markChanged(context.database, transaction, collection.id);
  const { fields: newFields } = toCollection({ ...collection }, [...toKeyRow(collection), ...rows]);
  for (const field of newFields.slice(1)) {
    if (field.column === null) continue;
    await runStatements(context, transaction, dialect.addColumn(collection.table, toColumnDefinition(field, registry)));
    await fillNewColumn(context, transaction, collection, field);
    if (field.type.name === 'sort') await assignSortPositions(context, transaction, collection, field);
    const index = planFieldIndex(collection, field);
    if (index) await runStatements(context, transaction, [dialect.createIndex(collection.table, index)]);
  }
  transaction.touch(collection.table);
}

/** Gives existing records sort positions in the order of their keys. */
async function assignSortPositions(
  { database }: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  field: Field,
): Promise<void> {
  await renumberSortPositions(database, transaction, getSortColumn(collection, field));
}

/** The row of the primary key, which a collection always needs. Only the rows after it are new. */
function toKeyRow(collection: Collection): StoredField[] {
  const { primaryKey } = collection;
  return [
    {
      id: primaryKey.id,
      collectionId: collection.id,
      name: primaryKey.name,
      definition: primaryKey.definition,
      facts: toStoredFacts(primaryKey),
    },
  ];
}

/** The index of a field in the request. A primary key that was added comes before the others. */
function toRequestIndex(definition: CollectionDefinition, index: number): number {
  return definition.fields[0] && isDefaultKey(definition.fields[0]) ? Math.max(0, index - 1) : index;
}
