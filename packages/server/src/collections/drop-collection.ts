/**
 * Destroys a collection with its storage. Relations of other collections that point to it block (409, named), or with
 * `cascade` fall with their foreign keys.
 */
import { deleteCollection, deleteFields, updateOptions } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import { deletePermissionsOn } from '../database/identity-store.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Collection, columnsOf, type Field, makeCollection } from '../schema/registry.ts';
import { changing, logged, runAll } from './define-collection.ts';
import type { DefinitionContext } from './definition-context.ts';
import { columnDefinition, indexesOf } from './storage.ts';

interface Dependant {
  readonly collection: Collection;
  readonly fields: readonly Field[];
}

/** @throws ApiError 403 for system collections, 404, 409 with the dependants' names. */
export async function dropCollection(context: DefinitionContext, name: string, cascade: boolean): Promise<void> {
  const collection = context.registry.find(name);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
  if (collection.system)
    throw new ApiError('SYSTEM_PROTECTED', `${name} is a system collection and cannot be destroyed.`);
  const dependants = dependantsOf(collection, context);
  if (dependants.length > 0 && !cascade) {
    const names = dependants.flatMap((each) => each.fields.map((field) => `${each.collection.name}.${field.name}`));
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `${name} is used by ${names.join(', ')}; destroy those first, or send cascade=true.`,
    );
  }
  const drop = async (transaction: Transaction): Promise<void> => {
    for (const dependant of dependants) await shrink(context, transaction, dependant);
    await runAll(context, transaction, [context.database.dialect.dropTable(collection.table)]);
    await deleteCollection(context.database, transaction, collection.id);
    await deletePermissionsOn(context.database, transaction, name);
    transaction.touch('*');
    await logged(context, transaction, 'collections.destroyed', name);
  };
  await changing(context, name, true, drop, { rebuild: true });
}

/** Fields of other collections that name this one: relations to it, and the foreign keys behind them. */
function dependantsOf(collection: Collection, context: DefinitionContext): Dependant[] {
  return context.registry
    .all()
    .filter((other) => other !== collection)
    .map((other) => ({ collection: other, fields: other.fields.filter((field) => pointsTo(field, collection.name)) }))
    .filter((dependant) => dependant.fields.length > 0);
}

function pointsTo(field: Field, name: string): boolean {
  return field.relation?.target === name || field.references?.collection === name;
}

async function shrink(
  context: DefinitionContext,
  transaction: Transaction,
  { collection, fields }: Dependant,
): Promise<void> {
  const { dialect } = context.database;
  const kept = makeCollection({
    ...collection,
    options: withoutIndexes(collection, fields),
    fields: collection.fields.filter((field) => !fields.includes(field)),
  });
  const dropped = fields.flatMap((field) => field.column ?? []);
  if (dropped.length > 0) {
    const columns = columnsOf(kept).map((field) => columnDefinition(field, context.registry));
    await runAll(context, transaction, dialect.dropColumns(collection.table, dropped, columns, indexesOf(kept)));
  }
  if (collection.options.indexes) await updateOptions(context.database, transaction, collection.id, kept.options);
  await deleteFields(
    context.database,
    transaction,
    fields.map((field) => field.id),
  );
}

function withoutIndexes({ options }: Collection, fields: readonly Field[]): Collection['options'] {
  const gone = new Set(fields.map((field) => field.name));
  return {
    ...options,
    indexes: (options.indexes ?? []).filter((index) => !index.fields.some((name) => gone.has(name))),
  };
}
