import { mailLimits } from '../../protocol/mail-limits.ts';
import { escapeText } from '../html/escape-text.ts';
import { htmlToText } from '../html/html-to-text.ts';
import { HtmlBudget, type SafeHtml, sanitiseHtml } from '../html/sanitise-html.ts';
import { cleanText, truncateText } from './clean-text.ts';
import { buildEmbeddedHeading } from './embedded-heading.ts';
import { readEnvelope } from './envelope.ts';
import { readHeaders } from './header-block.ts';
import { type EmbeddedEdge, readBody, type TextPart } from './mail-body.ts';
import { readMailReport } from './mail-report.ts';
import { findWarnings } from './mail-warnings.ts';
import { MimeParseError } from './mime-parts.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { createSnippet } from './snippet.ts';
import { computeRawIdentity, tokenizeMailBody, toUnparsableMail } from './unparsable-mail.ts';

/**
 * Parses a raw message into everything that is stored of it. It runs in a thread of `ParsePool`, because hostile messages take
 * time and memory.
 *
 * It never rejects because of the contents: a message that exceeds a limit or cannot be read is `unparsable`.
 */
export async function parseMail(raw: Uint8Array): Promise<ParsedMail> {
  const block = readHeaders(raw);
  if (!block.complete) return toUnparsableMail(raw, `Its headers are longer than ${mailLimits.headerBytes / 1024} KB.`);
  try {
    const { texts, attachments, raw: isRaw } = readBody(raw);
    const parts = renderParts(texts);
    const html = joinHtml(parts);
    const text = cleanText(joinText(parts)).trimEnd();
    const envelope = readEnvelope(block.headers);
    const deliveryReport = readMailReport(raw, block.headers);
    const truncated = truncateText(text, mailLimits.textLength);
    const isCut = parts.some(({ part, isTruncated }) => isTruncated || (isText(part) && part.isTruncated));
    return {
      ...envelope,
      ...computeRawIdentity(raw),
      snippet: createSnippet(truncated),
      text: truncated,
      bodyWords: tokenizeMailBody(truncated),
      html,
      attachments,
      warnings: findWarnings(
        envelope,
        parts.some((part) => part.mismatchedLink),
      ),
      bodyState: isCut || truncated.length < text.length ? 'truncated' : isRaw ? 'raw' : 'complete',
      ...(deliveryReport && { deliveryReport }),
    };
  } catch (error) {
    return toUnparsableMail(
      raw,
      error instanceof MimeParseError ? error.message : 'It does not have the format of an e-mail message.',
    );
  }
}

/** A part of the message with its HTML. */
interface RenderedPart extends SafeHtml {
  readonly part: TextPart | EmbeddedEdge;
  /** The plain text, and the heading of an embedded message. */
  readonly text: string;
}

const isText = (part: TextPart | EmbeddedEdge): part is TextPart => part.type === 'plain' || part.type === 'html';
const isEdge = (part: TextPart | EmbeddedEdge): part is EmbeddedEdge => !isText(part);

/** All parts of a message share the limit for HTML. A message without HTML gets none from its plain parts. */
function renderParts(texts: readonly (TextPart | EmbeddedEdge)[]): RenderedPart[] {
  const hasHtml = texts.some((part) => part.type === 'html');
  const budget = new HtmlBudget();
  return texts.map((part, index) => {
    const text = isText(part) ? part.text : renderEdge(part, texts.slice(index + 1).some(isText));
    if (!hasHtml) return { part, text, html: '', isTruncated: false, mismatchedLink: false };
    if (part.type === 'html') return { part, text: '', ...sanitiseHtml(part.text, budget) };
    const rendered = renderPlainAsHtml(text, budget);
    return { part, text, ...rendered, html: isEdge(part) && text !== '' ? `<hr />${rendered.html}` : rendered.html };
  });
}

/** @param hasFollowingText whether more text follows. Otherwise the end of an embedded message is not marked. */
function renderEdge(edge: EmbeddedEdge, hasFollowingText: boolean): string {
  if (edge.type === 'begin') return buildEmbeddedHeading(edge.headers);
  return hasFollowingText ? '-'.repeat(40) : '';
}

function renderPlainAsHtml(text: string, budget: HtmlBudget): SafeHtml {
  const truncated = truncateText(text, budget.length);
  budget.length -= truncated.length;
  const html = truncated === '' ? '' : `<div style="white-space:pre-wrap">${escapeText(cleanText(truncated))}</div>`;
  return { html, isTruncated: truncated.length < text.length, mismatchedLink: false };
}

/** The shown parts of a message with HTML: also plain parts, except those that are alternatives of the HTML. */
function joinHtml(parts: readonly RenderedPart[]): string | null {
  if (!parts.some(({ part }) => part.type === 'html')) return null;
  return parts
    .filter(({ part }) => part.type !== 'plain' || !part.alternative)
    .map(({ html }) => html)
    .join('\n');
}

/** The plain parts, and HTML parts without a plain alternative; all HTML parts if there are no plain ones. */
function joinText(parts: readonly RenderedPart[]): string {
  const somePlain = parts.some(({ part }) => part.type === 'plain' && part.text.trim() !== '');
  return parts
    .filter(({ part, text }) => (isEdge(part) ? text !== '' : part.type === 'plain' || !somePlain || !part.alternative))
    .map(({ part, text, html }) => (part.type === 'html' ? htmlToText(html) : text))
    .join('\n');
}
