/** Copies the bytes of files and e-mails that a target lacks. */
import { type BlobScope, type BlobStore, type OpenBlob, thumbnailScope } from '../../base/blob-store.ts';
import { systemClock } from '../../base/clock.ts';
import type { CopiedBlobs } from './copy-target.ts';

/** What receives the bytes. */
export interface BlobReceiver {
  /** Those of the names that it does not have. */
  findMissing(scope: BlobScope, names: readonly string[]): Promise<string[]>;
  /** @throws Error if the bytes do not match the name. */
  receive(scope: BlobScope, name: string, blob: OpenBlob): Promise<void>;
}

export const isBlobName = (name: unknown): name is string => typeof name === 'string' && /^[0-9a-f]{64}$/.test(name);

/** Copies what the receiver lacks. Thumbnails are left out, because they are made again. */
export async function copyBlobs(from: BlobStore, to: BlobReceiver): Promise<CopiedBlobs> {
  let [blobs, bytes] = [0, 0];
  for (const scope of await from.scopes()) {
    if (scope === thumbnailScope) continue;
    const names = (await from.findStoredBefore(scope, inAnHour())).filter(isBlobName);
    for (const name of await to.findMissing(scope, names)) {
      const blob = await from.open(scope, name);
      if (!blob) continue;
      await to.receive(scope, name, blob);
      blobs += 1;
      bytes += blob.size;
    }
  }
  return { blobs, bytes };
}

/** Receives blobs into a store of this process. */
export function receiveInto(store: BlobStore): BlobReceiver {
  return {
    findMissing: async (scope, names) => {
      const present = new Set(await store.findStoredBefore(scope, inAnHour()));
      return names.filter((name) => !present.has(name));
    },
    receive: async (scope, name, blob) => {
      const { sha256 } = await store.receive(scope, blob.read(0, blob.size - 1));
      requireSameName(scope, name, sha256);
    },
  };
}

/** @throws Error if the bytes do not match the name. */
export function requireSameName(scope: BlobScope, name: string, sha256: string): void {
  if (sha256 !== name) throw new Error(`The file ${scope}/${name} is damaged: its bytes have another SHA-256.`);
}

/** Later than the time of any blob, which may come from the clock of another machine. */
function inAnHour(): number {
  return systemClock.now() + 3_600_000;
}
