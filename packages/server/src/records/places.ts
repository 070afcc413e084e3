import type { PlaceColumn } from '../database/positions.ts';
import { type Collection, columnsOf, type Field } from '../schema/registry.ts';

/** Where the places of a sort field lie. */
export function placeOf(collection: Collection, field: Field): PlaceColumn {
  const scope = field.definition.scopeKey === undefined ? null : collection.byName.get(field.definition.scopeKey);
  return {
    table: collection.table,
    column: field.column!,
    key: collection.primaryKey.column!,
    scope: scope?.column ? { column: scope.column, storage: scope.type.storage! } : null,
  };
}

/** Fields that number new records by themselves. */
export function sortFieldsOf(collection: Collection): Field[] {
  return columnsOf(collection).filter((field) => field.type.name === 'sort');
}
