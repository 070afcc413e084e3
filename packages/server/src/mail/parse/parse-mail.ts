import { mailLimits } from '../../protocol/mail-limits.ts';
import { escapeText } from '../html/escape-text.ts';
import { HtmlRoom, type SafeHtml, sanitiseHtml } from '../html/sanitise-html.ts';
import { textOfHtml } from '../html/text-of-html.ts';
import { cleanText, shortened } from './clean-text.ts';
import { embeddedHeading } from './embedded-heading.ts';
import { readEnvelope } from './envelope.ts';
import { readHeaders } from './header-block.ts';
import { type EmbeddedEdge, readBody, type TextPart } from './mail-body.ts';
import { findWarnings } from './mail-warnings.ts';
import { BodyFault } from './mime-parts.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { snippetOf } from './snippet.ts';
import { bodyWords, identityOf, unparsable } from './unparsable-mail.ts';

/**
 * All that is stored of a raw message. Runs in a thread of `ParsePool`: hostile messages take time and memory.
 *
 * Never rejects for what a message holds: one that passes a bound, or that cannot be read, is `unparsable`.
 */
export async function parseMail(raw: Uint8Array): Promise<ParsedMail> {
  const block = readHeaders(raw);
  if (!block.complete) return unparsable(raw, `Its headers are longer than ${mailLimits.headerBytes / 1024} KB.`);
  try {
    const { texts, attachments, raw: shownRaw } = readBody(raw);
    const parts = madeParts(texts);
    const html = htmlOf(parts);
    const text = cleanText(textOf(parts)).trimEnd();
    const envelope = readEnvelope(block.headers);
    const kept = shortened(text, mailLimits.textLength);
    const isCut = parts.some(({ part, cut }) => cut || (isText(part) && part.cut));
    return {
      ...envelope,
      ...identityOf(raw),
      snippet: snippetOf(kept),
      text: kept,
      bodyWords: bodyWords(kept),
      html,
      attachments,
      warnings: findWarnings(
        envelope,
        parts.some((part) => part.mismatchedLink),
      ),
      bodyState: isCut || kept.length < text.length ? 'truncated' : shownRaw ? 'raw' : 'complete',
    };
  } catch (error) {
    return unparsable(raw, error instanceof BodyFault ? error.message : 'It is not what a message looks like.');
  }
}

/** A part of the message with what it looks like as HTML. */
interface MadePart extends SafeHtml {
  readonly part: TextPart | EmbeddedEdge;
  /** A plain text, and the lines that set an embedded message off. */
  readonly text: string;
}

const isText = (part: TextPart | EmbeddedEdge): part is TextPart => part.type === 'plain' || part.type === 'html';
const isEdge = (part: TextPart | EmbeddedEdge): part is EmbeddedEdge => !isText(part);

/** All parts of a message share the room for HTML. Where it has none, its plain parts are not made into any. */
function madeParts(texts: readonly (TextPart | EmbeddedEdge)[]): MadePart[] {
  const hasHtml = texts.some((part) => part.type === 'html');
  const room = new HtmlRoom();
  return texts.map((part, index) => {
    const text = isText(part) ? part.text : edgeText(part, texts.slice(index + 1).some(isText));
    if (!hasHtml) return { part, text, html: '', cut: false, mismatchedLink: false };
    if (part.type === 'html') return { part, text: '', ...sanitiseHtml(part.text, room) };
    const made = plainAsHtml(text, room);
    return { part, text, ...made, html: isEdge(part) && text !== '' ? `<hr />${made.html}` : made.html };
  });
}

/** @param followed whether more text comes: else the end of an embedded message needs no line. */
function edgeText(edge: EmbeddedEdge, followed: boolean): string {
  if (edge.type === 'begin') return embeddedHeading(edge.headers);
  return followed ? '-'.repeat(40) : '';
}

function plainAsHtml(text: string, room: HtmlRoom): SafeHtml {
  const kept = shortened(text, room.length);
  room.length -= kept.length;
  const html = kept === '' ? '' : `<div style="white-space:pre-wrap">${escapeText(cleanText(kept))}</div>`;
  return { html, cut: kept.length < text.length, mismatchedLink: false };
}

/** All that is shown of a message with HTML: plain parts beside it as well, those that say the same instead of it not. */
function htmlOf(parts: readonly MadePart[]): string | null {
  if (!parts.some(({ part }) => part.type === 'html')) return null;
  return parts
    .filter(({ part }) => part.type !== 'plain' || !part.alternative)
    .map(({ html }) => html)
    .join('\n');
}

/** The plain parts, and HTML that stands beside them; all HTML where there is nothing plain. */
function textOf(parts: readonly MadePart[]): string {
  const somePlain = parts.some(({ part }) => part.type === 'plain' && part.text.trim() !== '');
  return parts
    .filter(({ part, text }) => (isEdge(part) ? text !== '' : part.type === 'plain' || !somePlain || !part.alternative))
    .map(({ part, text, html }) => (part.type === 'html' ? textOfHtml(html) : text))
    .join('\n');
}
