import { createHash } from 'node:crypto';
import { type ThreadedMail, threadKey } from './thread-key.ts';

/** What of a message the index of conversations keeps. */
export interface ThreadSigns {
  /** One for each id that the message has or refers to, with the base of its subject: whoever shares one is of its conversation. */
  readonly keys: readonly string[];
  /** Of the base of its subject; null where that joins nobody: there is none, or the message went to a list. */
  readonly subjectKey: string | null;
  /** An answer that names no message it answers. */
  readonly orphan: boolean;
  readonly threaded: ThreadedMail;
}

/** By what the index finds a party of a subject. */
export function partyKey(subjectKey: string, party: string): string {
  return digest(JSON.stringify([subjectKey, party]));
}

/** @param at when it was received, in milliseconds since the epoch; what is less than a second does not count. */
export function threadSigns(mail: Omit<ThreadedMail, 'at'>, at: number): ThreadSigns {
  const threaded: ThreadedMail = { ...mail, at: Math.floor(at / 1000) * 1000 };
  const { ids, base, orphan } = threadKey(threaded);
  return {
    keys: ids.map((id) => digest(JSON.stringify([id, base]))),
    subjectKey: base === '' || mail.bulk ? null : digest(base),
    orphan,
    threaded,
  };
}

/** 144 bits tell apart more ids than there will ever be. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 24);
}
