import { updateCollection } from '../database/catalogue.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { CollectionChange } from '../schema/definition-check.ts';
import { makeCollection } from '../schema/registry.ts';
import { changing, logged, runAll } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { indexesOf } from './storage.ts';

/** Changes title, description and indexes. @throws ApiError 404, 409 where a unique index meets equal values. */
export async function changeCollection(
  context: DefinitionContext,
  name: string,
  change: CollectionChange,
): Promise<void> {
  const collection = context.registry.find(name);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
  if (collection.system)
    throw new ApiError('SYSTEM_PROTECTED', `${name} is a system collection; its fields may be added to, no more.`);
  const { title = collection.title, description = collection.description, indexes } = change;
  const options = indexes === undefined ? collection.options : { ...collection.options, indexes };
  const before = new Map(indexesOf(collection).map((index) => [index.name, index]));
  const after = new Map(indexesOf(makeCollection({ ...collection, options })).map((index) => [index.name, index]));
  const gone = [...before.keys()].filter((index) => !after.has(index));
  const added = [...after.values()].filter((index) => !before.has(index.name));
  const tables = added.length > 0 ? [collection.table] : [];
  await changing(context, { subject: name, tables }, async (transaction) => {
    const { dialect } = context.database;
    await runAll(
      context,
      transaction,
      gone.map((index) => dialect.dropIndex(index)),
    );
    await runAll(
      context,
      transaction,
      added.map((index) => dialect.createIndex(collection.table, index)),
    );
    await updateCollection(context.database, transaction, { id: collection.id, title, description, options });
    await logged(context, transaction, 'collections.updated', name);
  });
}
