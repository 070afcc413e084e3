/** The text of a file, decoded while it is read. */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { OpenBlob } from '../../base/blob-store.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { invalidFile } from './source-error.ts';

export interface SourceText {
  /** `utf-8`, or another label in lower case. */
  readonly encoding: string;
  /** The text without its byte order mark, in pieces of at most 64 Ki code units. Each call begins again. */
  pieces(): AsyncGenerator<string>;
}

/** Bytes that are decoded at once. Between two pieces, other requests are served. */
const pieceBytes = 64 * 1024;
const sampleBytes = 64 * 1024;
/** Minimum confidence of the detector of charsets, and the number of non-ASCII bytes that it needs. */
const minConfidence = 20;
const minForeignBytes = 8;
/** How much better than windows-1252 another charset must fit. */
const margin = 10;

/**
 * Reads pieces of bytes. An iteration over bytes in memory never leaves the event loop, so there is a pause after each piece.
 */
export async function* readPieces(bytes: OpenBlob, from = 0, to = bytes.size - 1): AsyncGenerator<Uint8Array> {
  if (to < from) return;
  for await (const chunk of bytes.read(from, to))
    for (let start = 0; start < chunk.length; start += pieceBytes) {
      yield chunk.subarray(start, start + pieceBytes);
      await yieldToOthers();
    }
}

/** The bytes from `from` to `to`, both inclusive, or to the end of the file. */
export async function readRange(bytes: OpenBlob, from: number, to: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of readPieces(bytes, from, Math.min(to, bytes.size - 1))) parts.push(part);
  return Buffer.concat(parts);
}

/**
 * @param label the encoding if the caller names it.
 * @throws ApiError 400 for an unknown label.
 */
export async function openText(bytes: OpenBlob, label?: string): Promise<SourceText> {
  const encoding = label === undefined ? await detectEncoding(bytes) : label.trim().toLowerCase();
  const createDecoder = await findDecoder(encoding);
  async function* pieces(): AsyncGenerator<string> {
    const decode = createDecoder();
    for await (const piece of readPieces(bytes)) yield decode(piece);
    yield decode(null);
  }
  return { encoding, pieces };
}

/** Decodes the next bytes; null ends the text. */
type Decode = (bytes: Uint8Array | null) => string;

async function findDecoder(encoding: string): Promise<() => Decode> {
  const unicode = /^(?:utf-?8|utf-?16(?:le|be)?)$/.exec(encoding)?.[0].replace(/^utf-?/, 'utf-');
  if (unicode !== undefined) return () => createUnicodeDecoder(unicode);
  const { default: iconv } = await import('iconv-lite');
  if (!iconv.encodingExists(encoding))
    throw new ApiError(
      'PARAMETER_INVALID',
      `"encoding" is unknown: ${encoding}. Give one such as utf-8 or windows-1252.`,
    );
  return () => {
    const decoder = iconv.getDecoder(encoding);
    return (bytes) => (bytes === null ? (decoder.end() ?? '') : decoder.write(Buffer.from(bytes)));
  };
}

function createUnicodeDecoder(encoding: string): Decode {
  const decoder = new TextDecoder(encoding, { fatal: true });
  return (bytes) => {
    try {
      return bytes === null ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw invalidFile(
        `The file is not valid ${encoding}. Save it as UTF-8, or name its encoding in "encoding", such as windows-1252.`,
      );
    }
  };
}

async function detectEncoding(bytes: OpenBlob): Promise<string> {
  const head = await readRange(bytes, 0, sampleBytes - 1);
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  const wide = detectUtf16(head);
  if (wide !== null) return wide;
  const invalid = await findInvalidUtf8(bytes);
  return invalid === null ? 'utf-8' : detectCharset(invalid);
}

/** Texts contain ASCII characters, such as delimiters and line breaks. In UTF-16, one of their two bytes is zero. */
export function detectUtf16(head: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  const zeros = [0, 0];
  for (let index = 0; index < head.length; index += 1) if (head[index] === 0) zeros[index % 2]! += 1;
  const [even = 0, odd = 0] = zeros;
  if (Math.max(even, odd) * 50 < head.length / 2) return null;
  if (odd > even * 5) return 'utf-16le';
  return even > odd * 5 ? 'utf-16be' : null;
}

/** Bytes around the first place that is not UTF-8; null for UTF-8. */
async function findInvalidUtf8(bytes: OpenBlob): Promise<Uint8Array | null> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let last: Uint8Array = new Uint8Array();
  try {
    for await (const piece of readPieces(bytes)) {
      last = piece;
      decoder.decode(piece, { stream: true });
    }
    decoder.decode();
    return null;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return last;
  }
}

async function detectCharset(sample: Uint8Array): Promise<string> {
  let foreign = 0;
  for (const byte of sample) if (byte >= 0x80) foreign += 1;
  const latin = 'windows-1252';
  if (foreign < minForeignBytes) return latin;
  const [{ default: chardet }, { default: iconv }] = await Promise.all([import('chardet'), import('iconv-lite')]);
  const matches = chardet.analyse(sample).filter(({ name }) => !/^utf/i.test(name));
  const [best] = matches;
  const latinMatch = matches.find(({ name }) => /^(?:iso-8859-1|windows-1252)$/i.test(name));
  if (!best || best.confidence < minConfidence || !iconv.encodingExists(best.name)) return latin;
  return latinMatch && latinMatch.confidence + margin > best.confidence ? latin : best.name.toLowerCase();
}
