import { createHash } from 'node:crypto';
import { computeThreadKey, type ThreadedMail } from './thread-key.ts';

/** What the index of conversations stores of a message. */
export interface ThreadIndexKeys {
  /** One for each id that the message has or refers to, with the base of its subject: whoever shares one is of its conversation. */
  readonly keys: readonly string[];
  /** Of the base of its subject; null where that joins nobody: there is none, or the message went to a list. */
  readonly subjectKey: string | null;
  /** A reply that names no message that it answers. */
  readonly orphan: boolean;
  readonly threaded: ThreadedMail;
}

/** The key by which the index finds a party of a subject. */
export function computePartyKey(subjectKey: string, party: string): string {
  return digest(JSON.stringify([subjectKey, party]));
}

/** @param time when it was received, in milliseconds since the epoch; what is less than a second does not count. */
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

/** 144 bits tell apart more ids than there will ever be. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 24);
}
