import { mailLimits } from '../../protocol/mail-limits.ts';

/** In bytes of UTF-8: the longest line of a message (RFC 5322, section 2.1.1; RFC 6532, section 3.4). An index takes no 3,000. */
const maxBytes = 998;

/** The Message-IDs in a header's value, without brackets, in their order, each once. Old programs wrote prose around them. */
export function parseMessageIds(value: string): string[] {
  const found = [...value.matchAll(/<([^<>]*)>/g)].map((match) => tidy(match[1]!)).filter((id) => id !== '');
  if (found.length > 0) return [...new Set(found)];
  const bare = value.split(/[\s,]+/).map((word) => tidy(word.replace(/[<>]/g, '')));
  const whole = bare.filter((word) => word !== '');
  return whole.every((word) => word.includes('@')) ? [...new Set(whole)] : [];
}

/** Of more than 100 the first and the last 99: the first is the thread's beginning, the last are its nearest parents. */
export function limitReferences(ids: readonly string[]): string[] {
  const maximum = mailLimits.references;
  return ids.length <= maximum ? [...ids] : [...ids.slice(0, 1), ...ids.slice(-(maximum - 1))];
}

/** Folding has left spaces in ids of some programs. */
const tidy = (id: string): string => {
  const whole = id.replace(/\s+/g, '').slice(0, maxBytes);
  const { read } = encoder.encodeInto(whole, buffer);
  return whole.slice(0, read);
};
const encoder = new TextEncoder();
const buffer = new Uint8Array(maxBytes);
