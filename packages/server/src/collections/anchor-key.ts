import { updateField } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import { type Collection, type Field, fieldOf, makeCollection, type Registry } from '../schema/registry.ts';
import type { DefinitionContext } from './definition-context.ts';
import { replaceIndexes } from './replace-indexes.ts';
import { storedFacts } from './stored-facts.ts';

/**
 * Makes a unique field the key by which a relation names records: a foreign key needs it to be unique in the trash too.
 * Returns the registry with it.
 *
 * @throws DatabaseFault `unique` where the trash holds equal values.
 */
export async function anchorKey(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  name: string,
  registry: Registry,
): Promise<Registry> {
  const { database } = context;
  const before = fieldOf(collection, name);
  const after: Field = { ...before, anchor: true };
  const fields = collection.fields.map((field) => (field === before ? after : field));
  const grown = makeCollection({ ...collection, fields });
  await replaceIndexes(context, transaction, collection, grown);
  const { id, definition } = before;
  await updateField(database, transaction, { id, name, definition, facts: storedFacts(after) });
  return registry.with([grown], [], registry.version);
}
