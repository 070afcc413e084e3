/** Answers and what is passed on: to whom, under which subject, as part of which thread, with what was said before. */
import type { StoredDraft } from '../../database/mail/draft-rows.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { escapeText } from '../html/escape-text.ts';
import { cappedReferences } from '../parse/message-ids.ts';
import type { MailAddress } from '../parse/parsed-mail.ts';
import { baseSubject, isReply } from '../threads/base-subject.ts';
import type { Draft } from './draft.ts';

/** A message that is answered or passed on; its HTML has been made safe. */
export type Original = Pick<
  StoredDraft,
  'messageId' | 'references' | 'subject' | 'from' | 'to' | 'cc' | 'replyTo' | 'sentAt' | 'text' | 'html'
>;

export type AnswerKind = 'reply' | 'replyAll' | 'forward';

/** What one wrote, above what was said before. */
export interface Said {
  readonly text: string | null;
  readonly html: string | null;
  /** Whether what was said before follows. */
  readonly quotes: boolean;
}

/** The members of a draft that an answer has of itself. */
export type Answering = Pick<Draft, 'to' | 'cc' | 'subject' | 'text' | 'html' | 'inReplyTo' | 'references'>;

/** @param own the account's address. */
export function answerTo(original: Original, kind: AnswerKind, said: Said, own: string): Answering {
  const { messageId } = original;
  const thread = {
    inReplyTo: kind === 'forward' ? null : messageId,
    references: cappedReferences([...original.references, ...(messageId === null ? [] : [messageId])]),
  };
  const quoted = said.quotes ? withQuote(original, kind, said) : { text: said.text, html: said.html };
  const subject = subjectOf(original.subject, kind);
  return {
    ...(kind === 'forward' ? { to: [], cc: [] } : partiesOf(original, kind, own)),
    ...thread,
    ...quoted,
    subject,
  };
}

/** Whom an answer goes to: where the sender wants answers; of one's own message, those that it went to. */
function partiesOf(original: Original, kind: AnswerKind, own: string): Pick<Draft, 'to' | 'cc'> {
  const isOwn = ({ address }: MailAddress): boolean => address.toLowerCase() === own.toLowerCase();
  const wanted = original.replyTo.length > 0 ? original.replyTo : original.from;
  const mine = original.from.some(isOwn);
  const direct = mine ? original.to : wanted;
  const seen = new Set<string>();
  const once = (list: readonly MailAddress[], leave: (each: MailAddress) => boolean): MailAddress[] =>
    list.filter((each) => {
      const address = each.address.toLowerCase();
      if (address === '' || seen.has(address) || leave(each)) return false;
      seen.add(address);
      return true;
    });
  const to = once(direct, () => false);
  if (kind === 'reply') return { to, cc: [] };
  return { to, cc: once([...(mine ? [] : original.to), ...original.cc], isOwn) };
}

/** One prefix, however often a message went to and fro, in whatever language. */
function subjectOf(subject: string, kind: AnswerKind): string {
  const prefix = kind === 'forward' ? 'Fwd: ' : 'Re: ';
  const own = oneLine(subject);
  if (kind !== 'forward' && /^re:/i.test(own)) return cut(own);
  return cut(prefix + (isReply(own) ? withoutPrefix(own) : own));
}

/** The subject from where its base begins, in its own letters; where these differ from the base's, as it is. */
function withoutPrefix(subject: string): string {
  const base = baseSubject(subject);
  const lower = subject.toLowerCase();
  const at = base === '' || lower.length !== subject.length ? -1 : lower.lastIndexOf(base);
  return at < 0 ? subject : subject.slice(at, at + base.length);
}

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
const cut = (text: string): string => text.slice(0, mailLimits.subjectLength).toWellFormed();

function withQuote(original: Original, kind: AnswerKind, { text, html }: Said): Pick<Draft, 'text' | 'html'> {
  const heading = headingOf(original, kind);
  const lines = original.text.trimEnd().split('\n');
  const before = kind === 'forward' ? lines : lines.map((line) => (line.startsWith('>') ? `>${line}` : `> ${line}`));
  const own = text ?? '';
  const quotedText = `${own}${own === '' ? '' : '\n\n'}${heading.join('\n')}\n${kind === 'forward' ? '\n' : ''}${before.join('\n')}\n`;
  if (html === null && original.html === null) return { text: cutTo(quotedText, mailLimits.textLength), html: null };
  const shown = html ?? `<p>${escapeText(own).replaceAll('\n', '<br>')}</p>`;
  const said = original.html ?? `<p>${escapeText(original.text).replaceAll('\n', '<br>')}</p>`;
  const block = kind === 'forward' ? `<div>${said}</div>` : `<blockquote type="cite">${said}</blockquote>`;
  const whole = `${shown}<p>${heading.map(escapeText).join('<br>')}</p>${block}`;
  // What is too long to be quoted whole is quoted as text alone, which can be cut anywhere.
  const fits = whole.length <= mailLimits.htmlLength;
  return {
    text: text === null && html !== null && fits ? null : cutTo(quotedText, mailLimits.textLength),
    html: fits ? whole : html,
  };
}

function headingOf(original: Original, kind: AnswerKind): string[] {
  const sender = oneLine(original.from.map(shownAddress).join(', ')) || 'somebody';
  const at = original.sentAt === null ? '' : `${original.sentAt.slice(0, 16).replace('T', ' ')} UTC`;
  if (kind !== 'forward') return [at === '' ? `${sender} wrote:` : `On ${at}, ${sender} wrote:`];
  return [
    '---------- Forwarded message ----------',
    `From: ${sender}`,
    ...(at === '' ? [] : [`Date: ${at}`]),
    `Subject: ${oneLine(original.subject)}`,
    `To: ${oneLine(original.to.map(shownAddress).join(', '))}`,
  ];
}

const shownAddress = ({ name, address }: MailAddress): string => (name === '' ? address : `${name} <${address}>`);
const cutTo = (text: string, most: number): string => text.slice(0, most).toWellFormed();
