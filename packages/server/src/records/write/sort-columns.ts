import type { SortPositionColumn } from '../../database/sort-positions.ts';
import { requireColumn, requireStorage } from '../../schema/field-parts.ts';
import { type Collection, type Field, listColumnFields } from '../../schema/registry.ts';

/** The columns of a sort field: its positions, and the scope that they are counted in. */
export function getSortColumn(collection: Collection, field: Field): SortPositionColumn {
  const scope = field.definition.scopeKey === undefined ? null : collection.byName.get(field.definition.scopeKey);
  return {
    table: collection.table,
    column: requireColumn(field),
    key: requireColumn(collection.primaryKey),
    scope: scope?.column ? { column: scope.column, storage: requireStorage(scope) } : null,
  };
}

/** Fields that number new records on their own. */
export function findSortFields(collection: Collection): Field[] {
  return listColumnFields(collection).filter((field) => field.type.name === 'sort');
}
