/** Copies the bytes of files and e-mails that a target lacks. */
import { type BlobScope, type BlobStore, type OpenBlob, thumbnailScope } from '../../base/blob-store.ts';
import type { CopiedBlobs } from './copy-target.ts';

/** What receives the bytes. */
export interface BlobReceiver {
  /** Those of the names that it does not have. */
  findMissing(scope: BlobScope, names: readonly string[]): Promise<string[]>;
  /** @throws Error if the bytes do not match the name. */
  receive(scope: BlobScope, name: string, blob: OpenBlob): Promise<void>;
  /** Waits until all of them are stored. */
  flush(): Promise<void>;
}

export const isBlobName = (name: unknown): name is string => typeof name === 'string' && /^[0-9a-f]{64}$/.test(name);

/** Blobs that the receiver has, by scope and name. */
export type KnownBlobs = Map<BlobScope, Set<string>>;

/**
 * Copies what the receiver lacks. Thumbnails are left out, because they are made again.
 *
 * @param known what an earlier call has copied or found: only other names are compared with those of the receiver. It is completed.
 * @param onBlob is called before each blob. It may throw to end the work.
 */
export async function copyBlobs(
  from: BlobStore,
  to: BlobReceiver,
  { known, onBlob }: { readonly known: KnownBlobs; readonly onBlob: () => void },
): Promise<CopiedBlobs> {
  let [blobs, bytes] = [0, 0];
  for (const scope of await from.scopes()) {
    if (scope === thumbnailScope) continue;
    const present = known.get(scope) ?? new Set();
    known.set(scope, present);
    const listed = await from.findStoredBefore(scope, Number.POSITIVE_INFINITY);
    const names = listed.filter((name) => isBlobName(name) && !present.has(name));
    if (names.length === 0) continue;
    const removed = new Set<string>();
    for (const name of await to.findMissing(scope, names)) {
      onBlob();
      const blob = await from.open(scope, name);
      if (!blob) {
        removed.add(name); // it may be stored again
        continue;
      }
      await to.receive(scope, name, blob);
      blobs += 1;
      bytes += blob.size;
    }
    await to.flush();
    for (const name of names) if (!removed.has(name)) present.add(name);
  }
  return { blobs, bytes };
}

/** Receives blobs into a store of this process. */
export function receiveInto(store: BlobStore): BlobReceiver {
  return {
    findMissing: async (scope, names) => {
      const present = new Set(await store.findPresent(scope, names));
      return names.filter((name) => !present.has(name));
    },
    receive: async (scope, name, blob) => {
      const { sha256 } = await store.receive(scope, blob.read(0, blob.size - 1));
      requireSameName(scope, name, sha256);
    },
    flush: async () => {},
  };
}

/** @throws Error if the bytes do not match the name. */
export function requireSameName(scope: BlobScope, name: string, sha256: string): void {
  if (sha256 !== name) throw new Error(`The file ${scope}/${name} is damaged: its bytes have another SHA-256.`);
}
