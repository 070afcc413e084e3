import type { StoredRuleRow } from '../../database/mail/rule-rows.ts';
import type { RuleAction } from './rule-actions.ts';
import type { RuleCondition } from './rule-conditions.ts';

/** A rule for arriving mail. */
export interface MailRule extends Omit<StoredRuleRow, 'conditions' | 'actions'> {
  readonly conditions: readonly RuleCondition[];
  readonly actions: readonly RuleAction[];
}

/** A stored rule. Its conditions and actions were checked when it was saved. */
export function toMailRule(row: StoredRuleRow): MailRule {
  return {
    ...row,
    conditions: row.conditions as readonly RuleCondition[],
    actions: row.actions as readonly RuleAction[],
  };
}
