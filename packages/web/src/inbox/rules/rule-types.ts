/** Rules for arriving mail as the server stores them, and as the form edits them. */
import { emptyToNull } from '../../data/use-api-mutation.ts';

export type ConditionField =
  | 'from'
  | 'to'
  | 'cc'
  | 'recipients'
  | 'subject'
  | 'body'
  | 'header'
  | 'size'
  | 'hasAttachments'
  | 'isReply'
  | 'isList';

export interface RuleCondition {
  readonly field: ConditionField;
  readonly operator: string;
  readonly value: string | number | boolean;
  readonly negate?: boolean;
  /** The name of a header. */
  readonly header?: string;
}

export type ActionType = 'move' | 'star' | 'markRead' | 'addLabel' | 'removeLabel' | 'assign' | 'webhook' | 'reply';

export interface RuleAction {
  readonly type: ActionType;
  /** The id of a folder, or a role. */
  readonly mailbox?: number | string;
  readonly label?: string;
  readonly userId?: number;
  readonly subject?: string | null;
  readonly text?: string;
  readonly html?: string | null;
}

export interface MailRule {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly enabled: boolean;
  readonly matches: 'all' | 'any';
  readonly conditions: readonly RuleCondition[];
  readonly actions: readonly RuleAction[];
  readonly stop: boolean;
  readonly ownerId: number | null;
  readonly problem: string | null;
}

/** A rule in the form. */
export type RuleDraft = Pick<MailRule, 'name' | 'matches' | 'conditions' | 'actions' | 'stop'>;

const textOperators = ['contains', 'is', 'startsWith', 'endsWith'];
const addressOperators = [...textOperators, 'matchesDomain'];

/** The operators of each field, the usual one first. */
export const operatorsByField: Readonly<Record<ConditionField, readonly string[]>> = {
  from: addressOperators,
  to: addressOperators,
  cc: addressOperators,
  recipients: addressOperators,
  subject: textOperators,
  body: ['contains'],
  header: textOperators,
  size: ['greater', 'less'],
  hasAttachments: ['is'],
  isReply: ['is'],
  isList: ['is'],
};

export const actionTypes: readonly ActionType[] = [
  'move',
  'star',
  'markRead',
  'addLabel',
  'removeLabel',
  'assign',
  'reply',
  'webhook',
];

export const newCondition: RuleCondition = { field: 'from', operator: 'contains', value: '' };

/** A condition on another field: the value stays if the field takes it. */
export function changeField(condition: RuleCondition, field: ConditionField): RuleCondition {
  const operators = operatorsByField[field];
  const operator = operators.includes(condition.operator) ? condition.operator : (operators[0] ?? 'is');
  const { negate = false } = condition;
  if (field === 'size') return { field, operator, value: 1_000_000, negate };
  if (field === 'hasAttachments' || field === 'isReply' || field === 'isList')
    return { field, operator, value: true, negate };
  const value = typeof condition.value === 'string' ? condition.value : '';
  return field === 'header' ? { field, operator, value, negate, header: '' } : { field, operator, value, negate };
}

/** A new action of a type. */
export function createAction(type: ActionType): RuleAction {
  if (type === 'move') return { type, mailbox: 'archive' };
  if (type === 'addLabel' || type === 'removeLabel') return { type, label: '' };
  if (type === 'reply') return { type, subject: '', text: '' };
  return { type };
}

/** The body of a request that saves or tries a draft. */
export function toRuleValues({ name, matches, conditions, actions, stop }: RuleDraft): Record<string, unknown> {
  return {
    name: name.trim(),
    matches,
    conditions,
    actions: actions.map((action) =>
      action.type === 'reply' ? { ...action, subject: emptyToNull(action.subject ?? '') } : action,
    ),
    stop,
  };
}
