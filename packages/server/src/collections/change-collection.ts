import { updateCollection } from '../database/catalogue.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { CollectionOptions } from '../protocol/definition.ts';
import { listIndexableManagedFields, switchNames } from '../schema/collection-options-check.ts';
import type { CollectionChange } from '../schema/definition-check.ts';
import { type Collection, makeCollection } from '../schema/registry.ts';
import { describeUnsearchable, isSearchableField } from '../schema/search-fields.ts';
import { appendDefinitionEvent, type ChangeScope, runDefinitionChange } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { diffIndexes, replaceIndexes } from './replace-indexes.ts';
import { omitIndexesOver } from './storage.ts';
import { type OptionSwitch, planOptionSwitch, switchOptions } from './switch-options.ts';

/**
 * Changes title, description, indexes and options.
 *
 * @param force deletes the data of options that are switched off.
 * @throws ApiError 404, or 409 if values of a unique index are equal, or if data or a reference prevents the change.
 */
export async function changeCollection(
  context: DefinitionContext,
  name: string,
  change: CollectionChange,
  force = false,
): Promise<void> {
  const collection = context.registry.find(name);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
  if (collection.system)
    throw new ApiError(
      'SYSTEM_PROTECTED',
      `"${name}" is a system collection and cannot be changed. You can only add fields to it, with fields:create.`,
    );
  const { title = collection.title, description = collection.description } = change;
  const plan = findSwitch(context, collection, change);
  const options = mergeOptions(collection, change, plan);
  const after = plan ? null : makeCollection({ ...collection, options });
  const hasIndexBuild =
    after === null || change.search !== undefined || diffIndexes(collection, after).created.length > 0;
  const scope: ChangeScope = {
    subject: name,
    tables: hasIndexBuild ? [collection.table] : [],
    needsRebuild: plan?.needsRebuild ?? false,
  };
  await runDefinitionChange(context, scope, async (transaction) => {
    if (plan) await switchOptions(context, transaction, { ...plan, options }, force);
    if (after) await replaceIndexes(context, transaction, collection, after);
    await updateCollection(context.database, transaction, { id: collection.id, title, description, options });
    await appendDefinitionEvent(context, transaction, 'collections.updated', name);
  });
}

/** The options that a change switches; null: none. */
function findSwitch(
  context: DefinitionContext,
  collection: Collection,
  { switches }: CollectionChange,
): OptionSwitch | null {
  const changedNames = switchNames.filter(
    (each) => switches[each] !== undefined && switches[each] !== collection.options[each],
  );
  return changedNames.length === 0
    ? null
    : planOptionSwitch(context, collection, { ...collection.options, ...switches });
}

/**
 * The options with their indexes as they will be.
 *
 * @throws ApiError 422 for an index over a field that cannot have one.
 */
function mergeOptions(
  collection: Collection,
  { indexes, search, switches }: CollectionChange,
  plan: OptionSwitch | null,
): CollectionOptions {
  const removed = plan?.removed ?? [];
  requireSearchable(collection, search ?? []);
  const options = { ...collection.options, ...switches, ...(search && { search }) };
  if (indexes === undefined) return { ...options, ...pickIndexes(omitIndexesOver(collection, removed)) };
  const serverManaged = new Set(listIndexableManagedFields(options));
  const isKnown = (name: string): boolean => {
    const field = collection.byName.get(name);
    if (field) return field.type.sortable && !field.hidden && !removed.includes(field);
    return serverManaged.has(name);
  };
  const unknownName = indexes.flatMap(({ fields }) => fields).find((name) => !isKnown(name));
  if (unknownName !== undefined)
    throw invalidDefinition({
      'options.indexes': `"${unknownName.slice(0, 60)}" cannot be indexed: name a field of the collection whose type can have an index.`,
    });
  return { ...options, indexes };
}

/** @throws ApiError 422 for a field that cannot have a search index. */
function requireSearchable(collection: Collection, search: readonly string[]): void {
  const isSearchable = (name: string): boolean => {
    const field = collection.byName.get(name);
    return field !== undefined && isSearchableField(field);
  };
  const unsearchable = search.find((name) => !isSearchable(name));
  if (unsearchable !== undefined) throw invalidDefinition({ 'options.search': describeUnsearchable(unsearchable) });
}

function pickIndexes({ indexes }: CollectionOptions): Pick<CollectionOptions, 'indexes'> {
  return indexes ? { indexes } : {};
}
