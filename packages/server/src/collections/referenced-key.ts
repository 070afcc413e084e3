import { updateField } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import { type Collection, type Field, getField, makeCollection, type Registry } from '../schema/registry.ts';
import type { DefinitionContext } from './definition-context.ts';
import { replaceIndexes } from './replace-indexes.ts';
import { toStoredFacts } from './stored-facts.ts';

/**
 * Makes a unique field the key by which a relation names records: a foreign key needs it to be unique in the trash too.
 * Returns the registry with it.
 *
 * @throws DatabaseFault `unique` where the trash holds equal values.
 */
export async function markReferencedKey(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  name: string,
  registry: Registry,
): Promise<Registry> {
  const { database } = context;
  const before = getField(collection, name);
  const after: Field = { ...before, referencedKey: true };
  const fields = collection.fields.map((field) => (field === before ? after : field));
  const nextCollection = makeCollection({ ...collection, fields });
  await replaceIndexes(context, transaction, collection, nextCollection);
  const { id, definition } = before;
  await updateField(database, transaction, { id, name, definition, facts: toStoredFacts(after) });
  return registry.with([nextCollection], [], registry.version);
}
