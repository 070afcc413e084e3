import type { FileMessage, MailFlag } from './mail-file.ts';
import { readMessageFile } from './maildir-reader.ts';

/** Bits of the flags that Apple Mail stores after a message. */
const bits: readonly (readonly [bit: number, flag: MailFlag])[] = [
  [0, 'seen'],
  [1, 'deleted'],
  [2, 'answered'],
  [4, 'flagged'],
  [6, 'draft'],
];
/** The number of bytes in the first line, with padding. */
const maxFirstLine = 32;

/**
 * Reads a message of Apple Mail: a line with its length, its bytes, and a property list with flags and the time of
 * arrival.
 */
export async function readEmlx(path: string): Promise<FileMessage> {
  const file = await readMessageFile(path);
  if (file.tooLong !== undefined) return file;
  const bytes = Buffer.from(file.raw.buffer, file.raw.byteOffset, file.raw.length);
  const lineEnd = bytes.subarray(0, maxFirstLine).indexOf(0x0a);
  const length = /^\s*(\d{1,10})\s*$/.exec(bytes.toString('latin1', 0, Math.max(lineEnd, 0)))?.[1];
  if (length === undefined) return file;
  const end = Math.min(lineEnd + 1 + Number(length), bytes.length);
  const list = bytes.toString('utf8', end, end + 64 * 1024);
  const flags = readNumber(list, 'flags') ?? 0;
  const received = readNumber(list, 'date-received');
  return {
    ...file,
    raw: new Uint8Array(bytes.subarray(lineEnd + 1, end)),
    // The number has more than 32 bits.
    flags: bits.filter(([bit]) => Math.floor(flags / 2 ** bit) % 2 === 1).map(([, flag]) => flag),
    ...(received ? { receivedAt: new Date(received * 1000).toISOString() } : {}),
  };
}

function readNumber(list: string, key: string): number | null {
  const written = new RegExp(String.raw`<key>${key}</key>\s{0,99}<(?:integer|real)>(\d{1,15})`).exec(list)?.[1];
  return written === undefined ? null : Number(written);
}
