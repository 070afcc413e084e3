import { decodeText, normaliseCharset } from './charset.ts';
import { cleanLine } from './clean-text.ts';

/** `=?charset?Q?text?=`. A question mark in the text is accepted if the word does not end there. */
const encodedWord = /=\?([^?\s]{1,60})\?([bq])\?([^?]*|(?:[^?]|\?(?!=)){0,400})\?=/gi;

/** Bytes of one charset, or text that is already decoded. */
type Piece = { readonly charset: string; readonly bytes: Uint8Array } | string;

/**
 * Decodes the words of RFC 2047 in a header. Bytes beyond ASCII inside a word were decoded with the header and are not
 * decoded again.
 */
export function decodeWords(value: string): string {
  if (!value.includes('=?')) return value;
  const pieces: Piece[] = [];
  let end = 0;
  let afterWord = false;
  for (const match of value.matchAll(encodedWord)) {
    const between = value.slice(end, match.index);
    // White space between two encoded words is not part of the text.
    if (!afterWord || between.trim() !== '') pieces.push(between);
    pieces.push(...wordPieces(match[1]!, match[2]!.toLowerCase() === 'b', match[3]!));
    end = match.index + match[0].length;
    afterWord = true;
  }
  pieces.push(value.slice(end));
  return cleanLine(joinPieces(pieces));
}

function wordPieces(charset: string, base64: boolean, text: string): Piece[] {
  return text
    .split(/([^\0-\x7f]+)/)
    .map((part, index) =>
      index % 2 === 1 ? part : { charset, bytes: base64 ? Buffer.from(part, 'base64') : qBytes(part) },
    );
}

/** RFC 2047, section 4.2. */
function qBytes(text: string): Uint8Array {
  const plain = text
    .replaceAll('_', ' ')
    .replace(/=([\da-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(plain, 'latin1');
}

/** Joins consecutive words of one charset, because a character may be split between them. */
function joinPieces(pieces: readonly Piece[]): string {
  let text = '';
  let charset = '';
  let bytes: Uint8Array[] = [];
  const flush = (): void => {
    if (bytes.length > 0) text += decodeText(Buffer.concat(bytes), normaliseCharset(charset) ?? 'utf-8');
    bytes = [];
  };
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      flush();
      text += piece;
      continue;
    }
    if (piece.charset.toLowerCase() !== charset) flush();
    charset = piece.charset.toLowerCase();
    if (piece.bytes.length > 0) bytes.push(piece.bytes);
  }
  flush();
  return text;
}
