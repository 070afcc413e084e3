import { invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import { defaultOnDelete } from './resolution-draft.ts';

/**
 * Determines the effect that deleting the target has on a foreign key whose definition has changed. If no relation
 * specifies `onDelete`, a foreign key that may no longer be null restricts, and one that may be null again is set to
 * null.
 *
 * @throws ApiError 422 if a relation specifies that the key is set to null, and it may no longer be null.
 */
export function resolveChangedReference(
  registry: Registry,
  collection: Collection,
  field: Field,
  definition: FieldDefinition,
): Field['references'] {
  const { references } = field;
  const wanted = defaultOnDelete(definition);
  if (!references || references.onDelete === 'cascade' || references.onDelete === wanted) return references;
  if (wanted === defaultOnDelete(field.definition)) return references;
  const statingRelation = findRelationsByForeignKey(collection, field, registry).find(
    (each) => each.field.definition.onDelete !== undefined,
  );
  if (!statingRelation) return { ...references, onDelete: wanted };
  if (wanted === 'setNull') return references;
  const property = definition.required ? 'required' : 'allowNull';
  throw invalidDefinition({
    [property]: `${statingRelation.collection.name}.${statingRelation.field.name} has "onDelete": "setNull", so "${field.name}" must allow null.  Destroy that relation, change the key, and create the relation again without "onDelete".`,
  });
}

/** The relations that use a field as their foreign key. */
export function findRelationsByForeignKey(
  collection: Collection,
  field: Field,
  registry: Registry,
): { collection: Collection; field: Field }[] {
  return registry.all().flatMap((child) =>
    child.fields
      .filter(({ relation }) => {
        if (!relation || relation.through) return false;
        if (relation.kind === 'belongsTo') return child === collection && relation.sourceField === field.name;
        return relation.target === collection.name && relation.targetField === field.name;
      })
      .map((each) => ({ collection: child, field: each })),
  );
}
