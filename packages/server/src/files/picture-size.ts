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
  return size && isSize(size) ? size : null;
}

const readers: Readonly<Record<string, (bytes: Buffer) => PictureSize | null>> = {
  'image/png': (bytes) => (bytes.length < 24 ? null : { width: bytes.readInt32BE(16), height: bytes.readInt32BE(20) }),
  'image/gif': (bytes) => (bytes.length < 10 ? null : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }),
  'image/jpeg': readJpegSize,
  'image/webp': readWebpSize,
  'image/avif': readAvifSize,
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

/** The largest of the sizes that the picture's properties state (`ispe`): others are those of its tiles and of a thumbnail in it. */
function readAvifSize(bytes: Buffer): PictureSize | null {
  const propertyBytes = 20;
  let largest: PictureSize | null = null;
  for (let name = bytes.indexOf('ispe'); name >= 4; name = bytes.indexOf('ispe', name + 4)) {
    if (name + propertyBytes - 4 > bytes.length || bytes.readUInt32BE(name - 4) !== propertyBytes) continue;
    const size = { width: bytes.readUInt32BE(name + 8), height: bytes.readUInt32BE(name + 12) };
    if (!largest || size.width * size.height > largest.width * largest.height) largest = size;
  }
  return largest;
}

/** TIFF 6.0: the tags of width and height, and the types SHORT and LONG. */
const tiff = { width: 256, height: 257, short: 3, long: 4, entryBytes: 12, maxEntries: 512 } as const;

/**
 * Reads the size of the first picture of a TIFF file. Its directory is often at the end of the file.
 *
 * @param read the bytes from a position; fewer at the end of the file.
 */
export async function readTiffSize(
  read: (position: number, length: number) => Promise<Buffer>,
): Promise<PictureSize | null> {
  const head = await read(0, 8);
  if (head.length < 8) return null;
  const isLittle = head[0] === 0x49;
  const short = (bytes: Buffer, at: number): number => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const long = (bytes: Buffer, at: number): number => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const directory = await read(long(head, 4), 2 + tiff.maxEntries * tiff.entryBytes);
  if (directory.length < 2) return null;
  const size = { width: 0, height: 0 };
  const end = Math.min(directory.length, 2 + short(directory, 0) * tiff.entryBytes);
  for (let at = 2; at + tiff.entryBytes <= end; at += tiff.entryBytes) {
    const [tag, type] = [short(directory, at), short(directory, at + 2)];
    const value = type === tiff.short ? short(directory, at + 8) : type === tiff.long ? long(directory, at + 8) : 0;
    if (tag === tiff.width) size.width = value;
    if (tag === tiff.height) size.height = value;
  }
  return isSize(size) ? size : null;
}

/** The columns of the database hold signed 32-bit integers. */
function isSize({ width, height }: PictureSize): boolean {
  return width > 0 && height > 0 && Math.max(width, height) < 2 ** 31;
}
