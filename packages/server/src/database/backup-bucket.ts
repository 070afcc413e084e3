/**
 * Backups in a bucket of an S3-compatible service. A file of a backup has the key `<prefix><name>/<path>`, as in a folder. When all files
 * are stored, the object `<prefix><name>.complete` is stored. A backup without it is not listed.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { nullIfMissing, S3Client, S3Fault, textBody } from '../base/s3-client.ts';
import type { S3Config } from '../base/s3-config.ts';
import { listFolder, listKeys, listObjects, listUploads, removeAll } from '../base/s3-listing.ts';
import { contentDiffers, requireHash } from '../base/s3-read.ts';
import { describeS3Fault } from '../base/s3-start.ts';
import { runForEach, uploadObject } from '../base/s3-upload.ts';
import type { HealthReporter } from '../base/server-health.ts';
import { ApiError } from '../protocol/api-error.ts';
import {
  type BackupFile,
  type BackupManifest,
  isBackupName,
  manifestName,
  parseManifest,
  readManifest,
  UnusableBackup,
} from './backup-manifest.ts';

const completeEnding = '.complete';
/** Each file needs memory for one part of an upload, or for some pieces of a download. */
const filesAtOnce = 4;
const readBytes = 1024 * 1024;

/** A backup that is being uploaded, or whose upload or removal was interrupted. */
export interface PartialBackup {
  readonly name: string;
  /** When the last of its files was stored, in milliseconds since the epoch. */
  readonly changedAt: number;
}

export class BackupBucket {
  readonly #client: S3Client;
  readonly #config: S3Config;

  /** @param report receives the state of the service. */
  constructor(config: S3Config, report: HealthReporter = () => {}) {
    this.#config = config;
    this.#client = new S3Client(config, report);
  }

  get bucket(): string {
    return this.#config.bucket;
  }

  close(): void {
    this.#client.close();
  }

  /** The names of all complete backups. @throws ApiError 503 if the service fails, like all methods. */
  async list(): Promise<Set<string>> {
    return findComplete(await this.#explain(listObjects(this.#client, this.#config.prefix)));
  }

  async has(name: string): Promise<boolean> {
    if (!isBackupName(name)) return false;
    const request = this.#client.request({ method: 'HEAD', key: this.#completeKey(name) }).catch(nullIfMissing);
    return (await this.#explain(request)) !== null;
  }

  /** The manifest of a complete backup; null if there is none. @throws UnusableBackup if it is damaged. */
  async read(name: string): Promise<BackupManifest | null> {
    const text = (await this.has(name)) ? await this.#readManifestText(name) : null;
    return text === null ? null : parseManifest(name, text);
  }

  /** The bytes of the manifest of a complete backup. */
  async readManifestBytes(name: string): Promise<Buffer> {
    return Buffer.from((await this.#readManifestText(name)) ?? '');
  }

  /** Yields the bytes of a file as they arrive. @throws UnusableBackup before the last bytes, if the file differs from the manifest. */
  async *openFile(name: string, { path, bytes, sha256 }: BackupFile): AsyncGenerator<Uint8Array> {
    try {
      if (!/^[\w./-]+$/.test(path))
        throw new UnusableBackup(`The backup "${name}" is damaged: the path of a file is invalid.`);
      const pieces = this.#client.read(this.#key(name, path), { from: 0, to: bytes - 1, size: bytes });
      yield* requireHash(pieces, sha256);
    } catch (error) {
      throw this.#describeDamage(error, name, path);
    }
  }

  /**
   * Uploads a backup from a folder. It is listed when all of its files are stored.
   *
   * @param onProgress receives the number of bytes that were read for the upload so far.
   * @throws Error if a complete backup with this name exists. The remains of an interrupted one are removed.
   */
  async upload(folder: string, name: string, onProgress: (bytes: number) => void = () => {}): Promise<BackupManifest> {
    await this.requireFree(name);
    const manifest = await readManifest(folder);
    await this.removePart(name);
    let done = 0;
    const onRead = (bytes: number): void => {
      done += bytes;
      onProgress(done);
    };
    await this.#explain(
      runForEach(manifest.files, filesAtOnce, (file) => this.#uploadFile(join(folder, file.path), name, file, onRead)),
    );
    const stored = createReadStream(join(folder, manifestName), { highWaterMark: readBytes });
    await this.#explain(uploadObject(this.#client, { bytes: stored, chooseKey: () => this.#key(name, manifestName) }));
    await this.#explain(this.#complete(name, manifest));
    return manifest;
  }

  /** @throws Error if there is a backup with this name. */
  async requireFree(name: string): Promise<void> {
    if (!isBackupName(name))
      throw new Error(`"${name}" cannot be the name of a backup. Use letters, digits, dots, hyphens and underscores.`);
    if (await this.has(name)) throw new Error(`The bucket already has a backup "${name}". Choose another name.`);
  }

  async #complete(name: string, { at, files }: BackupManifest): Promise<void> {
    const key = this.#completeKey(name);
    await this.#requireFiles(name, files.length + 1);
    await this.#client.request({ method: 'PUT', key, body: textBody(`${at}\n`) });
    // The removal may have begun just before the backup was complete.
    await this.#requireFiles(name, files.length + 1).catch(async (error: unknown) => {
      await this.#client.request({ method: 'DELETE', key });
      throw error;
    });
  }

  /** @throws Error if another server assumed that this one had died, and has begun to remove the files. */
  async #requireFiles(name: string, expected: number): Promise<void> {
    let count = 0;
    for await (const _ of listKeys(this.#client, this.#key(name, ''))) count += 1;
    if (count < expected)
      throw new Error(`Files of the backup "${name}" were removed from the bucket during the upload.`);
  }

  /** Downloads files of a complete backup, and its manifest, to a folder. @throws UnusableBackup if a file is missing or damaged. */
  async download(name: string, folder: string, isNeeded: (path: string) => boolean): Promise<void> {
    const manifest = await this.read(name);
    if (!manifest) throw new UnusableBackup(`The bucket "${this.bucket}" has no complete backup "${name}".`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const files = manifest.files.filter(({ path }) => isNeeded(path));
    await runForEach(files, filesAtOnce, async (file) => {
      const path = join(folder, file.path);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await pipeline(this.openFile(name, file), createWriteStream(path, { mode: 0o600 }));
    });
    await writeFile(join(folder, manifestName), await this.readManifestBytes(name), { mode: 0o600 });
  }

  /** Removes a backup. It is no longer listed as soon as the removal begins. */
  async remove(name: string): Promise<void> {
    if (!isBackupName(name)) return;
    const removal = this.#client.request({ method: 'DELETE', key: this.#completeKey(name) }).catch(nullIfMissing);
    await this.#explain(removal);
    await this.removePart(name);
  }

  /** Removes the files of a backup that is not complete. */
  async removePart(name: string): Promise<void> {
    if (isBackupName(name)) await this.#explain(removeAll(this.#client, this.#key(name, '')));
  }

  /** The backups that are not complete. */
  async findParts(): Promise<PartialBackup[]> {
    return this.#explain(this.#findParts());
  }

  async #findParts(): Promise<PartialBackup[]> {
    const { objects, folders } = await listFolder(this.#client, this.#config.prefix);
    const complete = findComplete(objects);
    const parts: PartialBackup[] = [];
    for (const name of folders) {
      if (complete.has(name) || !isBackupName(name)) continue;
      let changedAt = 0;
      const folder = this.#key(name, '');
      for await (const { storedAt } of listKeys(this.#client, folder)) changedAt = Math.max(changedAt, storedAt);
      for await (const { storedAt } of listUploads(this.#client, folder)) changedAt = Math.max(changedAt, storedAt);
      parts.push({ name, changedAt });
    }
    return parts;
  }

  async #uploadFile(
    from: string,
    name: string,
    { path, bytes: size, sha256 }: BackupFile,
    onRead: (bytes: number) => void,
  ): Promise<void> {
    const bytes = countBytes(createReadStream(from, { highWaterMark: Math.min(readBytes, size + 1) }), onRead);
    const stored = await uploadObject(this.#client, { bytes, chooseKey: () => this.#key(name, path), size });
    if (stored.sha256 !== sha256 || stored.size !== size) throw new Error(`${path} was changed during the upload.`);
  }

  async #readManifestText(name: string): Promise<string | null> {
    const request = this.#client.request({ method: 'GET', key: this.#key(name, manifestName) }).catch(nullIfMissing);
    return (await this.#explain(request))?.text ?? null;
  }

  #describeDamage(error: unknown, name: string, path: string): unknown {
    const fault = error instanceof S3Fault ? error : null;
    const problem = fault?.isMissing
      ? 'is missing'
      : fault?.code === contentDiffers
        ? 'has different content (its SHA-256 differs)'
        : fault?.code === 'IncompleteBody' || fault?.code === 'InvalidRange'
          ? 'has a different size'
          : null;
    if (problem === null) return this.#toFailure(error);
    return new UnusableBackup(`The backup "${name}" is damaged: ${path} ${problem}. Use another backup.`);
  }

  async #explain<T>(work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      throw this.#toFailure(error);
    });
  }

  #toFailure(error: unknown): unknown {
    if (!(error instanceof S3Fault)) return error;
    return new ApiError('BACKUP_STORAGE_UNAVAILABLE', describeS3Fault(this.#config, error), { retryAfter: 5 });
  }

  #key(name: string, path: string): string {
    return `${this.#config.prefix}${name}/${path}`;
  }

  #completeKey(name: string): string {
    return `${this.#config.prefix}${name}${completeEnding}`;
  }
}

function findComplete(objects: ReadonlySet<string>): Set<string> {
  const names = [...objects].filter((name) => name.endsWith(completeEnding));
  return new Set(names.map((name) => name.slice(0, -completeEnding.length)).filter(isBackupName));
}

async function* countBytes(
  pieces: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    onRead(piece.length);
    yield piece;
  }
}
