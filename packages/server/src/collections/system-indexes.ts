import { updateOptions } from '../database/catalogue.ts';
import { shortenMessageIds } from '../database/mail/email-rows.ts';
import { migratePlacements } from '../database/mail/placement-rows.ts';
import type { IndexDefinition } from '../protocol/definition.ts';
import { type Collection, makeCollection } from '../schema/registry.ts';
import type { SystemCollection } from '../schema/system-collections.ts';
import { runDefinitionChange } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { replaceIndexes } from './replace-indexes.ts';

/** Whether a stored system collection has other indexes over several fields than this version of the server gives it. */
export function needsIndexes({ options }: Collection, { indexes }: SystemCollection): boolean {
  return toComparable(options.indexes) !== toComparable(indexes);
}

function toComparable(indexes: readonly IndexDefinition[] = []): string {
  return JSON.stringify(indexes.map(({ fields, unique = false }) => [fields, unique]).sort());
}

/** Gives a system collection that an earlier version made the indexes of this version. Its fields exist already. */
export async function setSystemIndexes(
  context: DefinitionContext,
  { name, indexes = [] }: SystemCollection,
): Promise<void> {
  const { registry, database } = context;
  const collection = registry.get(name);
  const after = makeCollection({ ...collection, options: { ...collection.options, indexes } });
  await runDefinitionChange(context, { subject: name, tables: [collection.table] }, async (transaction) => {
    if (name === 'emails') await shortenMessageIds(database, transaction);
    await replaceIndexes(context, transaction, collection, after);
    if (name === 'mailPlacements') await migratePlacements(database, transaction);
    await updateOptions(database, transaction, collection.id, after.options);
  });
}
