/**
 * Mail is only visible to the owner and the members of its account, whatever else a role may do. Every grant on the
 * collections of mail contains this predicate, so it applies on every path to them.
 */
import { normaliseFilter } from '../protocol/filter-normaliser.ts';
import type { ParsedFilter, ParsedOperand } from '../protocol/record-request.ts';
import type { RowFilter } from '../query/grant.ts';
import { isMailResource } from '../schema/mail-collections.ts';
import { buildRowFilter } from './row-filter.ts';

const userIdVariable = '{{$user.id}}';
const visibleToUser = buildRowFilter(normaliseFilter({ seenBy: { userId: userIdVariable } }));
/** The owner may create an account before it has members. */
const visibleOrOwned = buildRowFilter(
  normaliseFilter({ $or: [{ ownerId: userIdVariable }, { seenBy: { userId: userIdVariable } }] }),
);

/**
 * The rows of a collection that are visible at all; null for all.
 *
 * @param isAdministrator true if a privilege of the role decides and not a permission. Administrators see accounts, so
 *   that they can manage them, but not the mail in them.
 */
export function mailVisibilityFilter(resource: string, isAdministrator: boolean): RowFilter | null {
  if (!isMailResource(resource)) return null;
  if (resource === 'accounts') return isAdministrator ? null : visibleOrOwned;
  return visibleToUser;
}

/** A row filter that requires both. */
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
