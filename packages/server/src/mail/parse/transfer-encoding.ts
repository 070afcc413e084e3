/** Decodes the body of a part. A body with an unknown encoding is not changed. */
export function decodeTransfer(body: Buffer, encoding: string): Uint8Array {
  if (encoding === 'base64') return decodeBase64(body);
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body);
  return new Uint8Array(body);
}

const equals = 0x3d;
const lineFeed = 0x0a;

/** The value of each base64 character; -1 for other bytes. */
const base64Values = ((): Int8Array => {
  const values = new Int8Array(256).fill(-1);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let value = 0; value < alphabet.length; value += 1) values[alphabet.charCodeAt(value)] = value;
  return values;
})();

/** Decodes base64 with line ends, invalid characters and several consecutive padded blocks. */
function decodeBase64(body: Buffer): Uint8Array {
  const result = new Uint8Array(Math.ceil((body.length * 3) / 4));
  let length = 0;
  let pending = 0;
  let bits = 0;
  for (const byte of body) {
    const value = base64Values[byte]!;
    if (value >= 0) {
      pending = ((pending << 6) | value) & 0xffff;
      bits += 6;
    } else if (byte === equals) bits = 0;
    if (bits < 8) continue;
    bits -= 8;
    result[length] = pending >> bits;
    length += 1;
  }
  return result.slice(0, length);
}

/** Decodes quoted-printable (RFC 2045, section 6.7). An equals sign without digits or a line end after it is kept. */
function decodeQuotedPrintable(body: Buffer): Uint8Array {
  const result = new Uint8Array(body.length);
  let length = 0;
  for (let start = 0; start < body.length; ) {
    const found = body.indexOf(lineFeed, start);
    const next = found === -1 ? body.length : found + 1;
    let end = next;
    while (end > start && isSpace(body[end - 1]!)) end -= 1;
    const soft = body[end - 1] === equals && end > start;
    const stop = soft ? end - 1 : end;
    for (let index = start; index < stop; index += 1) {
      const byte = body[index]!;
      const value =
        byte === equals && index + 2 < stop ? hexValue(body[index + 1]!) * 16 + hexValue(body[index + 2]!) : -1;
      result[length] = value >= 0 ? value : byte;
      length += 1;
      if (value >= 0) index += 2;
    }
    if (!soft && found !== -1) {
      if (body[found - 1] === 0x0d && found > start) {
        result[length] = 0x0d;
        length += 1;
      }
      result[length] = lineFeed;
      length += 1;
    }
    start = next;
  }
  return result.slice(0, length);
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === lineFeed;

/** -1,000 for an invalid digit, so that the value of two digits is negative. */
function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1000;
}
