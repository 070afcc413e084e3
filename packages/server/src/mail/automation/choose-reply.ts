/** Which automatic reply a message gets: at most one, from the first rule or the vacation setting that has not answered its sender lately. */
import { isoTime } from '../../base/clock.ts';
import type { Database } from '../../database/database.ts';
import { hasRecentAutoReply } from '../../database/mail/auto-reply-rows.ts';
import { CorrespondentRows } from '../../database/mail/correspondent-rows.ts';
import type { RuleMessageRow } from '../../database/mail/rule-message-rows.ts';
import type { AccountAutomation } from './account-automation.ts';
import { decideReply } from './automatic-mail.ts';
import type { WantedReply } from './automatic-reply.ts';
import { automationLimits } from './automation-limits.ts';
import type { RuleAction } from './rule-actions.ts';
import type { MailRule } from './stored-rule.ts';
import { isVacationActive } from './vacation.ts';

/** A reply, and the rule that gives it; null: the vacation setting does. */
export interface ChosenReply extends WantedReply {
  readonly rule: MailRule | null;
}

/**
 * Chooses the automatic reply to a message.
 *
 * @param rules those that take effect for the message, in their order.
 * @param now milliseconds since the Unix epoch.
 * @returns null: it gets none.
 */
export async function chooseReply(
  database: Database,
  { account, vacation, ownAddresses }: AccountAutomation,
  message: RuleMessageRow,
  { rules, now }: { readonly rules: readonly MailRule[]; readonly now: number },
): Promise<ChosenReply | null> {
  const receivedAt = Date.parse(message.receivedAt);
  if (now - receivedAt > automationLimits.replyDelayMilliseconds) return null;
  const replies = rules.flatMap((rule) => findReplyAction(rule).map((template) => ({ rule, template })));
  const isAway = vacation !== null && isVacationActive(vacation, receivedAt, now);
  if (replies.length === 0 && !isAway) return null;
  const decision = decideReply(message, ownAddresses);
  if ('refusal' in decision) return null;
  const { address } = decision;
  const pauseStart = isoTime(now - automationLimits.replyPauseMilliseconds);
  const isOpen = async (source: string): Promise<boolean> =>
    !(await hasRecentAutoReply(database, { account: account.id, source, address: address.toLowerCase() }, pauseStart));
  for (const { rule, template } of replies) {
    const source = `rule ${rule.id}`;
    if (await isOpen(source)) return { source, rule, template, address };
  }
  if (!isAway || !(await isOpen('vacation'))) return null;
  if (vacation.knownSendersOnly && !(await isKnown(database, account.id, address))) return null;
  return { source: 'vacation', rule: null, template: vacation, address };
}

function findReplyAction({ actions }: MailRule): Extract<RuleAction, { type: 'reply' }>[] {
  return actions.filter((each) => each.type === 'reply');
}

/** Whether a user of the account has written to an address. */
async function isKnown(database: Database, account: number, address: string): Promise<boolean> {
  const key = address.toLowerCase();
  return (await new CorrespondentRows(database, null, account).find([key])).get(key)?.written === true;
}
