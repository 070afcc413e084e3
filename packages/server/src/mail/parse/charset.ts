import { isUtf8 } from 'node:buffer';
import type { analyse } from 'chardet';
import type Iconv from 'iconv-lite';
import { loadLater } from '../../base/load-later.ts';

/**
 * Decodes text of a message. A declared charset is used if the bytes are valid in it. Otherwise the first of these is used:
 * UTF-8 if the bytes are valid, a likely charset in which they are valid, the detected charset, Windows-1252. So U+FFFD only
 * replaces single invalid bytes.
 *
 * @param likelyCharsets charsets that other parts of the message declare.
 */
export function decodeText(
  bytes: Uint8Array,
  declared: string | null,
  likelyCharsets: readonly (string | null)[] = [],
): string {
  const charset = normaliseCharset(declared);
  if (charset !== null && charset !== 'utf-8') {
    const text = decoderFor(charset)(bytes);
    if (isCredible(text)) return text;
  }
  const text = validUtf8(bytes);
  if (text !== null && !text.includes('\x1b$')) return text;
  const fallback = fallbackFor(bytes, likelyCharsets);
  return charset === 'utf-8' ? decodeLines(bytes, decoderFor(fallback)) : decoderFor(fallback)(bytes);
}

/** The name of a supported charset; null for unknown names and for ASCII. */
export function normaliseCharset(written: string | null | undefined): string | null {
  const label = (written ?? '')
    .trim()
    .replace(/^["']+|["']+$/g, '')
    .replace(/\*[a-z-]*$/i, '')
    .toLowerCase()
    .slice(0, 60);
  if (label === '' || ascii.has(label)) return null;
  if (label === 'utf8' || label === 'utf-8') return 'utf-8';
  if (ownDecoders.has(label)) return label;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    // iconv-lite ignores all characters but letters and digits. Without them, the number of cached labels is bounded.
    const known = label.replace(/[^0-9a-z]/g, '');
    return iconvLite().encodingExists(known) ? known : null;
  }
}

/** The first `charset=` in a message, for headers that declare no charset. */
export function findNamedCharset(raw: Uint8Array): string | null {
  const text = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, sampleLength)).toString('latin1');
  for (const match of text.matchAll(/charset\s{0,9}=\s{0,9}["']?([\w.:-]{2,40})/gi)) {
    const charset = normaliseCharset(match[1]);
    if (charset !== null && charset !== 'utf-8') return charset;
  }
  return null;
}

const sampleLength = 64 * 1024;
const ascii = new Set(['us-ascii', 'ascii', 'usascii', 'ansi_x3.4-1968', 'iso646-us', '7bit', '8bit', 'unknown-8bit']);
/** Its tables are large. */
const iconvLite = loadLater<typeof Iconv>('iconv-lite');
const loadDetector = loadLater<{ readonly analyse: typeof analyse }>('chardet');

type Decode = (bytes: Uint8Array) => string;
const decoders = new Map<string, Decode>();

/** 7-bit charsets that mail programs write in forms that neither the runtime nor iconv-lite decodes. */
const ownDecoders: ReadonlyMap<string, Decode> = new Map([
  ['hz-gb-2312', decodeHz],
  ['hz', decodeHz],
  ['iso-2022-kr', decodeIso2022Kr],
  ['iso-2022-jp', decodeIso2022Jp],
]);

function decoderFor(charset: string): Decode {
  let decode = decoders.get(charset);
  if (!decode) {
    decode =
      ownDecoders.get(charset) ?? textDecoder(charset) ?? ((bytes) => iconvLite().decode(asBuffer(bytes), charset));
    decoders.set(charset, decode);
  }
  return decode;
}

function textDecoder(charset: string): Decode | null {
  try {
    const decoder = new TextDecoder(charset);
    return (bytes) => decoder.decode(bytes);
  } catch {
    return null;
  }
}

const utf8 = new TextDecoder('utf-8');

/** The text if the bytes are valid UTF-8, otherwise null. An incomplete character at the end is omitted. */
function validUtf8(bytes: Uint8Array): string | null {
  const whole = isUtf8(bytes) ? bytes : bytes.subarray(0, wholeCharacters(bytes));
  return whole === bytes || isUtf8(whole) ? utf8.decode(whole) : null;
}

/** The length without an incomplete character at the end. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back < bytes.length; back += 1) {
    const byte = bytes[bytes.length - back]!;
    if (byte >= 0xc0) return bytes.length - back;
    if (byte < 0x80) break;
  }
  return bytes.length;
}

/** True unless many characters were replaced. */
function isCredible(text: string): boolean {
  const first = text.indexOf('\ufffd');
  if (first === -1) return true;
  let replaced = 0;
  let foreign = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0xfffd) replaced += 1;
    else if (code >= 0x80) foreign += 1;
  }
  return replaced * 10 <= foreign;
}

function fallbackFor(bytes: Uint8Array, likelyCharsets: readonly (string | null)[]): string {
  const sample = bytes.subarray(0, sampleLength);
  for (const likely of likelyCharsets) {
    const charset = normaliseCharset(likely);
    if (charset !== null && !charset.startsWith('utf-') && isCredible(decoderFor(charset)(sample))) return charset;
  }
  return detectCharset(sample) ?? 'windows-1252';
}

/** Minimum confidence of the detector. */
const minConfidence = 30;
const minForeignBytes = 8;

function detectCharset(sample: Uint8Array): string | null {
  let foreign = 0;
  for (const byte of sample) if (byte >= 0x80 || byte === 0x1b) foreign += 1;
  if (foreign === 0) return null;
  const [best] = loadDetector().analyse(sample);
  const charset = best && best.confidence >= minConfidence ? normaliseCharset(best.name) : null;
  if (charset === null || charset.startsWith('utf-')) return null;
  return foreign >= minForeignBytes || charset === 'iso-2022-jp' ? charset : null;
}

/** Decodes text that is declared as UTF-8 but contains other lines, such as a footer in another charset. */
function decodeLines(bytes: Uint8Array, decodeOther: Decode): string {
  const texts: string[] = [];
  let start = 0;
  let valid = true;
  const flush = (end: number): void => {
    const lines = bytes.subarray(start, end);
    texts.push(valid ? utf8.decode(lines) : decodeOther(lines));
    start = end;
  };
  for (let line = 0; line < bytes.length; ) {
    const lineFeed = bytes.indexOf(0x0a, line);
    const end = lineFeed === -1 ? bytes.length : lineFeed + 1;
    const lineValid = isUtf8(bytes.subarray(line, end));
    if (lineValid !== valid) flush(line);
    valid = lineValid;
    line = end;
  }
  flush(bytes.length);
  return texts.join('');
}

/** RFC 1843: pairs of 7-bit bytes between `~{` and `~}`. */
function decodeHz(bytes: Uint8Array): string {
  const result: number[] = [];
  let wide = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index]!;
    const next = bytes[index + 1];
    if (byte === 0x7e && (next === 0x7b || next === 0x7d)) {
      wide = next === 0x7b;
      index += 1;
    } else if (byte === 0x7e && next === 0x7e && !wide) {
      result.push(byte);
      index += 1;
    } else {
      if (byte === 0x0a) wide = false;
      result.push(wide ? byte | 0x80 : byte);
    }
  }
  return decoderFor('gbk')(Uint8Array.from(result));
}

/** RFC 1557: KS C 5601 between shift-out and shift-in. */
function decodeIso2022Kr(bytes: Uint8Array): string {
  const text = asBuffer(bytes).toString('latin1').replaceAll('\x1b$)C', '');
  const result: number[] = [];
  let wide = false;
  for (let index = 0; index < text.length; index += 1) {
    const byte = text.charCodeAt(index);
    if (byte === 0x0e || byte === 0x0f) wide = byte === 0x0e;
    else result.push(wide && byte > 0x20 ? byte | 0x80 : byte);
  }
  return decoderFor('euc-kr')(Uint8Array.from(result));
}

const escapeCode = '\u001b';
const redundantEscape = new RegExp(String.raw`${escapeCode}(?:\([BIJ]|\$[@B])(?=${escapeCode}[($])`, 'g');

/** Removes escape sequences directly before another one. They have no effect, but the runtime treats them as errors. */
function decodeIso2022Jp(bytes: Uint8Array): string {
  const text = asBuffer(bytes).toString('latin1').replace(redundantEscape, '');
  return iso2022Jp.decode(Buffer.from(text, 'latin1'));
}
const iso2022Jp = new TextDecoder('iso-2022-jp');

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
