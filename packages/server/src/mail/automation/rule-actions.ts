/** The actions of a rule, and how they are read from a request. */
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { MailboxRole } from '../collections/mailbox-roles.ts';
import { automationLimits } from './automation-limits.ts';
import type { InputProblems } from './input-problems.ts';
import { isPlainText } from './rule-conditions.ts';

/** What an automatic reply says. `{{name}}`, `{{address}}` and `{{subject}}` stand for those of the message. */
export interface ReplyTemplate {
  /** Null: the subject of the message with a prefix. */
  readonly subject: string | null;
  readonly text: string;
  readonly html: string | null;
}

/** One action. */
export type RuleAction =
  /** @property mailbox the id of a mailbox, or a role, whose mailbox is created where it does not exist. */
  | { readonly type: 'move'; readonly mailbox: number | TargetRole }
  | { readonly type: 'star' }
  | { readonly type: 'markRead' }
  | { readonly type: 'addLabel' | 'removeLabel'; readonly label: string }
  /** Assigns the conversation to a member of the account. */
  | { readonly type: 'assign'; readonly userId: number }
  /** Emits the event `emails.ruleMatched`. */
  | { readonly type: 'webhook' }
  | ({ readonly type: 'reply' } & ReplyTemplate);

/** The members that each action has besides its type. */
const membersByType: Readonly<Record<RuleAction['type'], readonly string[]>> = {
  move: ['mailbox'],
  star: [],
  markRead: [],
  addLabel: ['label'],
  removeLabel: ['label'],
  assign: ['userId'],
  webhook: [],
  reply: ['subject', 'text', 'html'],
};

/** The names of the actions. */
export const actionTypes = Object.keys(membersByType) as readonly RuleAction['type'][];

/** Roles of mailboxes that a rule may move to. */
export const targetRoles = ['inbox', 'archive', 'junk', 'trash'] as const satisfies readonly MailboxRole[];
export type TargetRole = (typeof targetRoles)[number];

/** Paths of mailboxes that are created for a role. */
export const pathsByRole: Readonly<Record<TargetRole, string>> = {
  inbox: 'INBOX',
  archive: 'Archive',
  junk: 'Junk',
  trash: 'Trash',
};

/**
 * Reads the actions of a request.
 *
 * @param problems collects what is wrong, under `actions.<index>.<member>`.
 * @returns those that are right.
 */
export function parseActions(input: unknown, problems: InputProblems): RuleAction[] {
  const { actions: max } = automationLimits;
  if (!Array.isArray(input) || input.length === 0 || input.length > max) {
    problems.add('actions', `Give a list of 1 to ${max} actions, such as {"type": "star"}.`);
    return [];
  }
  const actions = input.flatMap((each: unknown, index) => parseAction(each, `actions.${index}`, problems) ?? []);
  for (const type of ['move', 'assign', 'webhook', 'reply'] as const)
    if (actions.filter((each) => each.type === type).length > 1)
      problems.add('actions', `A rule has at most one action "${type}". Remove the others.`);
  return actions;
}

function parseAction(input: unknown, path: string, problems: InputProblems): RuleAction | null {
  const type = isObject(input) ? input['type'] : undefined;
  if (!isObject(input) || !actionTypes.includes(type as RuleAction['type'])) {
    problems.add(isObject(input) ? `${path}.type` : path, `Give {"type": …} with one of ${actionTypes.join(', ')}.`);
    return null;
  }
  problems.addUnknown(path, input, ['type', ...membersByType[type as RuleAction['type']]]);
  switch (type as RuleAction['type']) {
    case 'move':
      return parseMoveAction(input['mailbox'], path, problems);
    case 'addLabel':
    case 'removeLabel':
      return { type: type as 'addLabel', label: parseLabel(input['label'], path, problems) };
    case 'assign':
      if (!Number.isSafeInteger(input['userId']))
        problems.add(`${path}.userId`, 'Give the id of a user who is a member of the account.');
      return { type: 'assign', userId: input['userId'] as number };
    case 'reply':
      return { type: 'reply', ...parseTemplate(input, path, problems) };
    default:
      return { type: type as 'star' };
  }
}

function parseMoveAction(mailbox: unknown, path: string, problems: InputProblems): RuleAction | null {
  if (Number.isSafeInteger(mailbox)) return { type: 'move', mailbox: mailbox as number };
  const role = targetRoles.find((each) => each === mailbox);
  if (role !== undefined) return { type: 'move', mailbox: role };
  problems.add(
    `${path}.mailbox`,
    `Give the id of a mailbox of the account, or one of the roles ${targetRoles.join(', ')}.`,
  );
  return null;
}

function parseLabel(label: unknown, path: string, problems: InputProblems): string {
  const { labelLength } = mailLimits;
  const text = typeof label === 'string' ? label.normalize('NFC').trim() : '';
  // Names with these first characters belong to mail servers.
  if (text === '' || text.length > labelLength || !isPlainText(text) || /^[$\\]/.test(text))
    problems.add(`${path}.label`, `Give a name of 1 to ${labelLength} characters that does not begin with $ or \\.`);
  return text;
}

/**
 * Reads the template of an automatic reply.
 *
 * @param path of the object that has its members; empty for the body itself.
 */
export function parseTemplate(
  input: Readonly<Record<string, unknown>>,
  path: string,
  problems: InputProblems,
): ReplyTemplate {
  const { subject = null, text, html = null } = input;
  const { replyTextLength, replyHtmlLength } = automationLimits;
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  if (subject !== null && !isSubject(subject))
    problems.add(at('subject'), `Give one line of at most ${mailLimits.subjectLength} characters, or null.`);
  if (!isBody(text, replyTextLength) || text.trim() === '')
    problems.add(at('text'), `Give the text of the reply, 1 to ${replyTextLength} characters.`);
  if (html !== null && !isBody(html, replyHtmlLength))
    problems.add(at('html'), `Give HTML of at most ${replyHtmlLength} characters, or null.`);
  return { subject: subject as string | null, text: text as string, html: html as string | null };
}

function isSubject(subject: unknown): boolean {
  return (
    typeof subject === 'string' &&
    subject.length <= mailLimits.subjectLength &&
    isPlainText(subject) &&
    !/[\u2028\u2029]/.test(subject)
  );
}

function isBody(text: unknown, maxLength: number): text is string {
  return typeof text === 'string' && text.length <= maxLength && text.isWellFormed() && !text.includes('\0');
}
