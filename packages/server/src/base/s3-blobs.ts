/**
 * Blobs as objects of a bucket, `<prefix><application>/<scope>/<sha256>`. Any number of servers may use them at the same time.
 *
 * Short blobs are stored in one request, when all their bytes have arrived. Longer ones are uploaded in parts under the
 * name `in-<uuid>`, because their hash is not known before the end, and are then copied within the bucket.
 *
 * A bucket has no transactions: between the check of the age of an object and its removal, another server may store it
 * again. So a blob is not removed but becomes `removed-<sha256>`, which readers use if there is nothing else, and
 * which is removed a day later if it is still not referred to.
 */
import { randomUUID } from 'node:crypto';
import type { BlobScope, BlobStore, NewBlob, OpenBlob, ReceivedBlob } from './blob-store.ts';
import type { Clock } from './clock.ts';
import { nullIfMissing, type S3Client } from './s3-client.ts';
import { listKeys, listScopes, listUploads, removeAll } from './s3-listing.ts';
import { requireHash } from './s3-read.ts';
import { copyObject, runForEach, uploadObject } from './s3-upload.ts';

const hash = /^[0-9a-f]{64}$/;
const incomingPrefix = 'in-';
const removedPrefix = 'removed-';
const requestsAtOnce = 8;
/** Times in headers are in whole seconds. */
const timeResolution = 1000;

interface FoundObject {
  readonly key: string;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
}

export class S3Blobs implements BlobStore {
  readonly #client: S3Client;
  readonly #folder: string;
  readonly #clock: Clock;

  /** @param application the name of its store. */
  constructor(client: S3Client, application: string, clock: Clock) {
    this.#client = client;
    this.#folder = `${client.config.prefix}${application}/`;
    this.#clock = clock;
  }

  async put(scope: BlobScope, blobs: readonly NewBlob[]): Promise<void> {
    const wanted = [...new Map(blobs.map((each) => [each.sha256, each])).values()];
    await runForEach(wanted, requestsAtOnce, ({ sha256, bytes }) => {
      const body = { pieces: [bytes], length: bytes.length, sha256 };
      return this.#client.request({ method: 'PUT', key: this.#key(scope, sha256), body });
    });
  }

  async receive(scope: BlobScope, bytes: AsyncIterable<Uint8Array>): Promise<ReceivedBlob> {
    const incoming = `${this.#scopeFolder(scope)}${incomingPrefix}${randomUUID()}`;
    const chooseKey = (sha256: string | null): string => (sha256 === null ? incoming : this.#key(scope, sha256));
    const { key, sha256, size } = await uploadObject(this.#client, { bytes, chooseKey });
    if (key !== incoming) return { sha256, size };
    let isCopied = false;
    try {
      await copyObject(this.#client, incoming, this.#key(scope, sha256), size);
      isCopied = true;
      return { sha256, size };
    } finally {
      // The sweep removes it if this fails. A caller who gets an error does not wait for it.
      await this.#removeKey(incoming, isCopied).catch(() => {});
    }
  }

  async get(scope: BlobScope, sha256: string): Promise<Buffer | null> {
    const blob = await this.open(scope, sha256);
    if (!blob) return null;
    const pieces: Uint8Array[] = [];
    for await (const piece of blob.read(0, blob.size - 1)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async open(scope: BlobScope, sha256: string): Promise<OpenBlob | null> {
    const found =
      (await this.#find(this.#key(scope, sha256))) ?? (await this.#find(this.#key(scope, sha256, removedPrefix)));
    if (!found) return null;
    const { key, size } = found;
    return {
      size,
      read: (from, to) => {
        const pieces = this.#client.read(key, { from, to, size });
        return from === 0 && to === size - 1 ? requireHash(pieces, sha256) : pieces;
      },
    };
  }

  async findPresent(scope: BlobScope, names: readonly string[]): Promise<string[]> {
    const present: string[] = [];
    await runForEach(names, requestsAtOnce, async (name) => {
      if (await this.#find(this.#key(scope, name))) present.push(name);
    });
    return present;
  }

  async findStoredBefore(scope: BlobScope, time: number): Promise<string[]> {
    const folder = this.#scopeFolder(scope);
    const names = new Set<string>();
    for await (const each of listKeys(this.#client, folder))
      if (isOld(each.storedAt, time)) names.add(each.key.slice(folder.length).replace(removedPrefix, ''));
    for await (const each of listUploads(this.#client, folder))
      if (isOld(each.storedAt, time)) names.add(each.key.slice(folder.length));
    return [...names];
  }

  async remove(scope: BlobScope, names: readonly string[], before: number): Promise<void> {
    if (!this.#client.config.removes) return;
    await runForEach(names, requestsAtOnce, async (name) => {
      if (hash.test(name)) await this.#removeBlob(scope, name, before);
      else await this.#removeIncoming(`${this.#scopeFolder(scope)}${name}`, before);
    });
  }

  async scopes(): Promise<BlobScope[]> {
    return listScopes(this.#client, this.#folder);
  }

  /** Removes all blobs of an application that no longer exists. */
  async destroy(): Promise<void> {
    if (this.#client.config.removes) await removeAll(this.#client, this.#folder);
  }

  async #removeBlob(scope: BlobScope, sha256: string, before: number): Promise<void> {
    const removedKey = this.#key(scope, sha256, removedPrefix);
    const removed = await this.#find(removedKey);
    if (removed && isOld(removed.storedAt, before)) await this.#removeKey(removedKey);
    const found = await this.#find(this.#key(scope, sha256));
    if (!found || !isOld(found.storedAt, before)) return;
    // A time in the future means that nobody stores the blob again: its account was deleted.
    const mayRemove = before > this.#clock.now() || (await this.#copyIfExists(found.key, removedKey, found.size));
    if (mayRemove) await this.#removeKey(found.key);
  }

  /** False: another server has removed the object meanwhile. */
  async #copyIfExists(from: string, to: string, size: number): Promise<boolean> {
    return copyObject(this.#client, from, to, size).then(
      () => true,
      (error: unknown) => nullIfMissing(error) !== null,
    );
  }

  async #removeIncoming(key: string, before: number): Promise<void> {
    for await (const each of listUploads(this.#client, key))
      if (isOld(each.storedAt, before))
        await this.#client
          .request({ method: 'DELETE', key: each.key, query: { uploadId: each.uploadId } })
          .catch(nullIfMissing);
    const found = await this.#find(key);
    if (found && isOld(found.storedAt, before)) await this.#removeKey(key);
  }

  async #find(key: string): Promise<FoundObject | null> {
    const reply = await this.#client.request({ method: 'HEAD', key }).catch(nullIfMissing);
    if (!reply) return null;
    const { 'content-length': size, 'last-modified': storedAt = '' } = reply.headers;
    return { key, size: Number(size), storedAt: Date.parse(storedAt) };
  }

  async #removeKey(key: string, retries = true): Promise<void> {
    await this.#client.request({ method: 'DELETE', key, retries }).catch(nullIfMissing);
  }

  #scopeFolder(scope: BlobScope): string {
    if (!Number.isSafeInteger(scope)) throw new Error('a blob is named by scope and SHA-256');
    return `${this.#folder}${scope}/`;
  }

  #key(scope: BlobScope, sha256: string, prefix = ''): string {
    if (!hash.test(sha256)) throw new Error('a blob is named by scope and SHA-256');
    return `${this.#scopeFolder(scope)}${prefix}${sha256}`;
  }
}

/** An object of an unknown age is not old. */
function isOld(storedAt: number, time: number): boolean {
  return time === Number.POSITIVE_INFINITY || storedAt + timeResolution <= time;
}
