/**
 * Messages that a first synchronisation first stores with only their headers, and a proxy that holds their bodies back.
 */
import type { FaultyImap } from './faulty-imap.ts';
import { makeRawMail, type RawMail } from './raw-mail.ts';

/** A message above the limit: 80 KB of text, and a file of 30 KB. */
export function makeLargeMail(subject: string, more: RawMail = {}): string {
  const line = 'The quick brown fox jumps over the lazy dog again and again today.\r\n';
  return makeRawMail({
    subject,
    id: `${subject.replaceAll(' ', '-')}@large.test`,
    text: `The needle of ${subject}.\r\n${line.repeat(1200)}`,
    attachments: [{ name: 'plan.pdf', type: 'application/pdf', content: '%PDF-1.4 '.repeat(3400) }],
    ...more,
  });
}

/** Holds the bodies of some messages back until it is opened, and counts the fetches. */
export class BodyGate {
  /** The UIDs of these messages whose bodies were returned, once for each fetch. */
  readonly fetched: number[] = [];
  #isClosed = true;

  constructor(proxy: FaultyImap, uids: readonly number[]) {
    proxy.script = ({ name, args }) => {
      if (name !== 'UID FETCH' || !/BODY\.PEEK\[\]/.test(args)) return undefined;
      const kept = parseUids(args.split(' ')[0] ?? '').filter((uid) => uids.includes(uid));
      if (kept.length > 0 && this.#isClosed) return ['{tag} NO [UNAVAILABLE] The store is being repaired'];
      this.fetched.push(...kept);
      return undefined;
    };
  }

  open(): void {
    this.#isClosed = false;
  }
}

/** The UIDs of a set such as `1:3,7`. */
export function parseUids(set: string): number[] {
  return set.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split(':').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
