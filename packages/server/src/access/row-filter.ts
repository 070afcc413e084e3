import type { AskedFilter } from '../protocol/record-request.ts';
import type { RowFilter } from '../query/grant.ts';
import { variableOf } from '../query/variables.ts';

/** A permission's filter with its variables found; null where it has no condition. */
export function rowFilterOf(
  asked: { readonly filter: AskedFilter | null; readonly values: readonly unknown[] } | null,
): RowFilter | null {
  if (!asked?.filter) return null;
  const variables = new Map<number, string>();
  asked.values.forEach((value, slot) => {
    const variable = variableOf(value);
    if (variable !== null) variables.set(slot, variable);
  });
  return { filter: asked.filter, values: asked.values, variables };
}
