/** A message as it stands in the fields of the composer, as the API takes it, and as the API tells it again. */
import type { Email, MailAddress } from '../mail-types.ts';
import { addressText, isAddress, parseAddress } from './addresses.ts';

export interface DraftContent {
  /** Each an address, or `Name <address>`. */
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly subject: string;
  readonly text: string;
}

export const emptyContent: DraftContent = { to: [], cc: [], bcc: [], subject: '', text: '' };

/**
 * What `emails:saveDraft` and its kin take. Messages are written as plain text. What is no address yet keeps nothing else from
 * being saved; nothing is sent while one stands there (`findInvalidAddress`).
 */
export function toRequestBody({ to, cc, bcc, subject, text }: DraftContent): object {
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
export function findInvalidAddress({ to, cc, bcc }: DraftContent): string | null {
  return [...to, ...cc, ...bcc].find((each) => !isAddress(each)) ?? null;
}

export function toDraftContent({ to, cc, bcc, subject, text }: Email): DraftContent {
  const formatAddresses = (list: readonly MailAddress[] | null | undefined): string[] => (list ?? []).map(addressText);
  return {
    to: formatAddresses(to),
    cc: formatAddresses(cc),
    bcc: formatAddresses(bcc),
    subject: subject ?? '',
    text: text ?? '',
  };
}

/** Whether two say the same; line ends and spaces do not count, since a message passes through MIME in between. */
export function isSameContent(one: DraftContent, other: DraftContent): boolean {
  return computeFingerprint(one) === computeFingerprint(other);
}

function computeFingerprint({ to, cc, bcc, subject, text }: DraftContent): string {
  const people = [to, cc, bcc].map((list) => list.map((each) => each.toLowerCase()));
  return JSON.stringify([people, [subject, text].map((each) => each.replace(/\s+/g, ' ').trim())]);
}

/** The line that mail programs know a signature by (RFC 3676, 4.3). */
const signatureDelimiter = '\n\n-- \n';

/** A text that somebody begins to write, above the signature and what is quoted. */
export function appendSignature(signature: string | null, quoted = ''): string {
  const signed = signature?.trim() ? signatureDelimiter + signature.trim() : '';
  return signed + (quoted === '' ? '' : `\n\n${quoted}`);
}

/** The text under another account's signature; one that somebody changed stays. */
export function replaceSignature(text: string, before: string | null, after: string | null): string {
  const oldSignature = appendSignature(before);
  if (oldSignature === '') return after ? text.trimEnd() + appendSignature(after) : text;
  const index = text.lastIndexOf(oldSignature);
  return index < 0 ? text : text.slice(0, index) + appendSignature(after) + text.slice(index + oldSignature.length);
}
