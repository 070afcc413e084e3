/** The content of a message in the composer, and its conversion from and to the format of the API. */
import type { Email, MailAddress } from '../mail-types.ts';
import { addressText, isAddress, parseAddress } from './addresses.ts';
import { normaliseHtml, replaceSignatureHtml, splitQuote, textToHtml, wrapSignature } from './draft-html.ts';
import type { Signature } from './senders.ts';

export interface DraftContent {
  /** The address that it is sent from, in lower case; null: that of the account. */
  readonly from: string | null;
  /** Each entry is an address or `Name <address>`. */
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly subject: string;
  /** The text of a plain-text message; of an HTML message, the text that the server has made of it. */
  readonly text: string;
  /** What the user writes; null for a plain-text message. */
  readonly html: string | null;
  /** HTML of the quoted message, which follows `html`; null for none. */
  readonly quote: string | null;
}

/** The format of a message. */
export type DraftFormat = 'text' | 'html';

export const emptyContent: DraftContent = {
  from: null,
  to: [],
  cc: [],
  bcc: [],
  subject: '',
  text: '',
  html: null,
  quote: null,
};

/**
 * The request body of `emails:saveDraft` and the reply actions. The server makes the text alternative of HTML. Invalid
 * addresses are left out, so that the draft can be saved; a message with an invalid address cannot be sent
 * (`findInvalidAddress`).
 */
export function toRequestBody({ from, to, cc, bcc, subject, ...body }: DraftContent): object {
  return {
    ...(from !== null && { from }),
    to: to.filter(isAddress).map(parseAddress),
    cc: cc.filter(isAddress).map(parseAddress),
    bcc: bcc.filter(isAddress).map(parseAddress),
    subject,
    text: body.html === null ? body.text : null,
    html: joinHtml(body),
  };
}

/** The HTML of the whole message; null for a plain-text message. */
function joinHtml({ html, quote }: Pick<DraftContent, 'html' | 'quote'>): string | null {
  return html === null ? null : html + (quote ?? '');
}

/** The first recipient that is not a valid address, or null. */
export function findInvalidAddress({ to, cc, bcc }: DraftContent): string | null {
  return [...to, ...cc, ...bcc].find((each) => !isAddress(each)) ?? null;
}

/** The content of a stored draft. `from` is null unless it is one of the senders. */
export function toDraftContent(email: Email, senders: ReadonlySet<string> = new Set()): DraftContent {
  const formatAddresses = (list: readonly MailAddress[] | null | undefined): string[] => (list ?? []).map(addressText);
  const from = email.from?.[0]?.address.toLowerCase() ?? '';
  const { html } = email;
  return {
    from: senders.has(from) ? from : null,
    to: formatAddresses(email.to),
    cc: formatAddresses(email.cc),
    bcc: formatAddresses(email.bcc),
    subject: email.subject ?? '',
    text: email.text ?? '',
    ...(html === null || html === undefined ? { html: null, quote: null } : splitQuote(html)),
  };
}

/** Whether two contents are equal. Line ends and trailing spaces are ignored, because MIME changes them. */
export function isSameContent(one: DraftContent, other: DraftContent): boolean {
  return computeFingerprint(one) === computeFingerprint(other);
}

function computeFingerprint(content: DraftContent): string {
  const { to, cc, bcc, subject, text } = content;
  const html = joinHtml(content);
  const people = [to, cc, bcc].map((list) => list.map((each) => each.toLowerCase()));
  const body = html === null ? text : normaliseHtml(html);
  return JSON.stringify([people, html === null, [subject, body].map((each) => each.replace(/\s+/g, ' ').trim())]);
}

/** Both bodies, one below the other. A message with formatting keeps it. */
export function joinBodies(one: DraftContent, other: DraftContent): Pick<DraftContent, 'text' | 'html' | 'quote'> {
  const text = `${one.text.trimEnd()}\n\n${other.text.trim()}\n`;
  if (one.html === null && other.html === null) return { text, html: null, quote: null };
  const html = [one, other].map((each) => each.html ?? textToHtml(each.text)).join('<div><br></div>');
  return { text, html, quote: one.quote ?? other.quote };
}

/** The separator line before a signature (RFC 3676, section 4.3). */
const signatureDelimiter = '\n\n-- \n';

/** The end of a new message: the signature, and the quoted text below it. */
export function appendSignature(signature: string | null, quoted = ''): string {
  const signed = signature?.trim() ? signatureDelimiter + signature.trim() : '';
  return signed + (quoted === '' ? '' : `\n\n${quoted}`);
}

/** What a message contains before something is written: the signature, and the quoted text below it. */
export function beginBody(
  content: DraftContent,
  format: DraftFormat,
  signature: Signature | null,
): Pick<DraftContent, 'text' | 'html'> {
  const isReply = content.text !== '' || content.quote !== null;
  const text = (isReply ? '\n' : '') + appendSignature(signature?.text ?? null, content.text);
  if (format === 'text') return { text, html: null };
  const signed = signature === null ? '' : `<div><br></div>${wrapSignature(signature.html)}`;
  return { text, html: `<div><br></div>${signed}` };
}

/** Replaces the signature of one sender by that of another. An edited signature of a plain-text message is kept. */
export function replaceSignature(
  { text, html }: DraftContent,
  before: Signature | null,
  after: Signature | null,
): Pick<DraftContent, 'text' | 'html'> {
  if (html !== null) return { text, html: replaceSignatureHtml(html, after?.html ?? '') };
  return { text: replaceSignatureText(text, before?.text ?? null, after?.text ?? null), html };
}

function replaceSignatureText(text: string, before: string | null, after: string | null): string {
  const oldSignature = appendSignature(before);
  if (oldSignature === '') return after ? text.trimEnd() + appendSignature(after) : text;
  const index = text.lastIndexOf(oldSignature);
  return index < 0 ? text : text.slice(0, index) + appendSignature(after) + text.slice(index + oldSignature.length);
}
