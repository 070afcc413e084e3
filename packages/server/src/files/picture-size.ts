/** Width and height of a picture, in pixels. */
export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** Enough bytes to reach the size behind metadata and colour profiles. */
export const pictureHeadBytes = 256 * 1024;

/**
 * Reads the size that the header of a picture states, without decoding the picture. Null if it is not in the bytes.
 *
 * @param type detected.
 * @param head the first bytes, at most {@link pictureHeadBytes}.
 */
export function readPictureSize(type: string | null, head: Uint8Array): PictureSize | null {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length);
  const size = type === null ? null : (readers[type]?.(bytes) ?? null);
  return size && size.width > 0 && size.height > 0 ? size : null;
}

const readers: Readonly<Record<string, (bytes: Buffer) => PictureSize | null>> = {
  'image/png': (bytes) => (bytes.length < 24 ? null : { width: bytes.readInt32BE(16), height: bytes.readInt32BE(20) }),
  'image/gif': (bytes) => (bytes.length < 10 ? null : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }),
  'image/jpeg': readJpegSize,
  'image/webp': readWebpSize,
};

/** Segments are skipped until a start of frame. */
function readJpegSize(bytes: Buffer): PictureSize | null {
  let position = 2;
  while (position + 9 <= bytes.length) {
    if (bytes[position] !== 0xff) return null;
    const marker = bytes[position + 1]!;
    if (marker === 0xff) {
      position += 1; // fill bytes
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { height: bytes.readUInt16BE(position + 5), width: bytes.readUInt16BE(position + 7) };
    if (marker === 0xda || marker === 0xd9) return null;
    const length = bytes.readUInt16BE(position + 2);
    if (length < 2) return null;
    position += 2 + length;
  }
  return null;
}

function readWebpSize(bytes: Buffer): PictureSize | null {
  if (bytes.length < 30) return null;
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (kind === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  if (kind !== 'VP8L') return null;
  const bits = bytes.readUInt32LE(21);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}
