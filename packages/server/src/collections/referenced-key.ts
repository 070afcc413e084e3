import { updateField } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import { type Field, getField, makeCollection, type Registry } from '../schema/registry.ts';
import type { DefinitionContext } from './definition-context.ts';
import { replaceIndexes } from './replace-indexes.ts';
import { toStoredFacts } from './stored-facts.ts';

/**
 * Makes a unique field the referenced key of a relation. A foreign key requires its values to be unique in the trash too.
 *
 * @returns the registry with the changed field.
 * @throws DatabaseFault `unique` if records in the trash have equal values.
 */
export async function markReferencedKey(
  context: DefinitionContext,
  transaction: Transaction,
  { collection: collectionName, name }: { readonly collection: string; readonly name: string },
  registry: Registry,
): Promise<Registry> {
  const collection = registry.get(collectionName);
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
