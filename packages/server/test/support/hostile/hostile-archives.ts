/** Archives and pictures of a few kilobytes that unpack to gigabytes, or whose headers do not match their contents. */
import { crc32, deflateRawSync, constants as zlib } from 'node:zlib';
import { makeWorkbookParts } from '../source-file.ts';

interface RawEntry {
  readonly path: string;
  /** Compressed with deflate. */
  readonly packed: Uint8Array;
  /** The size and checksum of the unpacked bytes that the directory states. */
  readonly size: number;
  readonly crc: number;
}

/**
 * A ZIP archive with a directory that may contain wrong values. `overlap`: all entries share the bytes of the first.
 */
export function writeZip(entries: readonly RawEntry[], overlap = false): Buffer {
  const [files, directory]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  let firstOffset = 0;
  entries.forEach(({ path, packed, size, crc }, index) => {
    const name = Buffer.from(path);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(name.length, 22);
    if (index === 0) firstOffset = offset;
    const isStored = !overlap || index === 0;
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(isStored ? offset : firstOffset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, tail, name);
    if (isStored) files.push(local);
    if (isStored) offset += local.length;
  });
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(list.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, list, Buffer.from('PK\x05\x06', 'latin1'), end]);
}

export function packEntry(path: string, content: string): RawEntry {
  const bytes = Buffer.from(content);
  return { path, packed: deflateRawSync(bytes), size: bytes.length, crc: crc32(bytes) };
}

/** Deflated bytes that unpack to `megabytes` of spaces between two texts. */
function packSpaces(before: string, megabytes: number, after: string): { packed: Buffer; size: number } {
  const flush = { finishFlush: zlib.Z_FULL_FLUSH };
  const spaces = deflateRawSync(Buffer.alloc(1024 * 1024, ' '), flush);
  const packed = Buffer.concat([
    deflateRawSync(Buffer.from(before), flush),
    ...Array.from({ length: megabytes }, () => spaces),
    deflateRawSync(Buffer.from(after)),
  ]);
  return { packed, size: before.length + megabytes * 1024 * 1024 + after.length };
}

/** A small workbook in which one part is replaced by an already compressed entry. */
function makeWorkbookWith(entry: RawEntry): Buffer {
  const parts = makeWorkbookParts({ sheets: { S: '' } });
  const others = Object.entries(parts).filter(([path]) => path !== entry.path);
  return writeZip([...others.map(([path, content]) => packEntry(path, content)), entry]);
}

export const sheetPath = 'xl/worksheets/s0.xml';
const sheetStart = '<worksheet><sheetData>';
const sheetEnd = '</sheetData></worksheet>';

/** A workbook of some kilobytes whose sheet unpacks to gigabytes. @param claimed the size that the directory states. */
export function makeZipBomb(megabytes: number, claimed?: number): Buffer {
  const { packed, size } = packSpaces(sheetStart, megabytes, sheetEnd);
  return makeWorkbookWith({ path: sheetPath, packed, size: claimed ?? size, crc: 0 });
}

/** A workbook with many parts that share the same bytes of the archive. */
export function makeOverlappingZip(): Buffer {
  const { packed, size } = packSpaces(sheetStart, 200, sheetEnd);
  const bomb = { packed, size, crc: 0 };
  return writeZip(
    Array.from({ length: 500 }, (_, index) => ({ ...bomb, path: index === 0 ? 'xl/workbook.xml' : `xl/${index}.xml` })),
    true,
  );
}

export function makePng(width: number, height: number, data: Uint8Array): Buffer {
  const chunk = (type: string, content: Uint8Array): Buffer => {
    const body = Buffer.concat([Buffer.from(type), content]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(content.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** Image data of some kilobytes that unpacks to gigabytes. */
export function makePictureBomb(): Buffer {
  const zlibHeader = Buffer.from([0x78, 0x9c]);
  return makePng(30_000, 30_000, Buffer.concat([zlibHeader, packSpaces('', 2600, '').packed]));
}

export function makeJpeg(width: number, height: number, comment = ''): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt16BE(height, 0);
  size.writeUInt16BE(width, 2);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(comment.length + 2);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8, 0xff, 0xfe]),
    length,
    Buffer.from(comment, 'latin1'),
    Buffer.from([0xff, 0xc0, 0, 17, 8]),
    size,
    Buffer.from([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1, 0xff, 0xd9]),
  ]);
}
