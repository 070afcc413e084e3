/**
 * Who sees mail: the owner and the members of its account, whatever a role may do besides. The predicate is a part of every
 * grant on these collections, so that no path to them goes without it.
 */
import { normaliseFilter } from '../protocol/filter-normaliser.ts';
import type { AskedFilter, AskedOperand } from '../protocol/record-request.ts';
import type { RowFilter } from '../query/grant.ts';
import { isMailResource } from '../schema/mail-collections.ts';
import { rowFilterOf } from './row-filter.ts';

const user = '{{$user.id}}';
const seen = rowFilterOf(normaliseFilter({ seenBy: { userId: user } }))!;
/** Its owner may make an account before anybody is noted as its member. */
const seenOrOwned = rowFilterOf(normaliseFilter({ $or: [{ ownerId: user }, { seenBy: { userId: user } }] }))!;

/**
 * The rows of a collection that may be seen at all; null: any.
 *
 * @param administers the role's own power decides, no permission: then accounts are seen, so that somebody can look after
 *   them, and nothing of what is in them.
 */
export function mailSight(resource: string, administers: boolean): RowFilter | null {
  if (!isMailResource(resource)) return null;
  if (resource === 'accounts') return administers ? null : seenOrOwned;
  return seen;
}

/** Rows that pass both. */
export function bothRows(one: RowFilter | null, other: RowFilter | null): RowFilter | null {
  if (one === null || other === null) return one ?? other;
  const shift = one.values.length;
  const variables = new Map(one.variables);
  for (const [slot, name] of other.variables) variables.set(slot + shift, name);
  return {
    filter: { kind: 'all', of: [one.filter, shifted(other.filter, shift)] },
    values: [...one.values, ...other.values],
    variables,
  };
}

/** A filter whose values begin at a later slot. */
function shifted(filter: AskedFilter, by: number): AskedFilter {
  switch (filter.kind) {
    case 'all':
    case 'any':
      return { kind: filter.kind, of: filter.of.map((each) => shifted(each, by)) };
    case 'not':
      return { kind: 'not', of: shifted(filter.of, by) };
    case 'at':
      return { kind: 'at', path: filter.path, of: shifted(filter.of, by) };
    case 'test':
      return { ...filter, operand: shiftedOperand(filter.operand, by) };
  }
}

function shiftedOperand(operand: AskedOperand, by: number): AskedOperand {
  return operand.slot < 0 ? operand : { ...operand, slot: operand.slot + by };
}
