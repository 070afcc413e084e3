import { mailLimits } from '../../protocol/mail-limits.ts';
import { decodeText, findNamedCharset } from './charset.ts';
import { cleanLine } from './clean-text.ts';
import { decodeWords } from './encoded-words.ts';

/** The name as written, and the unfolded value: not decoded (`raw`) and decoded (`value`). */
export interface Header {
  readonly name: string;
  readonly raw: string;
  readonly value: string;
}

export interface HeaderBlock {
  readonly headers: readonly Header[];
  /** Length of the block in bytes. The body begins after it. */
  readonly size: number;
  /** False if the block exceeds the limit, so that its rest was not read. */
  readonly complete: boolean;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Reads the header block of a raw message. It only depends on line ends and colons, so it also works for messages that cannot
 * be parsed. Lines without a colon and a leading mbox line (`From …`) are ignored.
 *
 * Bytes beyond ASCII are decoded as UTF-8 (RFC 6532) if they are valid, otherwise with the charset of an encoded word in the
 * header or of a part of the message, the detected charset, or Windows-1252.
 */
export function readHeaders(raw: Uint8Array): HeaderBlock {
  const end = findHeadersEnd(raw, mailLimits.headerBytes);
  const block = raw.subarray(0, Math.min(end ?? mailLimits.headerBytes, raw.length));
  const headers: Header[] = [];
  let named: string | null | undefined;
  const charset = (): string | null => {
    if (named === undefined) named = findNamedCharset(raw);
    return named;
  };
  for (const line of unfoldLines(block)) {
    const header = parseHeader(line, charset);
    if (header) headers.push(header);
  }
  return { headers, size: block.length, complete: end !== null };
}

/** The values of a header in their order, not decoded. */
export function rawValues(headers: readonly Pick<Header, 'name' | 'raw'>[], name: string): string[] {
  return headers.filter((header) => header.name.toLowerCase() === name).map((header) => header.raw);
}

/** The end of the empty line after the headers; the length if there is none; null if it is beyond the limit. */
function findHeadersEnd(raw: Uint8Array, limit: number): number | null {
  let start = 0;
  while (start <= limit) {
    const end = raw.indexOf(lineFeed, start);
    if (end === -1) return raw.length <= limit ? raw.length : null;
    const empty = end === start || (end === start + 1 && raw[start] === carriageReturn);
    if (empty) return end + 1 <= limit ? end + 1 : null;
    start = end + 1;
  }
  return null;
}

/** Header lines with their continuations, still as bytes. */
function* unfoldLines(block: Uint8Array): Generator<Uint8Array> {
  let start = 0;
  while (start < block.length) {
    let end = block.indexOf(lineFeed, start);
    while (end !== -1 && isFold(block[end + 1]) && !isEmptyLine(block, end + 1)) end = block.indexOf(lineFeed, end + 1);
    const stop = end === -1 ? block.length : end;
    yield block.subarray(start, stop);
    start = stop + 1;
  }
}

const isFold = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09;
const isEmptyLine = (block: Uint8Array, index: number): boolean => block[index] === lineFeed;

function parseHeader(line: Uint8Array, charset: () => string | null): Header | null {
  const text = decodeLine(line, charset).replace(/\r?\n[ \t]*|\r/g, (end) => (end === '\r' ? '' : ' '));
  const colon = text.indexOf(':');
  const name = text.slice(0, Math.max(colon, 0)).trim();
  if (!/^[\x21-\x39\x3b-\x7e]{1,200}$/.test(name)) return null;
  const raw = cleanLine(text.slice(colon + 1));
  return {
    name,
    raw,
    // Decoded on demand, so that reading flags does not decode all headers.
    get value() {
      return decodeWords(raw);
    },
  };
}

const beyondAscii = /[^\0-\x7f]/;

/** @param charset the charset that the message names, looked up when a header needs it. */
function decodeLine(line: Uint8Array, charset: () => string | null): string {
  const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString('latin1');
  if (!beyondAscii.test(text)) return text;
  return decodeText(line, null, [/=\?([^?*]{1,60})[^?]{0,20}\?[bq]\?/i.exec(text)?.[1] ?? null, charset()]);
}
