import { createHash } from 'node:crypto';
import { computeThreadKey, type ThreadedMail } from './thread-key.ts';

/** The entries of a message in the index of conversations. */
export interface ThreadIndexKeys {
  /**
   * One key for each id that the message has or refers to, combined with its base subject. Messages that share a key
   * are in one conversation.
   */
  readonly keys: readonly string[];
  /**
   * The key of its base subject; null if messages are not joined by it: it is empty, or the message went to a mailing
   * list.
   */
  readonly subjectKey: string | null;
  /** A reply that names no other message. */
  readonly orphan: boolean;
  readonly threaded: ThreadedMail;
}

/** The key by which the index finds a party with a subject. */
export function computePartyKey(subjectKey: string, party: string): string {
  return digest(JSON.stringify([subjectKey, party]));
}

/** @param time when the message was received, in milliseconds since the epoch; fractions of a second are ignored. */
export function computeThreadIndexKeys(mail: Omit<ThreadedMail, 'at'>, time: number): ThreadIndexKeys {
  const threaded: ThreadedMail = { ...mail, at: Math.floor(time / 1000) * 1000 };
  const { ids, base, orphan } = computeThreadKey(threaded);
  return {
    keys: ids.map((id) => digest(JSON.stringify([id, base]))),
    subjectKey: base === '' || mail.bulk ? null : digest(base),
    orphan,
    threaded,
  };
}

/** 144 bits are enough to distinguish all ids. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 24);
}
