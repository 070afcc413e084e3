import { countRows, fillColumn } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import { toExactValue } from '../schema/field-type.ts';
import { type Collection, type Field, requireColumnField } from '../schema/registry.ts';
import type { DefinitionContext } from './definition-context.ts';

/**
 * Sets a new column to the default value of its field in the existing records.
 *
 * @throws ApiError 422 for a required field without a default, 409 for a unique one with a default, if there are
 * records.
 */
export async function fillNewColumn(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  field: Field,
): Promise<void> {
  const { required, allowNull, defaultValue, unique } = field.definition;
  const isNotNull = Boolean(required) || allowNull === false;
  const hasDefault = defaultValue !== undefined && defaultValue !== null;
  if (!isNotNull && !hasDefault) return;
  const rows = await countRows(context.database, transaction, collection.table);
  if (rows === 0) return;
  if (!hasDefault)
    throw invalidDefinition({
      defaultValue: `"${collection.name}" already has ${rows} ${rows === 1 ? 'record' : 'records'}, so a required field needs a "defaultValue" for them.`,
    });
  if (unique && rows > 1)
    throw new ApiError(
      'UNIQUE_CONFLICT',
      `${rows} records of "${collection.name}" would all get the same default value of the unique field "${field.name}". Add the field without a default value.`,
    );
  const { column, type } = requireColumnField(field);
  await fillColumn(
    context.database,
    transaction,
    { table: collection.table, column, storage: type.storage },
    type.read(toExactValue(type, defaultValue), field.definition),
  );
}
