import { updateField } from '../database/catalogue.ts';
import { countDangling } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import { invalidDefinition } from '../protocol/api-error.ts';
import {
  type Collection,
  type Field,
  getColumnField,
  getField,
  listColumnFields,
  makeCollection,
  type Registry,
  requireColumnField,
} from '../schema/registry.ts';
import { appendDefinitionEvent, runStatements } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import type { NewField } from './new-field.ts';
import { rejectDuplicates, replaceIndexes } from './replace-indexes.ts';
import { planIndexes, toColumnDefinition } from './storage.ts';

/**
 * Makes an existing field the foreign key of a relation, or makes a foreign key unique. Returns the registry with it.
 *
 * @throws ApiError 422 with the number of records whose value is not an existing key, 409 with the number of repeated
 * values.
 */
export async function useExistingForeignKey(
  context: DefinitionContext,
  transaction: Transaction,
  { collection, field }: { readonly collection: Collection; readonly field: NewField },
  registry: Registry,
): Promise<Registry> {
  const { definition, facts } = field;
  const { database } = context;
  const { dialect } = database;
  const { table } = collection;
  const before = getField(collection, definition.name);
  const isNewReference = before.references === null && facts.references !== null;
  const after: Field = { ...before, definition, references: facts.references };
  const nextCollection = makeCollection({
    ...collection,
    fields: collection.fields.map((field) => (field === before ? after : field)),
  });
  const nextRegistry = registry.with([nextCollection], [], registry.version);
  if (isNewReference) await rejectDanglingValues({ ...context, registry }, transaction, collection, after);
  if (definition.unique && !before.definition.unique)
    await rejectDuplicates(context, transaction, nextCollection, after);
  if (isNewReference) {
    const columns = listColumnFields(nextCollection).map((field) => toColumnDefinition(field, nextRegistry));
    const reference = dialect.addReference(
      table,
      toColumnDefinition(after, nextRegistry),
      columns,
      planIndexes(nextCollection),
    );
    await runStatements(context, transaction, reference);
  }
  // A rebuilt table already has its indexes.
  if (!isNewReference || !dialect.rebuildsTables)
    await replaceIndexes(context, transaction, collection, nextCollection);
  await updateField(database, transaction, { id: before.id, name: before.name, definition, facts });
  transaction.touch(table);
  await appendDefinitionEvent(context, transaction, 'fields.updated', `${collection.name}.${before.name}`);
  return nextRegistry;
}

/** @throws ApiError 422 if a value of a new foreign key is not the key of a record. */
async function rejectDanglingValues(
  { database, registry }: DefinitionContext,
  transaction: Transaction,
  { name, table }: Collection,
  field: Field,
): Promise<void> {
  const { references } = field;
  if (references === null) return;
  const target = registry.get(references.collection);
  const targetColumn = { table: target.table, column: getColumnField(target, references.field).column };
  const danglingCount = await countDangling(
    database,
    transaction,
    { table, column: requireColumnField(field).column },
    targetColumn,
  );
  if (danglingCount > 0)
    throw invalidDefinition({
      foreignKey: `${danglingCount} ${danglingCount === 1 ? 'record' : 'records'} of "${name}" cannot be linked by "${field.name}", because no record of "${target.name}" has the value as its key. Correct these values first.`,
    });
}
