import { mailLimits } from '../../protocol/mail-limits.ts';

/**
 * Maximum bytes of an id in UTF-8: those of a line (RFC 5322, section 2.1.1; RFC 6532, section 3.4). Longer ids cannot
 * be indexed.
 */
const maxBytes = 998;

/** The distinct Message-IDs in a header, without brackets, in their order. Other text in the header is ignored. */
export function parseMessageIds(value: string): string[] {
  const found = [...value.matchAll(/<([^<>]*)>/g)].map((match) => tidy(match[1]!)).filter((id) => id !== '');
  if (found.length > 0) return [...new Set(found)];
  const bare = value.split(/[\s,]+/).map((word) => tidy(word.replace(/[<>]/g, '')));
  const whole = bare.filter((word) => word !== '');
  return whole.every((word) => word.includes('@')) ? [...new Set(whole)] : [];
}

/** The first and the last 99 of more than 100 ids: the first message of the thread, and the nearest ancestors. */
export function limitReferences(ids: readonly string[]): string[] {
  const maximum = mailLimits.references;
  return ids.length <= maximum ? [...ids] : [...ids.slice(0, 1), ...ids.slice(-(maximum - 1))];
}

/** Removes spaces, which folding leaves in ids of some programs. */
const tidy = (id: string): string => {
  const whole = id.replace(/\s+/g, '').slice(0, maxBytes);
  const { read } = encoder.encodeInto(whole, buffer);
  return whole.slice(0, read);
};
const encoder = new TextEncoder();
const buffer = new Uint8Array(maxBytes);
