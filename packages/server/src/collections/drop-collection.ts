/**
 * Destroys a collection with its table. If relations of other collections refer to it, the request is refused (409, naming
 * them), or with `cascade` these relations are destroyed with their foreign keys.
 */
import { deleteCollection, deleteFields, updateOptions } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import { deletePermissionsOn } from '../database/permission-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Collection, type Field, listColumnFields, makeCollection } from '../schema/registry.ts';
import { appendDefinitionEvent, runDefinitionChange, runStatements } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { isOnlyJoin } from './join-collection.ts';
import { removeFieldFromPermissions } from './permission-names.ts';
import { omitIndexesOver, planIndexes, toColumnDefinition } from './storage.ts';

interface DependentFields {
  readonly collection: Collection;
  readonly fields: readonly Field[];
}

/**
 * Destroys a collection.
 *
 * @throws ApiError 403 for system collections, 404, 409 naming the relations that refer to it.
 */
export async function dropCollection(context: DefinitionContext, name: string, cascade: boolean): Promise<void> {
  const collection = context.registry.find(name);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
  if (collection.system)
    throw new ApiError('SYSTEM_PROTECTED', `"${name}" is a system collection and cannot be destroyed.`);
  const joins = findJoins(collection, cascade, context);
  const dependents = findDependents([collection, ...joins], context);
  if (dependents.length > 0 && !cascade) {
    const names = dependents.flatMap((each) => each.fields.map((field) => `${each.collection.name}.${field.name}`));
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `"${name}" is used by ${names.join(', ')}. Destroy these first, or send cascade=true.`,
    );
  }
  const drop = async (transaction: Transaction): Promise<void> => {
    for (const dependent of dependents) await dropDependentFields(context, transaction, dependent);
    for (const each of [...joins, collection]) {
      await context.keepDropped?.(transaction, { collection: each, fields: null });
      await runStatements(context, transaction, [context.database.dialect.dropTable(each.table)]);
      await deleteCollection(context.database, transaction, each.id);
      await deletePermissionsOn(context.database, transaction, each.name);
      await appendDefinitionEvent(context, transaction, 'collections.destroyed', each.name);
    }
    transaction.touch('*');
  };
  const tables = [collection, ...joins, ...dependents.map((each) => each.collection)].map((each) => each.table);
  await runDefinitionChange(context, { subject: name, tables, needsRebuild: true }, drop);
}

/** Joins that are destroyed with the collection: its own, and with `cascade` also those of other collections. */
function findJoins(collection: Collection, cascade: boolean, { registry }: DefinitionContext): Collection[] {
  const ownJoins = new Set(collection.fields.map((field) => field.relation?.through?.collection));
  return registry
    .all()
    .filter((other) => !other.system && other !== collection && isOnlyJoin(other))
    .filter((other) => other.fields.some((field) => field.references?.collection === collection.name))
    .filter((other) => cascade || ownJoins.has(other.name));
}

/** Fields of other collections that refer to one of these: relations to it or through it, and their foreign keys. */
function findDependents(dropped: readonly Collection[], context: DefinitionContext): DependentFields[] {
  const names = new Set(dropped.map((each) => each.name));
  return context.registry
    .all()
    .filter((other) => !names.has(other.name))
    .map((other) => ({ collection: other, fields: other.fields.filter((field) => isPointingTo(field, names)) }))
    .filter((dependent) => dependent.fields.length > 0);
}

function isPointingTo({ relation, references }: Field, names: ReadonlySet<string>): boolean {
  return [relation?.target, relation?.through?.collection, references?.collection].some(
    (name) => name !== undefined && names.has(name),
  );
}

async function dropDependentFields(
  context: DefinitionContext,
  transaction: Transaction,
  { collection, fields }: DependentFields,
): Promise<void> {
  const { dialect } = context.database;
  await context.keepDropped?.(transaction, { collection, fields });
  const nextCollection = makeCollection({
    ...collection,
    options: omitIndexesOver(collection, fields),
    fields: collection.fields.filter((field) => !fields.includes(field)),
  });
  const dropped = fields.flatMap((field) => field.column ?? []);
  if (dropped.length > 0) {
    const columns = listColumnFields(nextCollection).map((field) => toColumnDefinition(field, context.registry));
    await runStatements(
      context,
      transaction,
      dialect.dropColumns(collection.table, dropped, columns, planIndexes(nextCollection)),
    );
  }
  if (collection.options.indexes) await updateOptions(context.database, transaction, nextCollection);
  await deleteFields(
    context.database,
    transaction,
    fields.map((field) => field.id),
  );
  for (const field of fields) {
    await removeFieldFromPermissions(context, transaction, collection, field.name);
    await appendDefinitionEvent(context, transaction, 'fields.destroyed', `${collection.name}.${field.name}`);
  }
}
