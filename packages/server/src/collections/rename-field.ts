import { updateField, updateOptions } from '../database/catalogue.ts';
import type { Transaction } from '../database/database.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import type { FieldFacts } from '../schema/load-registry.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { renameInOptions } from '../schema/search-fields.ts';
import type { DefinitionContext } from './definition-context.ts';
import { type FieldNames, type RenamedField, renameFieldInPermissions } from './permission-names.ts';
import { toStoredFacts } from './stored-facts.ts';

/** Renames a field in all definitions and permissions that name it. Its column keeps its name. */
export async function renameField(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  { from, to }: FieldNames,
): Promise<void> {
  const { database, registry } = context;
  const renaming = new FieldRenaming({ collection: collection.name, from, to });
  for (const other of registry.all())
    for (const field of other.fields) {
      if (other === collection && field.name === from) continue; // stored by the change itself
      const facts = toStoredFacts(field);
      const renamed = renaming.renameInFacts(facts, other);
      const definition = renaming.renameInDefinition(field, other);
      if (JSON.stringify([facts, field.definition]) !== JSON.stringify([renamed, definition]))
        await updateField(database, transaction, { id: field.id, name: field.name, definition, facts: renamed });
    }
  const options = renameInOptions(collection.options, (name) => (name === from ? to : name));
  if (collection.options.indexes || collection.options.search)
    await updateOptions(database, transaction, { id: collection.id, options });
  await renameFieldInPermissions(context, transaction, collection, { from, to });
}

class FieldRenaming {
  readonly #field: RenamedField;

  constructor(field: RenamedField) {
    this.#field = field;
  }

  renameInFacts(facts: FieldFacts, owner: Collection): FieldFacts {
    const { references, relation } = facts;
    return {
      ...facts,
      references: references && { ...references, field: this.#name(references.field, references.collection) },
      relation: relation && {
        ...relation,
        sourceField: this.#name(relation.sourceField, owner.name),
        targetField: this.#name(relation.targetField, relation.target),
        through: relation.through && {
          ...relation.through,
          sourceField: this.#name(relation.through.sourceField, relation.through.collection),
          targetField: this.#name(relation.through.targetField, relation.through.collection),
        },
      },
    };
  }

  /** Renames the keys that the definition of a relation names explicitly. */
  renameInDefinition({ definition, relation }: Field, owner: Collection): FieldDefinition {
    if (definition.scopeKey !== undefined)
      return { ...definition, scopeKey: this.#name(definition.scopeKey, owner.name) };
    if (!relation) return definition;
    const foreignKeyCollection =
      relation.kind === 'belongsTo' ? owner.name : (relation.through?.collection ?? relation.target);
    const collectionByProperty = {
      foreignKey: foreignKeyCollection,
      otherKey: foreignKeyCollection,
      sourceKey: owner.name,
      targetKey: relation.target,
    } as const;
    const result: Record<string, unknown> = { ...definition };
    for (const [property, keyCollection] of Object.entries(collectionByProperty))
      if (typeof result[property] === 'string') result[property] = this.#name(result[property], keyCollection);
    return result as unknown as FieldDefinition;
  }

  #name(name: string, collection: string): string {
    const { from, to } = this.#field;
    return collection === this.#field.collection && name === from ? to : name;
  }
}
