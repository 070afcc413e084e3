import { updateField } from '../database/catalogue.ts';
import { countLost } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import { invalidDefinition } from '../protocol/api-error.ts';
import { type Collection, columnsOf, type Field, fieldOf, makeCollection, type Registry } from '../schema/registry.ts';
import { logged, runAll } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import type { NewField } from './new-field.ts';
import { refuseRepeated, replaceIndexes } from './replace-indexes.ts';
import { columnDefinition, indexesOf } from './storage.ts';

/**
 * Makes a field that exists the foreign key of a relation, or a foreign key unique; returns the registry with it.
 *
 * @throws ApiError 422 with how many records hold a value that names nothing, 409 with how many values repeat.
 */
export async function adoptKey(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  { definition, facts }: NewField,
  registry: Registry,
): Promise<Registry> {
  const { database } = context;
  const { dialect } = database;
  const { table } = collection;
  const before = fieldOf(collection, definition.name);
  const refers = before.references === null && facts.references !== null;
  const after: Field = { ...before, definition, references: facts.references };
  const grown = makeCollection({
    ...collection,
    fields: collection.fields.map((field) => (field === before ? after : field)),
  });
  const next = registry.with([grown], [], registry.version);
  if (refers) await refuseLost(context, transaction, collection, before, registry, facts.references!);
  if (definition.unique && !before.definition.unique) await refuseRepeated(context, transaction, grown, after);
  if (refers) {
    const columns = columnsOf(grown).map((field) => columnDefinition(field, next));
    const reference = dialect.addReference(table, columnDefinition(after, next), columns, indexesOf(grown));
    await runAll(context, transaction, reference);
  }
  // Where the table was rebuilt it has its indexes already.
  if (!refers || dialect.shared) await replaceIndexes(context, transaction, collection, grown);
  await updateField(database, transaction, { id: before.id, name: before.name, definition, facts });
  transaction.touch(table);
  await logged(context, transaction, 'fields.updated', `${collection.name}.${before.name}`);
  return next;
}

async function refuseLost(
  { database }: DefinitionContext,
  transaction: Transaction,
  { name, table }: Collection,
  field: Field,
  registry: Registry,
  references: NonNullable<Field['references']>,
): Promise<void> {
  const target = registry.get(references.collection);
  const place = { table: target.table, column: fieldOf(target, references.field).column! };
  const lost = await countLost(database, transaction, { table, column: field.column! }, place);
  if (lost > 0)
    throw invalidDefinition({
      foreignKey: `${lost} records of ${name} hold values in "${field.name}" that name no record of ${target.name}; mend them first.`,
    });
}
