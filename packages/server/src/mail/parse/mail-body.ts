import { createHash } from 'node:crypto';
import { detectMimeType } from 'nodemailer/lib/mime-funcs';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanFilename } from './attachment-name.ts';
import { decodeText, normaliseCharset } from './charset.ts';
import { truncateText } from './clean-text.ts';
import { unflow } from './flowed-text.ts';
import { type Header, rawValues } from './header-block.ts';
import { type MimePart, parseMime } from './mime-parts.ts';
import type { ParsedAttachment } from './parsed-mail.ts';
import { sniffType } from './sniff-type.ts';
import { decodeTransfer } from './transfer-encoding.ts';

/** A part that is shown as text, in the order of the message. */
export interface TextPart {
  readonly type: 'plain' | 'html';
  /** Whether it is an alternative of the neighbouring part of the other kind. */
  readonly alternative: boolean;
  readonly text: string;
  /** Whether the part was longer than the limit. */
  readonly isTruncated: boolean;
}

/** The beginning of an embedded message, with its headers, or its end. */
export interface EmbeddedEdge {
  readonly type: 'begin' | 'end';
  readonly headers: readonly Header[];
}

export interface MailBody {
  readonly texts: readonly (TextPart | EmbeddedEdge)[];
  readonly attachments: readonly ParsedAttachment[];
  /** True if the parts of a multipart cannot be separated, so its body is shown as received. */
  readonly raw: boolean;
}

/** Reads the MIME parts of a message. @throws MimeParseError */
export function readBody(raw: Uint8Array): MailBody {
  const root = parseMime(raw);
  const reader = new BodyReader(root);
  reader.read(root, { parent: null, alternative: false, embedded: false });
  return reader;
}

/** The position of a part in the message. */
interface PartContext {
  readonly parent: MimePart | null;
  readonly alternative: boolean;
  /** Whether the part belongs to an embedded message that is an attachment. */
  readonly embedded: boolean;
}

/** Maximum bytes of a text of the maximum length, in any charset and encoding. */
const textBytes = 4 * mailLimits.textLength;
const readableTypes = ['text/plain', 'text/html', 'message/delivery-status'];

class BodyReader implements MailBody {
  readonly texts: (TextPart | EmbeddedEdge)[] = [];
  readonly attachments: ParsedAttachment[] = [];
  raw = false;
  readonly #charset: string | null;

  constructor(root: MimePart) {
    this.#charset = firstCharset(root);
  }

  read(part: MimePart, context: PartContext): void {
    if (part.type.startsWith('multipart/')) this.#readMultipart(part, context);
    else if (part.children.length > 0) this.#readMessage(part, context);
    else {
      const isText = isReadable(part);
      if (isText) this.#addText(part, context.alternative);
      if (!isText || isNamedFile(part, context.parent)) this.attachments.push(toParsedAttachment(part, context.parent));
    }
  }

  #readMultipart(part: MimePart, { alternative, embedded }: PartContext): void {
    const isChoice = part.type === 'multipart/alternative' && hasBothKinds(part);
    for (const child of part.children)
      this.read(child, { parent: part, alternative: alternative || isChoice, embedded });
    if (part.children.length > 0) return;
    const before = this.texts.length;
    this.#addText({ ...part, type: 'text/plain', encoding: '' }, alternative);
    if (this.texts.length > before) this.raw = true;
  }

  /** An embedded message. It is shown with its headers, and is an attachment unless it is a part of one. */
  #readMessage(part: MimePart, { parent, alternative, embedded }: PartContext): void {
    const [message] = part.children;
    if (!embedded) this.attachments.push({ ...toParsedAttachment(part, parent), disposition: 'inline' });
    this.texts.push({ type: 'begin', headers: message!.headers });
    this.read(message!, { parent: part, alternative, embedded: true });
    this.texts.push({ type: 'end', headers: [] });
  }

  #addText(part: MimePart, alternative: boolean): void {
    const isHtml = part.type === 'text/html';
    const limit = isHtml ? mailLimits.htmlLength : mailLimits.textLength;
    const { text, isTruncated } = decodePartText(part, this.#charset);
    if (text.trim() === '') return;
    const truncated = truncateText(text, limit);
    this.texts.push({
      type: isHtml ? 'html' : 'plain',
      alternative,
      text: truncated,
      isTruncated: isTruncated || truncated.length < text.length,
    });
  }
}

/** Whether a part is shown in the text. Other parts are only attachments. */
function isReadable({ type, disposition }: MimePart): boolean {
  return readableTypes.includes(type) && (disposition === null || disposition === 'inline');
}

/** Whether a shown part is also an attachment: it has a file name, and is not the body of the message itself. */
function isNamedFile({ filename, disposition, type }: MimePart, parent: MimePart | null): boolean {
  if (filename === null || type === 'message/delivery-status') return false;
  return disposition === 'inline' || (parent !== null && parent.type !== 'multipart/alternative');
}

function hasBothKinds(part: MimePart): boolean {
  const types = new Set<string>();
  const collect = (each: MimePart): void => {
    if (isReadable(each)) types.add(each.type);
    for (const child of each.children) if (each.type !== 'message/rfc822') collect(child);
  };
  collect(part);
  return types.has('text/plain') && types.has('text/html');
}

/** The first charset that a part declares. Parts and headers without a charset probably use it too. */
function firstCharset(part: MimePart): string | null {
  const own = normaliseCharset(part.charset);
  if (own !== null && own !== 'utf-8') return own;
  for (const child of part.children) {
    const inner = firstCharset(child);
    if (inner !== null) return inner;
  }
  return null;
}

function decodePartText(
  part: MimePart,
  charset: string | null,
): { readonly text: string; readonly isTruncated: boolean } {
  // An encoded byte takes at most three bytes.
  const written = part.body.subarray(0, 3 * textBytes);
  const decoded = decodeTransfer(written, part.encoding);
  const bytes = decoded.subarray(0, textBytes);
  const likelyCharsets = part.type === 'text/html' ? [metaCharset(bytes), charset] : [charset];
  const text = decodeText(bytes, part.charset, likelyCharsets).replace(/\r\n/g, '\n');
  return {
    text: part.flowed && part.type === 'text/plain' ? unflow(text, part.deleteSpace) : text,
    isTruncated: bytes.length < decoded.length || written.length < part.body.length,
  };
}

/** The charset that an HTML text declares. */
function metaCharset(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 8192)).toString('latin1');
  return /<meta\s[^>]{0,300}?charset\s{0,9}=\s{0,9}["']?([\w.:-]{2,40})/i.exec(head)?.[1] ?? null;
}

function toParsedAttachment(part: MimePart, parent: MimePart | null): ParsedAttachment {
  const bytes = decodeTransfer(part.body, part.encoding);
  const contentId = rawValues(part.headers, 'content-id')[0]
    ?.replace(/^\s*<|>\s*$/g, '')
    .trim();
  const related = parent?.type === 'multipart/related' && contentId;
  return {
    filename: cleanFilename(part.filename),
    contentType: resolveContentType(part),
    sniffedType: sniffType(bytes),
    size: bytes.length,
    disposition: part.disposition === 'inline' || related ? 'inline' : 'attachment',
    contentId: contentId ? contentId.slice(0, 998) : null,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes,
  };
}

/** The declared type; if that is generic, the type for the extension of the file name. */
export function resolveContentType({ type, filename }: Pick<MimePart, 'type' | 'filename'>): string {
  const extension =
    type === 'application/octet-stream' ? /\.([a-z\d]{1,10})\s*$/i.exec(filename ?? '')?.[1] : undefined;
  const known = extension ? detectMimeType(extension.toLowerCase()) : type;
  return known || type;
}
