import { htmlToText } from '../html/html-to-text.ts';
import { decodeText } from './charset.ts';
import { cleanText } from './clean-text.ts';
import { createSnippet } from './snippet.ts';
import { decodeTransfer } from './transfer-encoding.ts';

/** The first bytes of a part that is shown as text. */
export interface TextBeginning {
  readonly type: 'text/plain' | 'text/html';
  /** Content-Transfer-Encoding. */
  readonly encoding: string;
  /** As declared; null: not declared. */
  readonly charset: string | null;
  /** Encoded. */
  readonly bytes: Buffer;
}

/** The snippet of a message if only the first bytes of its text are known; empty if they contain no text. */
export function createPreview({ type, encoding, charset, bytes }: TextBeginning): string {
  const decoded = decodeTransfer(encoding === 'quoted-printable' ? cutEscape(bytes) : bytes, encoding);
  const text = decodeText(decoded, charset).replace(/\r\n/g, '\n');
  return createSnippet(cleanText(type === 'text/html' ? htmlToText(removeHidden(text)) : text));
}

/** Without an escape sequence of quoted-printable that is incomplete. */
function cutEscape(bytes: Buffer): Buffer {
  const found = bytes.lastIndexOf('=');
  return found >= 0 && found >= bytes.length - 2 ? bytes.subarray(0, found) : bytes;
}

/** Without comments and elements that are not shown, complete or not, and without an incomplete tag. */
function removeHidden(html: string): string {
  return html
    .replace(/<!--[\s\S]*?(?:-->|$)/g, '')
    .replace(/<(head|style|script|title)\b[\s\S]*?(?:<\/\1\s*>|$)/gi, '')
    .replace(/<[^>]*$/, '');
}
