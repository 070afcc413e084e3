/** Verification of bytes that are read from a bucket. */
import { createHash } from 'node:crypto';
import { S3Fault } from './s3-client.ts';

/** The code of the fault if the bytes do not match their hash. */
export const contentDiffers = 'ContentDiffers';

/** Passes bytes on. Fails before the last piece if they do not match the hash, so that no reader mistakes them for complete. */
export async function* requireHash(pieces: AsyncIterable<Uint8Array>, sha256: string): AsyncGenerator<Uint8Array> {
  const hasher = createHash('sha256');
  let last: Uint8Array | null = null;
  for await (const piece of pieces) {
    if (last) yield last;
    hasher.update(piece);
    last = piece;
  }
  if (hasher.digest('hex') !== sha256) throw new S3Fault(contentDiffers);
  if (last) yield last;
}
