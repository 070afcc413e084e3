/**
 * Limited visibility: a filter in the definition of a system collection (`traits.visibility`). Every grant on the
 * collection includes it, so that no path to its records can bypass it.
 */
import { normaliseFilter } from '../protocol/filter-normaliser.ts';
import type { ParsedFilter, ParsedOperand } from '../protocol/record-request.ts';
import type { SystemTraits } from '../schema/system-traits.ts';
import type { RowFilter } from './grant.ts';
import type { Operand } from './predicate.ts';
import { buildRowFilter } from './row-filter.ts';

/** The user who reads; null if the caller is not a user. */
export const viewer: Operand = { form: 'scalar', read: ({ variables }) => variables()['$user.id'] ?? null };

/**
 * The rows of a collection that the caller can see.
 *
 * @param isAdministrator the role needs no permission: the filter may not apply to such roles, see {@link Visibility}.
 * @returns null if visibility is not limited.
 */
export function buildVisibilityFilter({ visibility }: SystemTraits, isAdministrator: boolean): RowFilter | null {
  if (!visibility || (isAdministrator && !visibility.bindsAdministrators)) return null;
  return buildRowFilter(normaliseFilter(visibility.filter));
}

/** The rows that pass both filters; null: all rows. */
export function combineRowFilters(first: RowFilter | null, second: RowFilter | null): RowFilter | null {
  if (first === null || second === null) return first ?? second;
  const shift = first.values.length;
  const variables = new Map(first.variables);
  for (const [slot, name] of second.variables) variables.set(slot + shift, name);
  return {
    filter: { kind: 'all', of: [first.filter, shiftSlots(second.filter, shift)] },
    values: [...first.values, ...second.values],
    variables,
  };
}

/** The rows whose related record passes a filter. */
export function nestRowFilter(relation: string, inner: RowFilter): RowFilter {
  return { ...inner, filter: { kind: 'at', path: [relation], of: inner.filter } };
}

/** A filter with all slots moved by an offset. */
function shiftSlots(filter: ParsedFilter, offset: number): ParsedFilter {
  switch (filter.kind) {
    case 'all':
    case 'any':
      return { kind: filter.kind, of: filter.of.map((each) => shiftSlots(each, offset)) };
    case 'not':
      return { kind: 'not', of: shiftSlots(filter.of, offset) };
    case 'at':
      return { kind: 'at', path: filter.path, of: shiftSlots(filter.of, offset) };
    case 'test':
      return { ...filter, operand: shiftOperandSlot(filter.operand, offset) };
  }
}

function shiftOperandSlot(operand: ParsedOperand, offset: number): ParsedOperand {
  return operand.slot < 0 ? operand : { ...operand, slot: operand.slot + offset };
}
