/** Drafts of replies and forwarded messages: recipients, subject, thread, and quoted text. */
import type { StoredDraft } from '../../database/mail/draft-rows.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { escapeText } from '../html/escape-text.ts';
import { limitReferences } from '../parse/message-ids.ts';
import type { MailAddress } from '../parse/parsed-mail.ts';
import { baseSubject, isReply } from '../threads/base-subject.ts';
import type { Draft } from './draft.ts';

/** A message that is answered or forwarded. Its HTML is sanitised. */
export type Original = Pick<
  StoredDraft,
  'messageId' | 'references' | 'subject' | 'from' | 'to' | 'cc' | 'replyTo' | 'sentAt' | 'text' | 'html'
>;

export type ReplyKind = 'reply' | 'replyAll' | 'forward';

/** The class by which mail programs recognise a quoted message, and fold it. */
const quoteClass = 'gmail_quote';

/** What the user wrote above the quoted message. */
export interface ReplyBody {
  readonly text: string | null;
  readonly html: string | null;
  /** Whether the original message is quoted. */
  readonly quotes: boolean;
}

/** The members of a draft that a reply determines. */
export type ReplyDraft = Pick<Draft, 'to' | 'cc' | 'subject' | 'text' | 'html' | 'inReplyTo' | 'references'>;

/** The draft of a reply or a forwarded message. @param ownAddresses those of the account, in lower case. */
export function buildReply(
  original: Original,
  kind: ReplyKind,
  body: ReplyBody,
  ownAddresses: ReadonlySet<string>,
): ReplyDraft {
  const { messageId } = original;
  const thread = {
    inReplyTo: kind === 'forward' ? null : messageId,
    references: limitReferences([...original.references, ...(messageId === null ? [] : [messageId])]),
  };
  const quoted = body.quotes ? appendQuote(original, kind, body) : { text: body.text, html: body.html };
  const subject = prefixSubject(original.subject, kind);
  return {
    ...(kind === 'forward' ? { to: [], cc: [] } : selectRecipients(original, kind, ownAddresses)),
    ...thread,
    ...quoted,
    subject,
  };
}

/** The recipients of a reply: the Reply-To or sender; for the account's own message, its recipients. */
function selectRecipients(
  original: Original,
  kind: ReplyKind,
  ownAddresses: ReadonlySet<string>,
): Pick<Draft, 'to' | 'cc'> {
  const isOwn = ({ address }: MailAddress): boolean => ownAddresses.has(address.toLowerCase());
  const wanted = original.replyTo.length > 0 ? original.replyTo : original.from;
  const isFromSelf = original.from.some(isOwn);
  const direct = isFromSelf ? original.to : wanted;
  const seen = new Set<string>();
  const dedupe = (list: readonly MailAddress[], isExcluded: (each: MailAddress) => boolean): MailAddress[] =>
    list.filter((each) => {
      const address = each.address.toLowerCase();
      if (address === '' || seen.has(address) || isExcluded(each)) return false;
      seen.add(address);
      return true;
    });
  const to = dedupe(direct, () => false);
  if (kind === 'reply') return { to, cc: [] };
  return { to, cc: dedupe([...(isFromSelf ? [] : original.to), ...original.cc], isOwn) };
}

/** One prefix, however many prefixes in any language the subject already has. */
function prefixSubject(subject: string, kind: ReplyKind): string {
  const prefix = kind === 'forward' ? 'Fwd: ' : 'Re: ';
  const text = oneLine(subject);
  if (kind !== 'forward' && /^re:/i.test(text)) return truncateSubject(text);
  return truncateSubject(prefix + (isReply(text) ? withoutPrefix(text) : text));
}

/** The subject without its prefixes, in its original spelling; unchanged if the position of the prefixes is unknown. */
function withoutPrefix(subject: string): string {
  const base = baseSubject(subject);
  const lower = subject.toLowerCase();
  const index = base === '' || lower.length !== subject.length ? -1 : lower.lastIndexOf(base);
  return index < 0 ? subject : subject.slice(index, index + base.length);
}

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
const truncateSubject = (text: string): string => text.slice(0, mailLimits.subjectLength).toWellFormed();

function appendQuote(original: Original, kind: ReplyKind, { text, html }: ReplyBody): Pick<Draft, 'text' | 'html'> {
  const heading = buildQuoteHeading(original, kind);
  const lines = original.text.trimEnd().split('\n');
  const quotedLines =
    kind === 'forward' ? lines : lines.map((line) => (line.startsWith('>') ? `>${line}` : `> ${line}`));
  const ownText = text ?? '';
  const quotedText = `${ownText}${ownText === '' ? '' : '\n\n'}${heading.join('\n')}\n${kind === 'forward' ? '\n' : ''}${quotedLines.join('\n')}\n`;
  if (html === null && original.html === null) return { text: truncate(quotedText, mailLimits.textLength), html: null };
  const ownHtml = html ?? `<p>${escapeText(ownText).replaceAll('\n', '<br>')}</p>`;
  const originalHtml = original.html ?? `<p>${escapeText(original.text).replaceAll('\n', '<br>')}</p>`;
  const block =
    kind === 'forward' ? `<div>${originalHtml}</div>` : `<blockquote type="cite">${originalHtml}</blockquote>`;
  const whole = `${ownHtml}<div class="${quoteClass}"><p>${heading.map(escapeText).join('<br>')}</p>${block}</div>`;
  // A message that is too long to be quoted completely is quoted as plain text, which can be cut anywhere.
  const fits = whole.length <= mailLimits.htmlLength;
  return {
    text: text === null && html !== null && fits ? null : truncate(quotedText, mailLimits.textLength),
    html: fits ? whole : html,
  };
}

function buildQuoteHeading(original: Original, kind: ReplyKind): string[] {
  const sender = oneLine(original.from.map(formatAddress).join(', ')) || 'somebody';
  const time = original.sentAt === null ? '' : `${original.sentAt.slice(0, 16).replace('T', ' ')} UTC`;
  if (kind !== 'forward') return [time === '' ? `${sender} wrote:` : `On ${time}, ${sender} wrote:`];
  return [
    '---------- Forwarded message ----------',
    `From: ${sender}`,
    ...(time === '' ? [] : [`Date: ${time}`]),
    `Subject: ${oneLine(original.subject)}`,
    `To: ${oneLine(original.to.map(formatAddress).join(', '))}`,
  ];
}

const formatAddress = ({ name, address }: MailAddress): string => (name === '' ? address : `${name} <${address}>`);
const truncate = (text: string, maxLength: number): string => text.slice(0, maxLength).toWellFormed();
