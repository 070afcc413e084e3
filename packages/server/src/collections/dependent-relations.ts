import type { Collection, Field, Registry } from '../schema/registry.ts';

/** Relations, as `collection.field`, that use a field as foreign key or as the key they name. */
export function findDependentRelations(collection: Collection, field: Field, registry: Registry): string[] {
  return registry
    .all()
    .flatMap((other) =>
      other.fields
        .filter((each) => isUsedBy(other, each, collection, field))
        .map((each) => `${other.name}.${each.name}`),
    );
}

function isUsedBy(other: Collection, each: Field, collection: Collection, field: Field): boolean {
  const { relation, references } = each;
  if (references?.collection === collection.name && references.field === field.name) return true;
  if (other === collection && each.definition.scopeKey === field.name) return true;
  if (!relation) return false;
  const { through } = relation;
  if (other === collection && relation.sourceField === field.name) return true;
  if (relation.target === collection.name && relation.targetField === field.name) return true;
  return through?.collection === collection.name && [through.sourceField, through.targetField].includes(field.name);
}
