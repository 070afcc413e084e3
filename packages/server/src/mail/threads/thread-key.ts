import { mailLimits } from '../../protocol/mail-limits.ts';
import type { ParsedMail } from '../parse/parsed-mail.ts';
import { baseSubject, isReply } from './base-subject.ts';
import { collectSubjectParties, shareParty } from './subject-parties.ts';

/** The properties of a message that determine its conversation. */
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
  /**
   * The message's own id, and those in In-Reply-To and References, each once. They include ids of messages that the
   * account does not have.
   */
  readonly ids: readonly string[];
  readonly base: string;
  /** A reply without references. It can be joined by its subject to messages of the same people (`joinsBySubject`). */
  readonly orphan: boolean;
}

/** How long after a message a reply without references may follow, in seconds. */
export const replyWindowSeconds = 30 * 24 * 3600;

/**
 * Computes the properties that determine the conversation of a message: ids, base subject, and whether it is an orphan
 * (a reply without references).
 */
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
 * Whether an orphan is a reply to a message: same subject, at most 30 days later, with a sufficient common party
 * (`collectSubjectParties`), and neither of them from a mailing list. The rule only compares two messages, so the order
 * of arrival does not matter.
 *
 * @param accountAddresses addresses of the account in lower case, which are in all of its messages.
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

/** Whether a message is between 0 and 30 days older than another one; times in milliseconds since the Unix epoch. */
export function isInWindow(later: number, earlier: number): boolean {
  return later - earlier >= 0 && later - earlier <= replyWindowSeconds * 1000;
}
