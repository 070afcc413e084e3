/** Copies the bytes of files and e-mails that a store lacks. */
import { type BlobStore, thumbnailScope } from '../../base/blob-store.ts';

const isBlobName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/**
 * Copies bytes to another store. Thumbnails are left out, because they are made again.
 *
 * @param before all blobs are older than this time, in milliseconds since the epoch.
 * @returns the number of blobs and bytes that were missing.
 * @throws Error if the bytes of a blob do not match its name.
 */
export async function copyBlobs(
  from: BlobStore,
  to: BlobStore,
  before: number,
): Promise<{ readonly blobs: number; readonly bytes: number }> {
  let [blobs, bytes] = [0, 0];
  for (const scope of await from.scopes()) {
    if (scope === thumbnailScope) continue;
    const present = new Set(await to.findStoredBefore(scope, before));
    for (const name of await from.findStoredBefore(scope, before)) {
      const blob = isBlobName(name) && !present.has(name) ? await from.open(scope, name) : null;
      if (!blob) continue;
      const { sha256 } = await to.receive(scope, blob.read(0, blob.size - 1));
      if (sha256 !== name) throw new Error(`The file ${scope}/${name} is damaged: its bytes have another SHA-256.`);
      blobs += 1;
      bytes += blob.size;
    }
  }
  return { blobs, bytes };
}
