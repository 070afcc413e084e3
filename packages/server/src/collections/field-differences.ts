import { type Collection, type Field, getField, type Registry } from '../schema/registry.ts';
import { serialiseField } from './serialise-definition.ts';

/** A field as clients see it, with the effective `onDelete` if its definition does not specify one. */
export function getEffectiveDefinition(
  field: Field,
  collection: Collection,
  registry: Registry,
): Record<string, unknown> {
  const onDelete = getEffectiveOnDelete(field, collection, registry);
  return { ...serialiseField(field), ...(onDelete && { onDelete }) };
}

function getEffectiveOnDelete({ relation }: Field, collection: Collection, registry: Registry): string | undefined {
  if (!relation || relation.kind === 'belongsToMany') return undefined;
  const key =
    relation.kind === 'belongsTo'
      ? getField(collection, relation.sourceField)
      : getField(registry.get(relation.target), relation.targetField);
  return key.references?.onDelete;
}

/** Whether two values of a property mean the same: absent, null and false are one, and nulls are allowed by default. */
export function isSameProperty(name: string, left: unknown, right: unknown): boolean {
  return JSON.stringify(normaliseProperty(name, left)) === JSON.stringify(normaliseProperty(name, right));
}

function normaliseProperty(name: string, value: unknown): unknown {
  if (name === 'allowNull') return value ?? true;
  return value === undefined || (value === false && name !== 'defaultValue') ? null : value;
}
