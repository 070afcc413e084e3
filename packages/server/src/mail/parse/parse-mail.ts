import { createHash } from 'node:crypto';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { escapeText, sanitiseHtml } from '../html/sanitise-html.ts';
import { textOfHtml } from '../html/text-of-html.ts';
import { cleanText, shortened } from './clean-text.ts';
import { readEnvelope } from './envelope.ts';
import { readHeaders } from './header-block.ts';
import { BodyFault, readBody, type TextPart } from './mail-body.ts';
import { findWarnings } from './mail-warnings.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { snippetOf } from './snippet.ts';

/**
 * All that is stored of a raw message. Runs in a thread of `ParsePool`: hostile messages take time and memory.
 *
 * Never rejects for what a message holds: one that passes a bound, or that cannot be read, is `unparsable`.
 */
export async function parseMail(raw: Uint8Array): Promise<ParsedMail> {
  const block = readHeaders(raw);
  if (!block.complete) return unparsable(raw, `Its headers are longer than ${mailLimits.headerBytes / 1024} KB.`);
  try {
    const { texts, attachments } = await readBody(raw);
    const html = htmlOf(texts);
    const text = textOf(texts, html?.html ?? null);
    const envelope = readEnvelope(block.headers);
    return {
      ...envelope,
      ...identityOf(raw),
      snippet: snippetOf(text.text),
      text: text.text,
      html: html?.html ?? null,
      attachments,
      warnings: findWarnings(envelope, html?.mismatchedLink ?? false),
      bodyState: text.cut || html?.cut ? 'truncated' : 'complete',
    };
  } catch (error) {
    return unparsable(raw, error instanceof BodyFault ? error.message : 'It is not what a message looks like.');
  }
}

/** What is kept of a message that nobody can read: envelope and identity. @param why a sentence for the reader. */
export function unparsable(raw: Uint8Array, why: string): ParsedMail {
  const envelope = readEnvelope(readHeaders(raw).headers);
  const text = `This message could not be read. ${why}`;
  return {
    ...envelope,
    ...identityOf(raw),
    snippet: snippetOf(text),
    text,
    html: null,
    attachments: [],
    warnings: findWarnings(envelope, false),
    bodyState: 'unparsable',
  };
}

function identityOf(raw: Uint8Array): Pick<ParsedMail, 'sha256' | 'size'> {
  return { sha256: createHash('sha256').update(raw).digest('hex'), size: raw.length };
}

interface MadeHtml {
  readonly html: string;
  readonly cut: boolean;
  readonly mismatchedLink: boolean;
}

/** All that is shown of a message with HTML: plain parts beside it (not instead of it) as paragraphs. */
function htmlOf(texts: readonly TextPart[]): MadeHtml | null {
  if (!texts.some((part) => part.type === 'html')) return null;
  const shown = texts.filter((part) => part.type === 'html' || !part.alternative);
  const pieces = shown.map((part) =>
    part.type === 'html'
      ? sanitiseHtml(part.text)
      : { html: plainAsHtml(part.text), cut: false, mismatchedLink: false },
  );
  const html = pieces.map((piece) => piece.html).join('\n');
  return {
    html: shortened(html, mailLimits.htmlLength * 2),
    cut: pieces.some((piece) => piece.cut),
    mismatchedLink: pieces.some((piece) => piece.mismatchedLink),
  };
}

const plainAsHtml = (text: string): string => `<div style="white-space:pre-wrap">${escapeText(cleanText(text))}</div>`;

function textOf(texts: readonly TextPart[], html: string | null): { readonly text: string; readonly cut: boolean } {
  const plain = texts.filter((part) => part.type === 'plain').map((part) => part.text);
  const beside = texts.filter((part) => part.type === 'html' && !part.alternative).map((part) => part.text);
  const pieces = plain.some((text) => text.trim() !== '') ? texts : null;
  const whole = pieces
    ? pieces
        .filter((part) => part.type === 'plain' || beside.includes(part.text))
        .map((part) => (part.type === 'plain' ? part.text : textOfHtml(part.text)))
        .join('\n')
    : textOfHtml(html ?? '');
  const clean = cleanText(whole).trimEnd();
  return { text: shortened(clean, mailLimits.textLength), cut: clean.length > mailLimits.textLength };
}
