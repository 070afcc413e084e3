import { deleteFields, updateOptions } from '../database/catalogue.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import { type Collection, type Field, listColumnFields, makeCollection } from '../schema/registry.ts';
import { appendDefinitionEvent, runDefinitionChange, runStatements } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { findDependentRelations } from './dependent-relations.ts';
import { removeFieldFromPermissions } from './permission-names.ts';
import { omitIndexesOver, planIndexes, toColumnDefinition } from './storage.ts';

/**
 * Destroys a field with its column, data and indexes. The foreign key of a relation is a separate field and stays, and so
 * does the join of a relation.
 *
 * @throws ApiError 404, 403 for core fields, 409 if a relation needs the field, 422 for the primary key.
 */
export async function dropField(context: DefinitionContext, collectionName: string, name: string): Promise<void> {
  const { collection, field } = requireChangeableField(context, collectionName, name);
  if (field.primaryKey) throw invalidDefinition({ name: 'The primary key of a collection cannot be destroyed.' });
  const users = findDependentRelations(collection, field, context.registry);
  if (users.length > 0)
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `"${name}" of "${collectionName}" is used by ${users.join(', ')}. Destroy these first.`,
    );
  const tables = field.column === null ? [] : [collection.table];
  await runDefinitionChange(
    context,
    { subject: collectionName, tables, needsRebuild: tables.length > 0 },
    async (transaction) => {
      const { dialect } = context.database;
      await context.keepDropped?.(transaction, { collection, fields: [field] });
      const options = omitIndexesOver(collection, [field]);
      const nextCollection = makeCollection({
        ...collection,
        options,
        fields: collection.fields.filter((each) => each !== field),
      });
      if (field.column !== null) {
        const columns = listColumnFields(nextCollection).map((each) => toColumnDefinition(each, context.registry));
        await runStatements(
          context,
          transaction,
          dialect.dropColumns(collection.table, [field.column], columns, planIndexes(nextCollection)),
        );
      }
      if (options !== collection.options)
        await updateOptions(context.database, transaction, { id: collection.id, options });
      await deleteFields(context.database, transaction, [field.id]);
      await removeFieldFromPermissions(context, transaction, collection, name);
      transaction.touch(collection.table);
      await appendDefinitionEvent(context, transaction, 'fields.destroyed', `${collectionName}.${name}`);
    },
  );
}

/** A field that may be changed. @throws ApiError 404, or 403 for a core field of a system collection. */
export function requireChangeableField(
  { registry }: DefinitionContext,
  collectionName: string,
  name: string,
): { collection: Collection; field: Field } {
  const collection = registry.find(collectionName);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${collectionName.slice(0, 60)}".`);
  const field = collection.byName.get(name);
  if (!field || field.hidden)
    throw new ApiError('RECORD_UNKNOWN', `"${collectionName}" has no field "${name.slice(0, 60)}".`);
  if (field.core || field.serverManaged || (collection.system && field.primaryKey))
    throw new ApiError(
      'SYSTEM_PROTECTED',
      `"${name}" of "${collectionName}" is managed by the server and cannot be changed.`,
    );
  return { collection, field };
}
