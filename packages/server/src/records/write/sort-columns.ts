import type { SortPositionColumn } from '../../database/sort-positions.ts';
import { type Collection, type Field, listColumnFields } from '../../schema/registry.ts';

/** Where the places of a sort field lie. */
export function getSortColumn(collection: Collection, field: Field): SortPositionColumn {
  const scope = field.definition.scopeKey === undefined ? null : collection.byName.get(field.definition.scopeKey);
  return {
    table: collection.table,
    column: field.column!,
    key: collection.primaryKey.column!,
    scope: scope?.column ? { column: scope.column, storage: scope.type.storage! } : null,
  };
}

/** Fields that number new records by themselves. */
export function findSortFields(collection: Collection): Field[] {
  return listColumnFields(collection).filter((field) => field.type.name === 'sort');
}
