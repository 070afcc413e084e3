import type { BlobScope, BlobStore, NewBlob, OpenBlob, ReceivedBlob } from './blob-store.ts';

/**
 * Blobs of an application whose storage was changed: all new ones are in the present store, and those that the earlier
 * store still has are read from there. They can be moved at any time, also while they are read.
 */
export class MovedBlobs implements BlobStore {
  readonly #present: BlobStore;
  readonly #earlier: BlobStore;

  constructor(present: BlobStore, earlier: BlobStore) {
    this.#present = present;
    this.#earlier = earlier;
  }

  put(scope: BlobScope, blobs: readonly NewBlob[]): Promise<void> {
    return this.#present.put(scope, blobs);
  }

  receive(scope: BlobScope, bytes: AsyncIterable<Uint8Array>): Promise<ReceivedBlob> {
    return this.#present.receive(scope, bytes);
  }

  get(scope: BlobScope, sha256: string): Promise<Buffer | null> {
    return this.#find((store) => store.get(scope, sha256));
  }

  open(scope: BlobScope, sha256: string): Promise<OpenBlob | null> {
    return this.#find((store) => store.open(scope, sha256));
  }

  /** The present store is searched again last, because the blob may have been moved meanwhile. */
  async #find<T>(search: (store: BlobStore) => Promise<T | null>): Promise<T | null> {
    return (await search(this.#present)) ?? (await search(this.#earlier)) ?? search(this.#present);
  }

  async findPresent(scope: BlobScope, names: readonly string[]): Promise<string[]> {
    const present = await this.#present.findPresent(scope, names);
    const found = new Set(present);
    const others = names.filter((name) => !found.has(name));
    return [...present, ...(await this.#earlier.findPresent(scope, others))];
  }

  async findStoredBefore(scope: BlobScope, time: number): Promise<string[]> {
    const found = await Promise.all([
      this.#present.findStoredBefore(scope, time),
      this.#earlier.findStoredBefore(scope, time),
    ]);
    return [...new Set(found.flat())];
  }

  async remove(scope: BlobScope, names: readonly string[], before: number): Promise<void> {
    await this.#present.remove(scope, names, before);
    await this.#earlier.remove(scope, names, before);
  }

  async scopes(): Promise<BlobScope[]> {
    const found = await Promise.all([this.#present.scopes(), this.#earlier.scopes()]);
    return [...new Set(found.flat())];
  }
}

/**
 * Moves all blobs of an application to another store, one after the other. Each blob is removed from its store once the
 * other store has it. If it is interrupted, it can be run again.
 *
 * @param before milliseconds since the epoch: younger blobs stay.
 * @returns the number of blobs and bytes.
 */
export async function moveBlobs(
  from: BlobStore,
  to: BlobStore,
  before: number,
): Promise<{ readonly blobs: number; readonly bytes: number }> {
  let [blobs, bytes] = [0, 0];
  for (const scope of await from.scopes())
    for (const name of await from.findStoredBefore(scope, before)) {
      const blob = /^[0-9a-f]{64}$/.test(name) ? await from.open(scope, name) : null;
      if (!blob) continue; // removed meanwhile, or the remains of an interrupted upload
      const { sha256 } = await to.receive(scope, blob.read(0, blob.size - 1));
      if (sha256 !== name) throw new Error(`The file ${scope}/${name} is damaged: its bytes have another SHA-256.`);
      await from.remove(scope, [name], before);
      blobs += 1;
      bytes += blob.size;
    }
  return { blobs, bytes };
}
