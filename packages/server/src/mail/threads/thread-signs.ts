import { createHash } from 'node:crypto';
import type { ParsedMail } from '../parse/parsed-mail.ts';

/** What of a message decides which conversation it belongs to. */
export interface ThreadSigns {
  /** One for each id that the message has or refers to, under its subject: the same id under another subject is another key. */
  readonly keys: readonly string[];
  /** Null where the subject is no sign: there is none, or the message went to many. */
  readonly subjectKey: string | null;
  /** A reply that says of no message what it answers. */
  readonly looseReply: boolean;
  /** How the conversation is called if this is its first message. */
  readonly subject: string;
}

export function threadSigns(mail: ParsedMail): ThreadSigns {
  const { base, reply } = baseOf(mail.subject);
  const ids = new Set([...(mail.messageId ? [mail.messageId] : []), ...mail.inReplyTo, ...mail.references]);
  return {
    keys: [...ids].map((id) => digest(`${id}\n${base}`)),
    subjectKey: base === '' || mail.bulk ? null : digest(base),
    looseReply: reply && !mail.bulk && mail.inReplyTo.length === 0 && mail.references.length === 0,
    subject: mail.subject.replace(/^((re|fwd?|aw|wg|sv|vs|tr|rv)(\[\d+\])?:\s*)+/i, '').trim(),
  };
}

function baseOf(subject: string): { base: string; reply: boolean } {
  const text = subject.normalize('NFKC').trim().toLowerCase();
  const base = text.replace(/^((re|fwd?|aw|wg|sv|vs|tr|rv)(\[\d+\])?:\s*|\[[^\]]*\]\s*)+/i, '').trim();
  return { base, reply: /^(\[[^\]]*\]\s*)*(re|aw|sv|vs|rv)(\[\d+\])?:/.test(text) };
}

/** 144 bits tell apart more ids than there will ever be. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 24);
}
