import { sniffType } from '../mail/parse/sniff-type.ts';

export const tiffType = 'image/tiff';

/** Signatures of TIFF, and of audio and video at an offset. Other pictures, PDF and plain text are those of mail. */
const signatures: readonly (readonly [type: string, offset: number, bytes: string])[] = [
  [tiffType, 0, 'II*\0'],
  [tiffType, 0, 'MM\0*'],
  ['audio/mpeg', 0, 'ID3'],
  ['audio/flac', 0, 'fLaC'],
  ['audio/wav', 8, 'WAVE'],
  ['video/x-msvideo', 8, 'AVI '],
  ['video/webm', 0, '\x1aE\xdf\xa3'],
  ['audio/ogg', 0, 'OggS'],
];
/** ISO base media files by their brand. */
const brands: readonly (readonly [type: string, brand: RegExp])[] = [
  ['audio/mp4', /^M4[AB] /],
  ['video/quicktime', /^qt {2}/],
  ['image/avif', /^avi[fs]/],
  ['video/mp4', /^(?:isom|iso\d|mp4[12]|avc1|dash|M4V |MSNV)/],
];

/** Enough bytes for {@link detectType}. */
export const detectedBytes = 4096;

/**
 * Detects the type of a file from its first bytes: raster pictures, PDF, plain text, audio and video; null for all others, such
 * as HTML and SVG.
 */
export function detectType(start: Uint8Array): string | null {
  const head = Buffer.from(start.subarray(0, 16)).toString('latin1');
  const found = signatures.find(
    ([, offset, bytes]) => head.startsWith(bytes, offset) && (offset === 0 || head.startsWith('RIFF')),
  );
  if (found) return found[0];
  if (head.startsWith('ftyp', 4)) return brands.find(([, brand]) => brand.test(head.slice(8)))?.[0] ?? null;
  return sniffType(start);
}

/** The type under which browsers may show a file; null: it is always a download. */
export function toInlineType(detected: string | null): string | null {
  return detected === 'text/plain' ? 'text/plain; charset=utf-8' : detected;
}
