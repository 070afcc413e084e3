/** A message as it stands in the fields of the composer, as the API takes it, and as the API tells it again. */
import type { Email, MailAddress } from '../mail.ts';
import { addressText, isAddress, parseAddress } from './addresses.ts';

export interface Written {
  /** Each an address, or `Name <address>`. */
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly subject: string;
  readonly text: string;
}

export const nothing: Written = { to: [], cc: [], bcc: [], subject: '', text: '' };

/**
 * What `emails:saveDraft` and its kin take. Messages are written as plain text. What is no address yet keeps nothing else from
 * being saved; nothing is sent while one stands there (`wrongAddress`).
 */
export function bodyOf({ to, cc, bcc, subject, text }: Written): object {
  return {
    to: to.filter(isAddress).map(parseAddress),
    cc: cc.filter(isAddress).map(parseAddress),
    bcc: bcc.filter(isAddress).map(parseAddress),
    subject,
    text,
    html: null,
  };
}

/** The first among those that it goes to which is no address, or null. */
export function wrongAddress({ to, cc, bcc }: Written): string | null {
  return [...to, ...cc, ...bcc].find((each) => !isAddress(each)) ?? null;
}

export function writtenOf({ to, cc, bcc, subject, text }: Email): Written {
  const named = (list: readonly MailAddress[] | null | undefined): string[] => (list ?? []).map(addressText);
  return { to: named(to), cc: named(cc), bcc: named(bcc), subject: subject ?? '', text: text ?? '' };
}

/** Whether two say the same; line ends and spaces do not count, since a message passes through MIME in between. */
export function saysTheSame(one: Written, other: Written): boolean {
  return signOf(one) === signOf(other);
}

function signOf({ to, cc, bcc, subject, text }: Written): string {
  const people = [to, cc, bcc].map((list) => list.map((each) => each.toLowerCase()));
  return JSON.stringify([people, [subject, text].map((each) => each.replace(/\s+/g, ' ').trim())]);
}

/** The line that mail programs know a signature by (RFC 3676, 4.3). */
const mark = '\n\n-- \n';

/** A text that somebody begins to write, above the signature and what is quoted. */
export function begunText(signature: string | null, quoted = ''): string {
  const signed = signature?.trim() ? mark + signature.trim() : '';
  return signed + (quoted === '' ? '' : `\n\n${quoted}`);
}

/** The text under another account's signature; one that somebody changed stays. */
export function resigned(text: string, before: string | null, after: string | null): string {
  const old = begunText(before);
  if (old === '') return after ? text.trimEnd() + begunText(after) : text;
  const at = text.lastIndexOf(old);
  return at < 0 ? text : text.slice(0, at) + begunText(after) + text.slice(at + old.length);
}
