import type { StoredPermission } from '../database/permission-rows.ts';
import { normaliseFilter } from '../protocol/filter-normaliser.ts';
import type { AccessTable, Permission, Role } from './access-table.ts';

/** Creates the access table from stored rows. */
export function makeAccessTable(
  roles: readonly { readonly name: string; readonly allowConfigure: boolean; readonly builtIn: boolean }[],
  permissions: readonly StoredPermission[],
): AccessTable {
  const byRole = Map.groupBy(permissions.map(parsePermission), (permission) => permission.role);
  const entries = roles.map((role): [string, Role] => [
    role.name,
    { ...role, permissions: byRole.get(role.name) ?? [] },
  ]);
  return { roles: new Map(entries) };
}

function parsePermission(row: StoredPermission): Permission {
  const filter = row.filter === null ? null : normaliseFilter(row.filter);
  return {
    id: row.id,
    role: row.role,
    resource: row.resource,
    actions: row.actions,
    filter: filter && { filter: filter.filter, values: filter.values },
    fields: row.fields && new Set(row.fields),
    exceptFields: row.exceptFields && new Set(row.exceptFields),
  };
}
