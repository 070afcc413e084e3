/** The visibility of mail in filters: only the members of an account see its e-mails. */
import { isMailResource } from '../schema/mail-collections.ts';
import { type Collection, getField, type Registry } from '../schema/registry.ts';
import { requireRelation } from './field-parts.ts';
import type { Operand, Predicate } from './predicate.ts';

/** The id of the user who reads; null for callers without a user. */
export const viewer: Operand = { form: 'scalar', read: ({ variables }) => variables()['$user.id'] ?? null };

/**
 * The mail that a row filter can match: only what its caller may see; null for collections that are not mail. Otherwise the
 * author of a row filter could find out, word by word, what is in the mail of others.
 */
export function visibleThroughRule(target: Collection, registry: Registry): Predicate | null {
  if (!isMailResource(target.name) || target.name === 'accounts') return null;
  const relation = requireRelation(getField(target, 'seenBy'));
  const members = registry.get(relation.target);
  const isViewer: Predicate = { kind: 'test', field: getField(members, 'userId'), operator: '$eq', operand: viewer };
  const visible: Predicate = { kind: 'related', source: target, relation, target: members, of: isViewer };
  return { kind: 'variables', variables: [viewer], of: visible };
}
