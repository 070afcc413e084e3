import { mailLimits } from '../../protocol/mail-limits.ts';
import type { ParsedMail } from '../parse/parsed-mail.ts';
import { baseSubject, isReply } from './base-subject.ts';
import { collectSubjectParties, shareParty } from './subject-parties.ts';

/** The values of a message that decide about its conversation. */
export type ThreadedMail = Pick<
  ParsedMail,
  'messageId' | 'inReplyTo' | 'references' | 'subject' | 'from' | 'to' | 'cc' | 'bulk'
> & {
  /** When it was received, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** Addresses that the message itself shows to be the account's (`readOwnAddresses`), in lower case. */
  readonly ownAddresses: readonly string[];
};

/** Two messages that share an id and the base of their subjects are in one conversation (RFC 8621, section 3). */
export interface ThreadKey {
  /** The message's own id, those it answers, and those before, each once; also of messages that were never seen. */
  readonly ids: readonly string[];
  readonly base: string;
  /** An answer that names no message it answers: it may be joined by its subject, to messages of the same people (`joinsBySubject`). */
  readonly orphan: boolean;
}

/** How long after a message a reply without references may follow, in seconds. */
export const replyWindowSeconds = 30 * 24 * 3600;

/** Computes what decides about the conversation of a message: its ids, its base subject, and whether it is an orphan. */
export function computeThreadKey(mail: ThreadedMail): ThreadKey {
  const base = baseSubject(mail.subject);
  const parents = [...mail.inReplyTo, ...mail.references];
  const ids = new Set([...(mail.messageId === null ? [] : [mail.messageId]), ...parents]);
  return {
    ids: [...ids].slice(0, mailLimits.threadIds),
    base,
    orphan: parents.length === 0 && base !== '' && !mail.bulk && isReply(mail.subject),
  };
}

/**
 * Whether an orphan answers a message as far as anybody can tell: the same subject, at most 30 days later, with somebody in both who
 * speaks for it (`collectSubjectParties`), and neither of them from a list. It asks about two messages alone, so the order of arrival
 * decides nothing.
 *
 * @param accountAddresses addresses of the account, in lower case: they are in every message of it.
 */
export function joinsBySubject(
  orphan: ThreadedMail,
  earlier: ThreadedMail,
  accountAddresses: ReadonlySet<string>,
): boolean {
  if (earlier.bulk || !isInWindow(orphan.at, earlier.at) || !computeThreadKey(orphan).orphan) return false;
  if (baseSubject(earlier.subject) !== baseSubject(orphan.subject)) return false;
  return shareParty(collectSubjectParties(orphan, accountAddresses), collectSubjectParties(earlier, accountAddresses));
}

/** Whether a message is at most 30 days older than another, and not younger; in milliseconds since the Unix epoch. */
export function isInWindow(later: number, earlier: number): boolean {
  return later - earlier >= 0 && later - earlier <= replyWindowSeconds * 1000;
}
