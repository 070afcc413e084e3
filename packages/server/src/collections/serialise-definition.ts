import { hash } from 'node:crypto';
import type { Collection, Field } from '../schema/registry.ts';

/** A field as the wire shows it. */
export function serialiseField(field: Field): Record<string, unknown> {
  return {
    ...field.definition,
    ...(field.relation && getRelationKeys(field)),
    ...(field.serverManaged && { readOnly: true }),
  };
}

/** The fields of a collection that anyone may know of. */
export function listVisibleFields({ fields }: Collection): Field[] {
  return fields.filter((field) => !field.hidden);
}

/** A collection as the wire shows it; hidden fields and joins stay out. */
export function serialiseCollection(collection: Collection, withFields: boolean): Record<string, unknown> {
  const { name, title, description, options, system } = collection;
  return {
    name,
    title,
    description,
    ...(withFields && { fields: listVisibleFields(collection).map(serialiseField) }),
    options,
    ...(system && { system }),
  };
}

/**
 * What stands in the ETag of a definition in the place of a write counter, of which definitions have none: a number of at most 15 digits
 * that its content gives, whatever part of it a reply shows.
 *
 * @param definition the whole definition, from {@link serialiseCollection} with fields or from {@link serialiseField}.
 */
export function hashDefinition(definition: Readonly<Record<string, unknown>>): number {
  return hash('sha256', JSON.stringify(definition), 'buffer').readUIntBE(0, 6);
}

/** The keys that a relation uses, also where the definition left them to their defaults. */
function getRelationKeys({ relation }: Field): Record<string, unknown> {
  const { kind, sourceField, targetField, through } = relation!;
  if (kind === 'belongsTo') return { foreignKey: sourceField, targetKey: targetField };
  if (kind !== 'belongsToMany') return { sourceKey: sourceField, foreignKey: targetField };
  const { collection, sourceField: foreignKey, targetField: otherKey } = through!;
  return { through: collection, sourceKey: sourceField, foreignKey, targetKey: targetField, otherKey };
}
