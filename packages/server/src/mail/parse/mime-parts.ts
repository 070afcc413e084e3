import { mailLimits } from '../../protocol/mail-limits.ts';
import { type Header, rawValues, readHeaders } from './header-block.ts';
import { parseParameters } from './header-parameters.ts';
import { decodeTransfer } from './transfer-encoding.ts';

/** A message that exceeds a limit or cannot be parsed. The text of the error is shown to readers. */
export class MimeParseError extends Error {}

/** A part of a message with its sub-parts. */
export interface MimePart {
  readonly headers: readonly Header[];
  /** The type in lower case; the default for a missing or malformed one. */
  readonly type: string;
  readonly charset: string | null;
  readonly flowed: boolean;
  readonly deleteSpace: boolean;
  /** In lower case; null if the header is missing. */
  readonly disposition: string | null;
  readonly filename: string | null;
  readonly encoding: string;
  /** Still encoded. */
  readonly body: Buffer;
  /** The parts of a multipart, or the message in a message/rfc822 that is shown. */
  readonly children: readonly MimePart[];
}

/** Counters over all parts of one message. */
interface PartCount {
  parts: number;
}

interface PartPosition {
  readonly depth: number;
  /** The default Content-Type. */
  readonly defaultType: string;
  readonly count: PartCount;
  /**
   * Whether the part is in a decoded message. Its own messages are not decoded, so that memory does not grow with the
   * depth.
   */
  readonly decoded: boolean;
}

/** Splits a raw message into its parts. @throws MimeParseError if it exceeds a limit. */
export function parseMime(raw: Uint8Array): MimePart {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length);
  return parsePart(bytes, { depth: 0, defaultType: 'text/plain', count: { parts: 0 }, decoded: false });
}

function parsePart(bytes: Buffer, position: PartPosition): MimePart {
  const { depth, count } = position;
  if (depth > mailLimits.depth)
    throw new MimeParseError(`Its parts are nested more than ${mailLimits.depth} levels deep.`);
  const block = readHeaders(bytes);
  if (!block.complete)
    throw new MimeParseError(`The headers of a part are longer than ${mailLimits.headerBytes / 1024} KB.`);
  // A message always begins with headers; a part without headers may begin with its text.
  const isHeadless = depth > 0 && !beginsWithHeader(bytes);
  const part = createPart(isHeadless ? [] : block.headers, bytes.subarray(isHeadless ? 0 : block.size), position);
  const inner = { depth: depth + 1, count, decoded: position.decoded };
  if (part.type.startsWith('multipart/')) {
    const defaultType = part.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
    const pieces = splitParts(part.body, readBoundary(part.headers), count);
    return { ...part, children: pieces.map((piece) => parsePart(piece, { ...inner, defaultType })) };
  }
  if (!isInlineMessage(part, position)) return part;
  const encoded = isEncoded(part);
  const message = encoded ? asBuffer(decodeTransfer(part.body, part.encoding)) : part.body;
  countParts(count, 1);
  const childPosition = { ...inner, defaultType: 'text/plain', decoded: position.decoded || encoded };
  return { ...part, children: [parsePart(message, childPosition)] };
}

const isEncoded = ({ encoding }: MimePart): boolean => encoding === 'base64' || encoding === 'quoted-printable';

/** Whether an embedded message is shown in the text of its message. */
function isInlineMessage(part: MimePart, { defaultType, decoded }: PartPosition): boolean {
  const { type, disposition } = part;
  if (type !== 'message/rfc822' || (decoded && isEncoded(part))) return false;
  return disposition === 'inline' || (disposition === null && defaultType === 'message/rfc822');
}

function createPart(headers: readonly Header[], body: Buffer, { defaultType, depth }: PartPosition): MimePart {
  const first = (name: string): string | undefined => rawValues(headers, name)[0];
  const written = first('content-type');
  const content = parseParameters(written ?? '');
  const dispositionHeader = parseParameters(first('content-disposition') ?? '');
  const disposition = dispositionHeader.value || null;
  const filename = dispositionHeader.parameters.get('filename') || content.parameters.get('name') || null;
  const flowed = content.parameters.get('format')?.toLowerCase() === 'flowed';
  const isFile = filename !== null || (disposition !== null && disposition !== 'inline');
  return {
    headers,
    type:
      written === undefined
        ? typeWithoutHeader(defaultType, disposition, depth)
        : (readType(content.value) ?? guessType(isFile, body)),
    charset: content.parameters.get('charset') ?? null,
    flowed,
    deleteSpace: flowed && content.parameters.get('delsp')?.toLowerCase() === 'yes',
    disposition,
    filename,
    encoding: (first('content-transfer-encoding') ?? '').replace(/\(.*/, '').trim().replace(/;$/, '').toLowerCase(),
    body,
    children: [],
  };
}

const typePattern = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

/** The default type (RFC 2045, section 5.2), or the type for the name of a file. */
function typeWithoutHeader(defaultType: string, disposition: string | null, depth: number): string {
  const isFile = depth > 0 && disposition !== null && disposition !== 'inline';
  return isFile ? 'application/octet-stream' : defaultType;
}

/** Parses a declared type; null if it is malformed. Old programs wrote only `text`. */
function readType(written: string): string | null {
  if (typePattern.test(written)) return written;
  return written === 'text' ? 'text/plain' : null;
}

/**
 * The type for a malformed Content-Type: unknown for files, otherwise text if the bytes are text (RFC 2045, section
 * 5.2).
 */
function guessType(isFile: boolean, body: Buffer): string {
  return isFile || body.subarray(0, 4096).includes(0) ? 'application/octet-stream' : 'text/plain';
}

function readBoundary(headers: readonly Header[]): Buffer | null {
  const written = parseParameters(rawValues(headers, 'content-type')[0] ?? '')
    .parameters.get('boundary')
    ?.trimEnd();
  return written ? Buffer.from(written) : null;
}

/**
 * Splits a multipart body into its parts, without the line ends that belong to the delimiters. Spaces and tabs after a
 * delimiter are padding (RFC 2046, section 5.1.1). If no line is a delimiter, lines that begin with one are used, as the same
 * section allows.
 */
function splitParts(body: Buffer, boundary: Buffer | null, count: PartCount): Buffer[] {
  if (boundary === null) return [];
  const exact = splitAtDelimiters(body, boundary, true);
  const parts = exact.length > 0 ? exact : splitAtDelimiters(body, boundary, false);
  countParts(count, parts.length);
  return parts;
}

function splitAtDelimiters(body: Buffer, boundary: Buffer, exact: boolean): Buffer[] {
  const parts: Buffer[] = [];
  let start = -1;
  for (let line = nextDashes(body, 0); line !== -1; line = nextDashes(body, line + 1)) {
    const delimiter = matchDelimiter(body, line, boundary, exact);
    if (delimiter === null) continue;
    if (start !== -1) parts.push(body.subarray(start, Math.max(trimLineEnd(body, line), start)));
    start = delimiter.isClosing ? -1 : delimiter.end;
    if (delimiter.isClosing || parts.length > mailLimits.parts) break;
  }
  if (start !== -1 && start < body.length) parts.push(body.subarray(start));
  return parts;
}

function countParts(count: PartCount, more: number): void {
  count.parts += more;
  if (count.parts > mailLimits.parts) throw new MimeParseError(`It has more than ${mailLimits.parts} parts.`);
}

const dashes = Buffer.from('--');
const lineDashes = Buffer.from('\n--');

/** The index of the next line that begins with two dashes. */
function nextDashes(body: Buffer, from: number): number {
  if (from === 0 && body.subarray(0, 2).equals(dashes)) return 0;
  const found = body.indexOf(lineDashes, Math.max(from - 1, 0));
  return found === -1 ? -1 : found + 1;
}

function matchDelimiter(
  body: Buffer,
  line: number,
  boundary: Buffer,
  exact: boolean,
): { readonly isClosing: boolean; readonly end: number } | null {
  const after = line + 2 + boundary.length;
  if (!body.subarray(line + 2, after).equals(boundary)) return null;
  const lineFeed = body.indexOf(0x0a, after);
  const end = lineFeed === -1 ? body.length : lineFeed + 1;
  const isClosing = body[after] === 0x2d && body[after + 1] === 0x2d;
  return !exact || isPadding(body, isClosing ? after + 2 : after, end) ? { isClosing, end } : null;
}

function isPadding(body: Buffer, from: number, end: number): boolean {
  for (let index = from; index < end; index += 1) if (![0x20, 0x09, 0x0d, 0x0a].includes(body[index]!)) return false;
  return true;
}

function trimLineEnd(body: Buffer, end: number): number {
  if (body[end - 1] !== 0x0a) return end;
  return body[end - 2] === 0x0d ? end - 2 : end - 1;
}

/** Whether a line is empty (no headers) or has the form of a header. */
function beginsWithHeader(bytes: Buffer): boolean {
  return /^(?:\r?\n|[!-9;-~]{1,200}[ \t]*:)/.test(bytes.toString('latin1', 0, 300)) || bytes.length === 0;
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
