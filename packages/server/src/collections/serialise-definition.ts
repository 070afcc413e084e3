import { hash } from 'node:crypto';
import type { Collection, Field, Relation } from '../schema/registry.ts';

/** A field as replies show it. */
export function serialiseField(field: Field): Record<string, unknown> {
  return {
    ...field.definition,
    ...(field.relation && getRelationKeys(field.relation)),
    ...(field.serverManaged && { readOnly: true }),
  };
}

/** The fields of a collection that are not hidden. */
export function listVisibleFields({ fields }: Collection): Field[] {
  return fields.filter((field) => !field.hidden);
}

/** A collection as replies show it, without hidden fields. */
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
 * A hash of a definition, of at most 15 digits. Definitions have no write counter, so their ETags contain this number.
 * It depends on the whole definition, whatever part of it a reply shows.
 *
 * @param definition the whole definition, from {@link serialiseCollection} with fields or from {@link serialiseField}.
 */
export function hashDefinition(definition: Readonly<Record<string, unknown>>): number {
  return hash('sha256', JSON.stringify(definition), 'buffer').readUIntBE(0, 6);
}

/** The keys of a relation, also those that its definition left to the defaults. */
function getRelationKeys({ kind, sourceField, targetField, through }: Relation): Record<string, unknown> {
  if (kind === 'belongsTo') return { foreignKey: sourceField, targetKey: targetField };
  if (through === null) return { sourceKey: sourceField, foreignKey: targetField };
  const { collection, sourceField: foreignKey, targetField: otherKey } = through;
  return { through: collection, sourceKey: sourceField, foreignKey, targetKey: targetField, otherKey };
}
