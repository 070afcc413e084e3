/** Mail as statements of others meet it: only the members of its account see it. */
import { isMailResource } from '../schema/mail-collections.ts';
import { type Collection, getField, type Registry } from '../schema/registry.ts';
import type { Operand, Predicate } from './predicate.ts';

/** The user who reads; null where it is nobody. */
export const viewer: Operand = { form: 'scalar', read: ({ variables }) => variables()['$user.id'] ?? null };

/**
 * What a row filter that leads into mail finds there: what its caller sees. Else whoever writes such rules could ask, word by
 * word, what is in the mail of others.
 */
export function visibleThroughRule(target: Collection, registry: Registry): Predicate | null {
  if (!isMailResource(target.name) || target.name === 'accounts') return null;
  const relation = getField(target, 'seenBy').relation!;
  const members = registry.get(relation.target);
  const isViewer: Predicate = { kind: 'test', field: getField(members, 'userId'), operator: '$eq', operand: viewer };
  const visible: Predicate = { kind: 'related', source: target, relation, target: members, of: isViewer };
  return { kind: 'variables', variables: [viewer], of: visible };
}
