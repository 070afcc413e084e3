/** Copies the blobs of applications from a bucket to folders, for backups. */
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type BlobScope, thumbnailScope } from './blob-store.ts';
import { systemClock } from './clock.ts';
import { blobPath } from './file-blobs.ts';
import { S3Blobs } from './s3-blobs.ts';
import { S3Client, S3Fault } from './s3-client.ts';
import type { S3Config } from './s3-config.ts';
import { listKeys } from './s3-listing.ts';
import { describeS3Fault } from './s3-start.ts';
import { runForEach } from './s3-upload.ts';

const batchSize = 500;
const copiesAtOnce = 8;

interface BlobName {
  readonly scope: BlobScope;
  readonly sha256: string;
}

export class BlobCopies {
  readonly #config: S3Config;
  readonly #client: S3Client;

  constructor(config: S3Config) {
    this.#config = config;
    this.#client = new S3Client(config, () => {});
  }

  close(): void {
    this.#client.close();
  }

  /**
   * Copies all blobs of an application, except thumbnails, to a folder with the layout of `FileBlobs`. Call it after the database is copied:
   * blobs are stored before anything refers to them, and are kept for a day after nothing refers to them any more.
   *
   * @throws Error with a message for administrators.
   */
  async copyTo(folder: string, store: string): Promise<void> {
    await this.#copyAll(folder, store).catch((error: unknown) => {
      throw error instanceof S3Fault ? new Error(describeS3Fault(this.#config, error), { cause: error }) : error;
    });
  }

  async #copyAll(folder: string, store: string): Promise<void> {
    const blobs = new S3Blobs(this.#client, store, systemClock);
    const prefix = `${this.#config.prefix}${store}/`;
    // A blob that was removed and stored again has two keys.
    let batch = new Map<string, BlobName>();
    const copyBatch = async (): Promise<void> => {
      await runForEach([...batch.values()], copiesAtOnce, (name) => copyBlob(blobs, name, folder));
      batch = new Map();
    };
    for await (const { key } of listKeys(this.#client, prefix)) {
      const [, scope, sha256] = /^(-?\d+)\/(?:removed-)?([0-9a-f]{64})$/.exec(key.slice(prefix.length)) ?? [];
      if (scope === undefined || sha256 === undefined || Number(scope) === thumbnailScope) continue;
      batch.set(`${scope}/${sha256}`, { scope: Number(scope), sha256 });
      if (batch.size === batchSize) await copyBatch();
    }
    await copyBatch();
  }
}

async function copyBlob(blobs: S3Blobs, { scope, sha256 }: BlobName, folder: string): Promise<void> {
  const path = blobPath(folder, scope, sha256);
  if (existsSync(path)) return;
  const blob = await blobs.open(scope, sha256);
  if (!blob) return; // it has been removed since it was listed, so nothing refers to it
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await pipeline(blob.read(0, blob.size - 1), createWriteStream(path, { mode: 0o600 }));
}
