import type { ParsedFilter } from '../protocol/record-request.ts';
import type { RowFilter } from './grant.ts';
import { parseVariable } from './variables.ts';

/** The filter of a permission with its variables by slot; null if it has no condition. */
export function buildRowFilter(
  permissionFilter: { readonly filter: ParsedFilter | null; readonly values: readonly unknown[] } | null,
): RowFilter | null {
  if (!permissionFilter?.filter) return null;
  const variables = new Map<number, string>();
  permissionFilter.values.forEach((value, slot) => {
    const variable = parseVariable(value);
    if (variable !== null) variables.set(slot, variable);
  });
  return { filter: permissionFilter.filter, values: permissionFilter.values, variables };
}
