/** The text of a file, decoded while it is read. */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { OpenBlob } from '../../base/blob-store.ts';
import { requireImportEncoding } from '../../protocol/import-encodings.ts';
import { detectCharset, ForeignLines } from './detect-charset.ts';
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
  const encoding = label === undefined ? await detectEncoding(bytes) : requireImportEncoding(label);
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
  if (encoding.startsWith('utf-')) return () => createUnicodeDecoder(encoding);
  const { default: iconv } = await import('iconv-lite');
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
  if (await isUtf8(bytes)) return 'utf-8';
  return detectCharset(await collectForeignLines(bytes));
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

async function isUtf8(bytes: OpenBlob): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of readPieces(bytes)) decoder.decode(piece, { stream: true });
    decoder.decode();
    return true;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return false;
  }
}

/** The first lines of the whole file that contain bytes other than ASCII. */
async function collectForeignLines(bytes: OpenBlob): Promise<Uint8Array> {
  const sample = new ForeignLines();
  for await (const piece of readPieces(bytes)) {
    sample.add(piece);
    if (sample.isFull) break;
  }
  return sample.take();
}
