/**
 * Destroys a collection with its storage. Relations of other collections that point to it block (409, named), or with
 * `cascade` fall with their foreign keys.
 */
import { deleteCollection, deleteFields, updateOptions } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import { deletePermissionsOn } from '../database/identity-store.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Collection, columnsOf, type Field, makeCollection } from '../schema/registry.ts';
import { changing, logged, runAll } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { isOnlyJoin } from './join-collection.ts';
import { forgetField } from './permission-names.ts';
import { columnDefinition, indexesOf, optionsWithout } from './storage.ts';

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
  const joins = joinsOf(collection, cascade, context);
  const dependants = dependantsOf([collection, ...joins], context);
  if (dependants.length > 0 && !cascade) {
    const names = dependants.flatMap((each) => each.fields.map((field) => `${each.collection.name}.${field.name}`));
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `${name} is used by ${names.join(', ')}; destroy those first, or send cascade=true.`,
    );
  }
  const drop = async (transaction: Transaction): Promise<void> => {
    for (const dependant of dependants) await shrink(context, transaction, dependant);
    for (const each of [...joins, collection]) {
      await runAll(context, transaction, [context.database.dialect.dropTable(each.table)]);
      await deleteCollection(context.database, transaction, each.id);
      await deletePermissionsOn(context.database, transaction, each.name);
      await logged(context, transaction, 'collections.destroyed', each.name);
    }
    transaction.touch('*');
  };
  const tables = [collection, ...joins, ...dependants.map((each) => each.collection)].map((each) => each.table);
  await changing(context, { subject: name, tables, rebuild: true }, drop);
}

/** Collections that are only joins of this one and fall with it: its own; under cascade those of others too. */
function joinsOf(collection: Collection, cascade: boolean, { registry }: DefinitionContext): Collection[] {
  const own = new Set(collection.fields.map((field) => field.relation?.through?.collection));
  return registry
    .all()
    .filter((other) => !other.system && other !== collection && isOnlyJoin(other))
    .filter((other) => other.fields.some((field) => field.references?.collection === collection.name))
    .filter((other) => cascade || own.has(other.name));
}

/** Fields of other collections that name one of these: relations to it or through it, and the foreign keys behind. */
function dependantsOf(gone: readonly Collection[], context: DefinitionContext): Dependant[] {
  const names = new Set(gone.map((each) => each.name));
  return context.registry
    .all()
    .filter((other) => !names.has(other.name))
    .map((other) => ({ collection: other, fields: other.fields.filter((field) => pointsTo(field, names)) }))
    .filter((dependant) => dependant.fields.length > 0);
}

function pointsTo({ relation, references }: Field, names: ReadonlySet<string>): boolean {
  return [relation?.target, relation?.through?.collection, references?.collection].some(
    (name) => name !== undefined && names.has(name),
  );
}

async function shrink(
  context: DefinitionContext,
  transaction: Transaction,
  { collection, fields }: Dependant,
): Promise<void> {
  const { dialect } = context.database;
  const kept = makeCollection({
    ...collection,
    options: optionsWithout(collection, fields),
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
  for (const field of fields) {
    await forgetField(context, transaction, collection, field.name);
    await logged(context, transaction, 'fields.destroyed', `${collection.name}.${field.name}`);
  }
}
