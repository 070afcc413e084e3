import { type Collection, type Field, fieldOf, type Registry } from '../schema/registry.ts';
import { showField } from './show-definition.ts';

/** A field as clients see it, with the effective `onDelete` if its definition does not specify one. */
export function fieldInForce(field: Field, collection: Collection, registry: Registry): Record<string, unknown> {
  const onDelete = onDeleteInForce(field, collection, registry);
  return { ...showField(field), ...(onDelete && { onDelete }) };
}

function onDeleteInForce({ relation }: Field, collection: Collection, registry: Registry): string | undefined {
  if (!relation || relation.kind === 'belongsToMany') return undefined;
  const key =
    relation.kind === 'belongsTo'
      ? fieldOf(collection, relation.sourceField)
      : fieldOf(registry.get(relation.target), relation.targetField);
  return key.references?.onDelete;
}

/** Whether two values of a property mean the same: absent, null and false are one, and nulls are allowed by default. */
export function sameProperty(name: string, one: unknown, other: unknown): boolean {
  return JSON.stringify(meaning(name, one)) === JSON.stringify(meaning(name, other));
}

function meaning(name: string, value: unknown): unknown {
  if (name === 'allowNull') return value ?? true;
  return value === undefined || (value === false && name !== 'defaultValue') ? null : value;
}
