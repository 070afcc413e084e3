import { updateCollection } from '../database/catalogue.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { CollectionOptions } from '../protocol/definition.ts';
import { keptColumns, switchNames } from '../schema/collection-options-check.ts';
import type { CollectionChange } from '../schema/definition-check.ts';
import { type Collection, makeCollection } from '../schema/registry.ts';
import { changing, logged } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { indexChanges, replaceIndexes } from './replace-indexes.ts';
import { optionsWithout } from './storage.ts';
import { type OptionSwitch, planSwitch, switchOptions } from './switch-options.ts';

/**
 * Changes title, description, indexes, and the options that are on or off.
 *
 * @param force data that an option keeps is lost when the option is switched off.
 * @throws ApiError 404, 409 where a unique index meets equal values, or data or a reference is in the way.
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
    throw new ApiError('SYSTEM_PROTECTED', `${name} is a system collection; its fields may be added to, no more.`);
  const { title = collection.title, description = collection.description } = change;
  const plan = switchOf(context, collection, change);
  const options = changedOptions(collection, change, plan);
  const after = plan ? null : makeCollection({ ...collection, options });
  const builds = after === null || indexChanges(collection, after).created.length > 0;
  const scope = { subject: name, tables: builds ? [collection.table] : [], rebuild: plan?.rebuilds ?? false };
  await changing(context, scope, async (transaction) => {
    if (plan) await switchOptions(context, transaction, { ...plan, options }, force);
    if (after) await replaceIndexes(context, transaction, collection, after);
    await updateCollection(context.database, transaction, { id: collection.id, title, description, options });
    await logged(context, transaction, 'collections.updated', name);
  });
}

/** The options that a change switches; null if none. */
function switchOf(
  context: DefinitionContext,
  collection: Collection,
  { switches }: CollectionChange,
): OptionSwitch | null {
  const moved = switchNames.filter(
    (each) => switches[each] !== undefined && switches[each] !== collection.options[each],
  );
  return moved.length === 0 ? null : planSwitch(context, collection, { ...collection.options, ...switches });
}

/** The options with their indexes as they will be. @throws ApiError 422 for an index over a field that cannot have one. */
function changedOptions(
  collection: Collection,
  { indexes, switches }: CollectionChange,
  plan: OptionSwitch | null,
): CollectionOptions {
  const removed = plan?.removed ?? [];
  const options = { ...collection.options, ...switches };
  if (indexes === undefined) return { ...options, ...pickIndexes(optionsWithout(collection, removed)) };
  const kept = new Set(keptColumns(options));
  const known = (name: string): boolean => {
    const field = collection.byName.get(name);
    if (field) return field.type.sortable && !field.hidden && !removed.includes(field);
    return kept.has(name);
  };
  const bad = indexes.flatMap(({ fields }) => fields).find((name) => !known(name));
  if (bad !== undefined)
    throw invalidDefinition({
      'options.indexes': `"${bad.slice(0, 60)}" cannot be indexed: name a field of the collection whose type can have an index.`,
    });
  return { ...options, indexes };
}

function pickIndexes({ indexes }: CollectionOptions): Pick<CollectionOptions, 'indexes'> {
  return indexes ? { indexes } : {};
}
