/** The content of a message in the composer, and its conversion from and to the format of the API. */
import type { Email, MailAddress } from '../mail-types.ts';
import { addressText, isAddress, parseAddress } from './addresses.ts';

export interface DraftContent {
  /** Each entry is an address or `Name <address>`. */
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly subject: string;
  readonly text: string;
}

export const emptyContent: DraftContent = { to: [], cc: [], bcc: [], subject: '', text: '' };

/**
 * The request body of `emails:saveDraft` and the reply actions. Messages are plain text. Invalid addresses are left
 * out, so that the draft can be saved; a message with an invalid address cannot be sent (`findInvalidAddress`).
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

/** The first recipient that is not a valid address, or null. */
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

/** Whether two contents are equal. Line ends and trailing spaces are ignored, because MIME changes them. */
export function isSameContent(one: DraftContent, other: DraftContent): boolean {
  return computeFingerprint(one) === computeFingerprint(other);
}

function computeFingerprint({ to, cc, bcc, subject, text }: DraftContent): string {
  const people = [to, cc, bcc].map((list) => list.map((each) => each.toLowerCase()));
  return JSON.stringify([people, [subject, text].map((each) => each.replace(/\s+/g, ' ').trim())]);
}

/** The separator line before a signature (RFC 3676, section 4.3). */
const signatureDelimiter = '\n\n-- \n';

/** The end of a new message: the signature, and the quoted text below it. */
export function appendSignature(signature: string | null, quoted = ''): string {
  const signed = signature?.trim() ? signatureDelimiter + signature.trim() : '';
  return signed + (quoted === '' ? '' : `\n\n${quoted}`);
}

/** Replaces the signature of one account by that of another. An edited signature is kept. */
export function replaceSignature(text: string, before: string | null, after: string | null): string {
  const oldSignature = appendSignature(before);
  if (oldSignature === '') return after ? text.trimEnd() + appendSignature(after) : text;
  const index = text.lastIndexOf(oldSignature);
  return index < 0 ? text : text.slice(0, index) + appendSignature(after) + text.slice(index + oldSignature.length);
}
