import { createHash } from 'node:crypto';
import { mailLimits } from '../../protocol/mail-limits.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const pieceBytes = 1024 * 1024;

/**
 * The identity of a message of which no server says another: a hash of its bytes, whatever kept them. Line ends, empty lines at the
 * end, and the headers in which mbox files note flags (`Status`, `X-Status`, among the first 256 KB) are not the message's own.
 *
 * 50 MB take a tenth of a second or two, in any shape: a thread of `ParsePool` reads it.
 */
export function computeMailIdentity(raw: Uint8Array): string {
  const whole = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const bytes = whole.subarray(0, findContentEnd(whole));
  const bodyAt = findHeadersEnd(bytes);
  const hash = createHash('sha256');
  const head = withLineFeeds(bytes.subarray(0, bodyAt)).toString('latin1').split('\n');
  hash.update(head.filter((line) => !/^(?:X-)?Status:[ RODAFT]*$/i.test(line)).join('\n'), 'latin1');
  for (let offset = bodyAt, end: number; offset < bytes.length; offset = end) {
    end = Math.min(offset + pieceBytes, bytes.length);
    if (bytes[end - 1] === carriageReturn) end = Math.min(end + 1, bytes.length); // its line feed stays with it
    const piece = bytes.subarray(offset, end);
    hash.update(withLineFeeds(piece));
  }
  return `sha256:${hash.digest('hex')}`;
}

/** Byte by byte: text that is replaced takes ten times as long. */
function withLineFeeds(bytes: Buffer): Buffer {
  if (!bytes.includes(carriageReturn)) return bytes;
  const result = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index]!;
    if (byte === carriageReturn && bytes[index + 1] === lineFeed) continue;
    result[length] = byte;
    length += 1;
  }
  return result.subarray(0, length);
}

/** Where the empty lines at the end begin. */
function findContentEnd(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === lineFeed) end -= bytes[end - 2] === carriageReturn ? 2 : 1;
  return end;
}

/** Where the line before the empty one ends, or the last one that may be a header's. */
function findHeadersEnd(bytes: Uint8Array): number {
  let end = -1;
  for (let index = bytes.indexOf(lineFeed); index !== -1; index = bytes.indexOf(lineFeed, index + 1)) {
    if (index > mailLimits.headerBytes) return end < 0 ? index : end;
    end = bytes[index - 1] === carriageReturn ? index - 1 : index;
    if (bytes[index + 1] === lineFeed || (bytes[index + 1] === carriageReturn && bytes[index + 2] === lineFeed))
      return end;
  }
  return bytes.length;
}
