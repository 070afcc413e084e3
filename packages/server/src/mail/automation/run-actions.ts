/** Carries out the actions of a rule on e-mails, through the same operations and permissions as requests. */
import { isoTime } from '../../base/clock.ts';
import { type ActionTarget, readActionTargets } from '../../database/mail/rule-message-rows.ts';
import { formatActor } from '../../identity/caller.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import type { TransactionContext } from '../../records/record-context.ts';
import { getRules } from '../../records/system/system-rules.ts';
import { updateRecords } from '../../records/write/write-records.ts';
import { moveEmails } from '../store/move-mail.ts';
import { resolveRoleMailbox } from '../store/resolve-mailbox.ts';
import { findReferenceProblem } from './mail-rule-rules.ts';
import { pathsByRole, type RuleAction, type TargetRole } from './rule-actions.ts';
import { requireRulePermissions } from './rule-permissions.ts';
import type { MailRule } from './stored-rule.ts';

/** A rule whose actions are carried out. A rule that was given in a request has no id. */
export type RunnableRule = Pick<MailRule, 'accountId' | 'name' | 'conditions' | 'actions'> & {
  readonly id: number | null;
};

/**
 * Carries out all actions of a rule except automatic replies. An action whose effect already exists changes nothing.
 *
 * @param tx the context of the user as whom the rule acts.
 * @param emails their keys.
 * @throws ApiError if the user may not do it, or if a mailbox or member no longer exists.
 */
export async function runActions(tx: TransactionContext, rule: RunnableRule, emails: readonly number[]): Promise<void> {
  requireRulePermissions(tx, rule);
  const problem = await findReferenceProblem(tx, tx.tx, rule);
  if (problem !== null) throw new ApiError('REFERENCE_MISSING', `${problem.path}: ${problem.reason}`);
  // An e-mail may have been deleted since it was matched.
  const targets = await readActionTargets(tx.database, tx.tx, emails);
  if (targets.length === 0) return;
  await setFlags(tx, rule.actions, targets);
  await setLabels(tx, rule.actions, targets);
  for (const action of rule.actions) {
    if (action.type === 'assign') await assign(tx, action.userId, targets);
    if (action.type === 'webhook') await emitRuleMatched(tx, rule, targets);
  }
  // The move comes last: a row filter of the role may exclude the e-mail afterwards.
  const keys = targets.map(({ id }) => id);
  for (const action of rule.actions)
    if (action.type === 'move') await moveEmails(tx, keys, [await resolveTarget(tx, rule.accountId, action.mailbox)]);
}

async function resolveTarget(tx: TransactionContext, account: number, target: number | TargetRole): Promise<number> {
  if (typeof target === 'number') return target;
  return (await resolveRoleMailbox(tx, account, target, pathsByRole[target])).id;
}

/** The labels of an e-mail after the actions of a rule. */
export function computeLabels(actions: readonly RuleAction[], before: readonly string[]): readonly string[] {
  let labels = before;
  for (const action of actions) {
    if (action.type !== 'addLabel' && action.type !== 'removeLabel') continue;
    const { type, label } = action;
    const isPresent = labels.includes(label);
    if (type === 'addLabel' && !isPresent) labels = [...labels, label];
    if (type === 'removeLabel' && isPresent) labels = labels.filter((each) => each !== label);
  }
  return labels;
}

async function setFlags(
  tx: TransactionContext,
  actions: readonly RuleAction[],
  targets: readonly ActionTarget[],
): Promise<void> {
  const has = (type: RuleAction['type']): boolean => actions.some((each) => each.type === type);
  const changes = { ...(has('star') && { starred: true }), ...(has('markRead') && { read: true }) };
  const keys = targets
    .filter((each) => (changes.starred && !each.starred) || (changes.read && !each.read))
    .map(({ id }) => id);
  if (keys.length > 0) await updateEmails(tx, keys, changes);
}

async function setLabels(
  tx: TransactionContext,
  actions: readonly RuleAction[],
  targets: readonly ActionTarget[],
): Promise<void> {
  for (const { id, labels } of targets) {
    const after = computeLabels(actions, labels);
    if (after !== labels) await updateEmails(tx, [id], { labels: after });
  }
}

async function updateEmails(tx: TransactionContext, keys: readonly number[], body: object): Promise<void> {
  const emails = tx.registry.get('emails');
  await updateRecords(tx, emails, requestByKeys('update', keys), { body, rules: getRules(emails) });
}

async function assign(tx: TransactionContext, user: number, targets: readonly ActionTarget[]): Promise<void> {
  const conversations = tx.registry.get('conversations');
  const keys = targets
    .filter(({ assigneeId }) => assigneeId !== user)
    .flatMap(({ conversationId }) => conversationId ?? []);
  if (keys.length === 0) return;
  const body = { assigneeId: user };
  const request = requestByKeys('update', [...new Set(keys)]);
  await updateRecords(tx, conversations, request, { body, rules: getRules(conversations) });
}

/**
 * Emits `emails.ruleMatched`. Webhooks receive it although they act for no user. Its payload therefore contains nothing
 * of the e-mail: it only names the rule, which a member of the account has written for this purpose.
 */
async function emitRuleMatched(
  { changes, caller, clock, requestId, tx }: TransactionContext,
  { id, name, accountId }: RunnableRule,
  targets: readonly ActionTarget[],
): Promise<void> {
  const events = {
    name: 'emails.ruleMatched',
    resource: 'emails',
    keys: targets.map((each) => String(each.id)),
    actor: formatActor(caller),
    requestId,
    changed: { payload: { rule: { id, name }, accountId } },
    by: null,
  };
  await changes.append(tx, events, isoTime(clock.now()));
}
