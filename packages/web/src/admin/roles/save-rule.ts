/**
 * Saves a rule of a role. Its actions are removed from the other rules of the same collection in the same transaction.
 */
import type { BatchOperation, Client, Filter } from '@tablinum/client';
import type { Permission } from '../access/dto.ts';

export interface RuleValues {
  readonly role: string;
  readonly resource: string;
  readonly actions: readonly string[];
  readonly filter: Filter | null;
  readonly fields: readonly string[] | null;
  readonly exceptFields: readonly string[] | null;
}

/** @param existingRule the rule to change; null for a new one. */
export async function saveRule(
  client: Client,
  values: RuleValues,
  existingRule: Permission | null,
  rules: readonly Permission[],
): Promise<void> {
  await client.batch(buildRuleOperations(values, existingRule, rules));
}

export function buildRuleOperations(
  values: RuleValues,
  existingRule: Permission | null,
  rules: readonly Permission[],
): BatchOperation[] {
  const otherRules = rules.filter((each) => each.resource === values.resource && each.id !== existingRule?.id);
  const reducedRules = otherRules.flatMap((each): BatchOperation[] => {
    const remainingActions = each.actions.filter((action) => !values.actions.includes(action));
    if (remainingActions.length === each.actions.length) return [];
    const ruleReference = { resource: 'permissions', filterByTk: each.id };
    return [
      remainingActions.length === 0
        ? { op: 'destroy', ...ruleReference }
        : { op: 'update', ...ruleReference, values: { actions: remainingActions } },
    ];
  });
  const ruleOperation: BatchOperation = existingRule
    ? { op: 'update', resource: 'permissions', filterByTk: existingRule.id, values }
    : { op: 'create', resource: 'permissions', values };
  return [...reducedRules, ruleOperation];
}
