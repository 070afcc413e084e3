import type { MailAddress } from '../parse/parsed-mail.ts';

export interface RawPart {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** The Content-ID of an image that the HTML references as `cid:…`. */
  readonly contentId?: string;
}

export interface RawContent {
  readonly from: MailAddress;
  readonly to: readonly MailAddress[];
  readonly cc?: readonly MailAddress[];
  readonly subject: string;
  readonly date: Date;
  readonly messageId: string;
  readonly references?: readonly string[];
  /** Further headers in their order. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly html?: string;
  readonly parts?: readonly RawPart[];
}

const crlf = '\r\n';

/**
 * Builds a message according to RFC 5322 and MIME: only ASCII, CRLF, no line longer than 998 characters. The same content
 * results in the same bytes.
 */
export function buildRawMessage(content: RawContent): Uint8Array {
  const headers: (readonly [string, string])[] = [
    ...(content.headers ?? []),
    ['From', formatAddress(content.from)],
    ['To', content.to.map(formatAddress).join(`,${crlf} `)],
    ...(content.cc?.length ? [['Cc', content.cc.map(formatAddress).join(`,${crlf} `)] as const] : []),
    ['Subject', encodeWords(content.subject)],
    ['Date', content.date.toUTCString().replace('GMT', '+0000')],
    ['Message-ID', `<${content.messageId}>`],
    ...threadHeaders(content.references ?? []),
    ['MIME-Version', '1.0'],
  ];
  const head = headers.map(([name, value]) => `${name}: ${value}`).join(crlf);
  return Buffer.from(`${head}${crlf}${buildBody(content)}`);
}

function threadHeaders(references: readonly string[]): (readonly [string, string])[] {
  const parent = references.at(-1);
  if (parent === undefined) return [];
  return [
    ['In-Reply-To', `<${parent}>`],
    ['References', references.map((id) => `<${id}>`).join(`${crlf} `)],
  ];
}

/** The Content-Type and the rest of a part, from the outermost part inwards. */
function buildBody(content: RawContent): string {
  const boundary = `=_${content.messageId.replace(/[^a-z0-9]/gi, '').slice(0, 40)}`;
  const inline = (content.parts ?? []).filter((part) => part.contentId);
  const attached = (content.parts ?? []).filter((part) => !part.contentId);
  let whole = textPart('text/plain', content.text);
  if (content.html !== undefined) {
    const related = multipart('related', `${boundary}r`, [
      textPart('text/html', content.html),
      ...inline.map(filePart),
    ]);
    const html = inline.length > 0 ? related : textPart('text/html', content.html);
    whole = multipart('alternative', `${boundary}a`, [whole, html]);
  }
  return attached.length > 0 ? multipart('mixed', `${boundary}m`, [whole, ...attached.map(filePart)]) : whole;
}

function multipart(kind: string, boundary: string, parts: readonly string[]): string {
  const inner = parts.map((part) => `--${boundary}${crlf}${part}${crlf}`).join('');
  return `Content-Type: multipart/${kind}; boundary="${boundary}"${crlf}${crlf}${inner}--${boundary}--${crlf}`;
}

function textPart(type: string, text: string): string {
  const head = `Content-Type: ${type}; charset=utf-8${crlf}Content-Transfer-Encoding: `;
  return `${head}quoted-printable${crlf}${crlf}${encodeQuotedPrintable(text)}`;
}

function filePart({ filename, contentType, bytes, contentId }: RawPart): string {
  const kind = contentId ? 'inline' : 'attachment';
  const name = /^[\x20-\x7e]*$/.test(filename)
    ? `filename="${filename.replace(/["\\]/g, '_')}"`
    : `filename*=utf-8''${encodeURIComponent(filename)}`;
  return [
    `Content-Type: ${contentType}`,
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: ${kind};${crlf} ${name}`,
    ...(contentId ? [`Content-ID: <${contentId}>`] : []),
    '',
    Buffer.from(bytes).toString('base64').replace(/.{76}/g, `$&${crlf}`),
  ].join(crlf);
}

function formatAddress({ name, address }: MailAddress): string {
  if (name === '') return address;
  return `${/^[\w ]+$/.test(name) ? name : isAscii(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : encodeWords(name)} <${address}>`;
}

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

/** Encodes text according to RFC 2047. An encoded word has at most 75 characters and contains only whole characters. */
function encodeWords(text: string): string {
  if (isAscii(text)) return text;
  const pieces: string[] = [];
  let piece = '';
  for (const character of text) {
    if (Buffer.byteLength(piece + character) > 42) {
      pieces.push(piece);
      piece = '';
    }
    piece += character;
  }
  return [...pieces, piece].map((each) => `=?utf-8?B?${Buffer.from(each).toString('base64')}?=`).join(`${crlf} `);
}

/** Quoted-printable, RFC 2045, section 6.7. */
function encodeQuotedPrintable(text: string): string {
  return text.split('\n').map(encodeQuotedPrintableLine).join(crlf);
}

function encodeQuotedPrintableLine(line: string): string {
  let encoded = '';
  let length = 0;
  for (const byte of Buffer.from(line)) {
    const isPrintable = byte === 0x20 || (byte >= 0x21 && byte <= 0x7e && byte !== 0x3d);
    const piece = isPrintable ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    if (length + piece.length > 72) {
      encoded += `=${crlf}`;
      length = 0;
    }
    encoded += piece;
    length += piece.length;
  }
  return encoded.replace(/ $/, '=20');
}
