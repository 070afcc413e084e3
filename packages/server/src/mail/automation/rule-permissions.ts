/** Whether a role may do what a rule does. It is checked when the rule is saved, and again whenever it is applied. */
import { decide } from '../../access/grants.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { findMirroredField } from '../collections/header-fields.ts';
import type { RuleAction } from './rule-actions.ts';
import type { RuleCondition } from './rule-conditions.ts';

/** What a rule looks at and does. */
export interface RuleContent {
  readonly conditions: readonly RuleCondition[];
  readonly actions: readonly RuleAction[];
}

/** What the role lacks. */
export interface RuleRefusal {
  /** `conditions.0.field` or `actions.1.type`. */
  readonly path: string;
  readonly reason: string;
}

/** The fields of e-mails that reveal what a condition looks at. */
const fieldsByCondition: Readonly<Record<RuleCondition['field'], readonly string[]>> = {
  from: ['from'],
  to: ['to'],
  cc: ['cc'],
  recipients: ['to', 'cc', 'content'],
  subject: ['subject'],
  body: ['content'],
  header: ['content'],
  size: ['size'],
  hasAttachments: ['hasAttachments'],
  isReply: ['content'],
  isList: ['content'],
};

/** A grant that an action needs, with fields. */
type NeededGrant = readonly [resource: string, action: string, fields: readonly string[]];

const grantsByAction: Readonly<Record<RuleAction['type'], readonly NeededGrant[]>> = {
  move: [['emails', 'update', ['mailbox']]],
  star: [['emails', 'update', ['starred']]],
  markRead: [['emails', 'update', ['read']]],
  addLabel: [['emails', 'update', ['labels']]],
  removeLabel: [['emails', 'update', ['labels']]],
  assign: [['conversations', 'update', ['assignee']]],
  webhook: [],
  reply: [
    ['emails', 'get', ['from', 'subject', 'content']],
    ['emails', 'create', ['to', 'subject', 'content']],
  ],
};

/** What the role of a context lacks for a rule; null where it lacks nothing. */
export function findRuleRefusal(context: RecordContext, { conditions, actions }: RuleContent): RuleRefusal | null {
  for (const [index, condition] of conditions.entries()) {
    const reason = findMissingGrant(context, ['emails', 'get', listReadFields(condition)]);
    if (reason !== null) return { path: `conditions.${index}.field`, reason };
  }
  for (const [index, { type }] of actions.entries()) {
    const needed = grantsByAction[type];
    const reasons = needed.map((each) => findMissingGrant(context, each)).filter((each) => each !== null);
    if (type === 'reply' && hasOwnRowFilter(context))
      reasons.push('A role with a row filter on emails cannot create messages.');
    const [reason] = reasons;
    if (reason !== undefined) return { path: `actions.${index}.type`, reason };
  }
  return null;
}

/** @throws ApiError `FIELD_DENIED` naming the path, unless the role may do what a rule does. */
export function requireRulePermissions(context: RecordContext, content: RuleContent): void {
  const refusal = findRuleRefusal(context, content);
  if (refusal === null) return;
  const { path, reason } = refusal;
  throw new ApiError('FIELD_DENIED', `A rule cannot do more than its author is permitted to do. ${path}: ${reason}`, {
    details: { [path]: reason },
  });
}

/** The fields of e-mails that a condition reveals. */
function listReadFields(condition: RuleCondition): readonly string[] {
  const fields = fieldsByCondition[condition.field];
  const mirrored = condition.field === 'header' ? findMirroredField(condition.header) : null;
  return mirrored === null ? fields : [...fields, mirrored];
}

function findMissingGrant(context: RecordContext, [resource, action, fields]: NeededGrant): string | null {
  const collection = context.registry.get(resource);
  const grant = context.findGrant(resource, action);
  if (!grant) return `The role may not ${action} ${resource}.`;
  const denied = fields.find((name) => {
    const field = collection.byName.get(name);
    return !field || !grant.may(field);
  });
  if (denied === undefined) return null;
  return `The role may not ${action === 'get' ? 'read' : 'write'} "${denied}" of ${resource}.`;
}

/** A new message is stored without being compared with a row filter. */
function hasOwnRowFilter({ caller, access, registry }: RecordContext): boolean {
  return Boolean(decide(caller.role, 'emails', 'create', { table: access, registry }).row?.filter);
}
