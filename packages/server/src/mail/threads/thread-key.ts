import { mailLimits } from '../../protocol/mail-limits.ts';
import type { MailAddress, ParsedMail } from '../parse/parsed-mail.ts';
import { baseSubject, isReply } from './base-subject.ts';

/** What of a message decides on its conversation. */
export type ThreadedMail = Pick<
  ParsedMail,
  'messageId' | 'inReplyTo' | 'references' | 'subject' | 'from' | 'to' | 'cc' | 'bulk'
> & {
  /** When it was received, in milliseconds since the Unix epoch. */
  readonly at: number;
};

/** Two messages that share an id and the base of their subjects are of one conversation (RFC 8621, section 3). */
export interface ThreadKey {
  /** The message's own id, those it answers, and those before, each once; also of messages that were never seen. */
  readonly ids: readonly string[];
  readonly base: string;
  /** An answer that names no message it answers: it may be joined by its subject, to messages of the same people (`joinsBySubject`). */
  readonly orphan: boolean;
}

const window = 30 * 24 * 3_600_000;

export function threadKey(mail: ThreadedMail): ThreadKey {
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
 * Whether an orphan answers a message as far as anybody can tell: the same subject, at most 30 days later, with somebody in both who is not
 * the account itself, and neither of them from a list. It asks about two messages alone, so the order of arrival decides nothing.
 *
 * @param own addresses of the account, in lower case: they are in every message of it.
 */
export function joinsBySubject(orphan: ThreadedMail, earlier: ThreadedMail, own: ReadonlySet<string>): boolean {
  if (earlier.bulk || !isInWindow(orphan.at, earlier.at) || !threadKey(orphan).orphan) return false;
  if (baseSubject(earlier.subject) !== baseSubject(orphan.subject)) return false;
  return mayAnswer(
    { at: orphan.at, parties: parties(orphan, own) },
    { at: earlier.at, parties: parties(earlier, own) },
  );
}

/** When a message was received, and who takes part in it besides the account. */
export interface Seen {
  readonly at: number;
  readonly parties: ReadonlySet<string>;
}

/** Whether an orphan may answer a message of the same subject, neither of them from a list. */
export function mayAnswer(orphan: Seen, earlier: Seen): boolean {
  return isInWindow(orphan.at, earlier.at) && !orphan.parties.isDisjointFrom(earlier.parties);
}

/** Whether a message is at most 30 days older than another, and not younger. */
export function isInWindow(later: number, earlier: number): boolean {
  return later - earlier >= 0 && later - earlier <= window;
}

/** Who takes part, in lower case, without the account itself. */
export function parties({ from, to, cc }: ThreadedMail, own: ReadonlySet<string>): Set<string> {
  const all = [...from, ...to, ...cc].map(({ address }: MailAddress) => address.toLowerCase());
  return new Set(all.filter((address) => address !== '' && !own.has(address)));
}
