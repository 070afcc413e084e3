import { createHash } from 'node:crypto';

const lineFeed = 0x0a;

/**
 * The identity of a message of which no server says another: a hash of its bytes, whatever kept them. Line ends, empty lines at the
 * end, and the headers in which mbox files note flags (`Status`, `X-Status`) are not the message's own.
 */
export function mailIdentity(raw: Uint8Array): string {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1').replaceAll('\r\n', '\n');
  const end = text.indexOf('\n\n');
  const head = end < 0 ? text : text.slice(0, end);
  const body = end < 0 ? '' : text.slice(end);
  const own = head.split('\n').filter((line) => !/^(?:X-)?Status:[ RODAFT]*$/i.test(line));
  const whole = Buffer.from(own.join('\n') + body, 'latin1');
  let length = whole.length;
  while (length > 0 && whole[length - 1] === lineFeed) length -= 1;
  return `sha256:${createHash('sha256').update(whole.subarray(0, length)).digest('hex')}`;
}
