import { parsePatternResource } from '../changes/event-pattern.ts';
import { updateCollectionName, updateField } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import { renameResource } from '../database/permission-rows.ts';
import { readWebhooks, updateWebhookEvents } from '../database/webhook-rows.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { collectionNameProblem } from '../schema/names.ts';
import type { Field } from '../schema/registry.ts';
import { appendDefinitionEvent, runDefinitionChange } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { toStoredFacts } from './stored-facts.ts';

/**
 * Renames a collection in the relations, permissions and webhooks that name it. Its table, records and history stay.
 *
 * @throws ApiError 403 for a system collection, 404, 409 if the name is taken, 422 for an invalid name.
 */
export async function renameCollection(context: DefinitionContext, from: string, to: string): Promise<void> {
  const { database, registry } = context;
  const collection = registry.find(from);
  if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${from.slice(0, 60)}".`);
  if (collection.system)
    throw new ApiError('SYSTEM_PROTECTED', `"${from}" is a system collection and cannot be renamed.`);
  const problem = collectionNameProblem(to);
  if (problem !== null) throw invalidDefinition({ name: problem });
  if (registry.all().some(({ name }) => name === to))
    throw new ApiError('COLLECTION_EXISTS', `The collection "${to}" already exists. Choose another name.`);
  await runDefinitionChange(context, { subject: from, tables: [] }, async (transaction) => {
    const rename = (name: string): string => (name === from ? to : name);
    await updateCollectionName(database, transaction, { id: collection.id, name: to });
    for (const field of registry.all().flatMap(({ fields }) => fields)) {
      const renamed = renameInField(field, rename);
      if (renamed) await updateField(database, transaction, { id: field.id, name: field.name, ...renamed });
    }
    await renameResource(database, transaction, { from, to });
    await renameInWebhooks(context, transaction, { from, to });
    transaction.touch('*');
    await appendDefinitionEvent(context, transaction, 'collections.updated', from);
  });
}

/** The new stored values of a field that refers to the collection; null if it does not. */
function renameInField(
  field: Field,
  rename: (name: string) => string,
): { readonly definition: FieldDefinition; readonly facts: ReturnType<typeof toStoredFacts> } | null {
  const facts = toStoredFacts(field);
  const { references, relation } = facts;
  const { target, through } = field.definition;
  const definition = {
    ...field.definition,
    ...(target !== undefined && { target: rename(target) }),
    ...(through !== undefined && { through: rename(through) }),
  };
  const renamed = {
    ...facts,
    references: references && { ...references, collection: rename(references.collection) },
    relation: relation && {
      ...relation,
      target: rename(relation.target),
      through: relation.through && { ...relation.through, collection: rename(relation.through.collection) },
    },
  };
  const isSame = JSON.stringify([facts, field.definition]) === JSON.stringify([renamed, definition]);
  return isSame ? null : { definition, facts: renamed };
}

async function renameInWebhooks(
  { database }: DefinitionContext,
  transaction: Transaction,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  for (const { id, events } of await readWebhooks(database, transaction)) {
    const renamed = events.map((pattern) =>
      parsePatternResource(pattern) === from ? `${to}${pattern.slice(from.length)}` : pattern,
    );
    if (renamed.some((pattern, index) => pattern !== events[index]))
      await updateWebhookEvents(database, transaction, { id, events: renamed });
  }
}
