/** Saves a rule of a role: what it takes over from others of the same collection is taken from them in the same transaction. */
import type { BatchOperation, Client, Filter } from '@tablinum/client';
import type { Permission } from '../access/wire.ts';

export interface RuleValues {
  readonly role: string;
  readonly resource: string;
  readonly actions: readonly string[];
  readonly filter: Filter | null;
  readonly fields: readonly string[] | null;
  readonly exceptFields: readonly string[] | null;
}

/** @param present the rule that is changed; null for a new one. */
export async function saveRule(
  client: Client,
  values: RuleValues,
  present: Permission | null,
  rules: readonly Permission[],
): Promise<void> {
  await client.batch(ruleOperations(values, present, rules));
}

export function ruleOperations(
  values: RuleValues,
  present: Permission | null,
  rules: readonly Permission[],
): BatchOperation[] {
  const others = rules.filter((each) => each.resource === values.resource && each.id !== present?.id);
  const yielded = others.flatMap((each): BatchOperation[] => {
    const left = each.actions.filter((action) => !values.actions.includes(action));
    if (left.length === each.actions.length) return [];
    const target = { resource: 'permissions', filterByTk: each.id };
    return [left.length === 0 ? { op: 'destroy', ...target } : { op: 'update', ...target, values: { actions: left } }];
  });
  const own: BatchOperation = present
    ? { op: 'update', resource: 'permissions', filterByTk: present.id, values }
    : { op: 'create', resource: 'permissions', values };
  return [...yielded, own];
}
