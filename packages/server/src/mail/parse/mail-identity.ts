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
export function mailIdentity(raw: Uint8Array): string {
  const whole = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const bytes = whole.subarray(0, endOf(whole));
  const bodyAt = endOfHead(bytes);
  const hash = createHash('sha256');
  const head = withLineFeeds(bytes.subarray(0, bodyAt)).toString('latin1').split('\n');
  hash.update(head.filter((line) => !/^(?:X-)?Status:[ RODAFT]*$/i.test(line)).join('\n'), 'latin1');
  for (let at = bodyAt, end: number; at < bytes.length; at = end) {
    end = Math.min(at + pieceBytes, bytes.length);
    if (bytes[end - 1] === carriageReturn) end = Math.min(end + 1, bytes.length); // its line feed stays with it
    const piece = bytes.subarray(at, end);
    hash.update(withLineFeeds(piece));
  }
  return `sha256:${hash.digest('hex')}`;
}

/** Byte by byte: text that is replaced takes ten times as long. */
function withLineFeeds(bytes: Buffer): Buffer {
  if (!bytes.includes(carriageReturn)) return bytes;
  const result = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === carriageReturn && bytes[at + 1] === lineFeed) continue;
    result[length] = byte;
    length += 1;
  }
  return result.subarray(0, length);
}

/** Where the empty lines at the end begin. */
function endOf(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === lineFeed) end -= bytes[end - 2] === carriageReturn ? 2 : 1;
  return end;
}

/** Where the line before the empty one ends, or the last one that may be a header's. */
function endOfHead(bytes: Uint8Array): number {
  let end = -1;
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) {
    if (at > mailLimits.headerBytes) return end < 0 ? at : end;
    end = bytes[at - 1] === carriageReturn ? at - 1 : at;
    if (bytes[at + 1] === lineFeed || (bytes[at + 1] === carriageReturn && bytes[at + 2] === lineFeed)) return end;
  }
  return bytes.length;
}
