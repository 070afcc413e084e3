/**
 * Who sees mail: the owner and the members of its account, whatever a role may do besides. The predicate is a part of every
 * grant on these collections, so that no path to them goes without it.
 */
import { normaliseFilter } from '../protocol/filter-normaliser.ts';
import type { ParsedFilter, ParsedOperand } from '../protocol/record-request.ts';
import type { RowFilter } from '../query/grant.ts';
import { isMailResource } from '../schema/mail-collections.ts';
import { buildRowFilter } from './row-filter.ts';

const userIdVariable = '{{$user.id}}';
const visibleToUser = buildRowFilter(normaliseFilter({ seenBy: { userId: userIdVariable } }))!;
/** Its owner may make an account before anybody is noted as its member. */
const visibleOrOwned = buildRowFilter(
  normaliseFilter({ $or: [{ ownerId: userIdVariable }, { seenBy: { userId: userIdVariable } }] }),
)!;

/**
 * The rows of a collection that may be seen at all; null: any.
 *
 * @param isAdministrator the role's own power decides, no permission: then accounts are seen, so that somebody can look after
 *   them, and nothing of what is in them.
 */
export function mailVisibilityFilter(resource: string, isAdministrator: boolean): RowFilter | null {
  if (!isMailResource(resource)) return null;
  if (resource === 'accounts') return isAdministrator ? null : visibleOrOwned;
  return visibleToUser;
}

/** Rows that pass both. */
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

/** A filter whose values begin at a later slot. */
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
