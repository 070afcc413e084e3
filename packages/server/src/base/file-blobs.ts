import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobScope, BlobStore, NewBlob, OpenBlob, ReceivedBlob } from './blob-store.ts';
import { FifoLock } from './fifo-lock.ts';
import { LruMap } from './lru-map.ts';

const hash = /^[0-9a-f]{64}$/;
/** Folder of a scope for bytes that are still arriving. Blobs are in folders with hexadecimal names. */
export const incomingFolder = 'in';

/**
 * Blobs as files, `<folder>/<scope>/<aa>/<sha256>`. A file gets its name when its bytes are on the disk, and the name is on the
 * disk before the blob counts as stored.
 */
export class FileBlobs implements BlobStore {
  readonly #folder: string;
  /** Serialises storing and removing of the same blob. */
  readonly #lock = new FifoLock();
  /**
   * Folders that are durable on the disk, or are being written: a file does not count as stored before its folder does.
   */
  readonly #folders = new LruMap<Promise<void>>({
    entries: 10_000,
    bytes: 8 * 1024 * 1024,
    keyLength: 4096,
    sizeOf: 100,
  });

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put(scope: BlobScope, blobs: readonly NewBlob[]): Promise<void> {
    const folders = new Set<string>();
    await Promise.all(
      [...new Map(blobs.map((each) => [each.sha256, each])).values()].map(async ({ sha256, bytes }) => {
        const path = this.#path(scope, sha256);
        folders.add(dirname(path));
        await this.#folderReady(dirname(path));
        if (!(await this.#lock.run(() => touchFile(path)))) await writeDurably(path, bytes);
      }),
    );
    await Promise.all([...folders].map(syncFolder));
  }

  async receive(scope: BlobScope, bytes: AsyncIterable<Uint8Array>): Promise<ReceivedBlob> {
    const folder = join(this.#folder, String(scope), incomingFolder);
    await this.#folderReady(folder);
    // As for all blobs, the name of the file begins with the name of its folder, so that the sweep finds files that a
    // crash leaves.
    const temporary = join(folder, `${incomingFolder}-${randomUUID()}`);
    try {
      const received = await writeStream(temporary, bytes);
      const path = this.#path(scope, received.sha256);
      await this.#folderReady(dirname(path));
      await this.#lock.run(async () => {
        if (!(await touchFile(path))) await rename(temporary, path);
      });
      await syncFolder(dirname(path));
      return received;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  #folderReady(path: string): Promise<void> {
    const known = this.#folders.get(path);
    if (known) return known;
    const ready = makeFolder(path, this.#folder);
    this.#folders.set(path, ready);
    ready.catch(() => this.#folders.delete(path));
    return ready;
  }

  async get(scope: BlobScope, sha256: string): Promise<Buffer | null> {
    return readFile(this.#path(scope, sha256)).catch(nullIfMissing);
  }

  async open(scope: BlobScope, sha256: string): Promise<OpenBlob | null> {
    const path = this.#path(scope, sha256);
    const found = await stat(path).catch(nullIfMissing);
    if (!found) return null;
    return {
      size: found.size,
      async *read(start, end): AsyncGenerator<Uint8Array> {
        if (end >= start) yield* createReadStream(path, { start, end, highWaterMark: 64 * 1024 });
      },
    };
  }

  async findPresent(scope: BlobScope, names: readonly string[]): Promise<string[]> {
    const present: string[] = [];
    for (const name of names) if (await stat(this.#path(scope, name)).catch(nullIfMissing)) present.push(name);
    return present;
  }

  async findStoredBefore(scope: BlobScope, time: number): Promise<string[]> {
    const root = join(this.#folder, String(scope));
    const old: string[] = [];
    for (const part of await listFolder(root))
      for (const name of await listFolder(join(root, part))) {
        if (time === Number.POSITIVE_INFINITY) {
          old.push(name);
          continue;
        }
        const found = await stat(join(root, part, name)).catch(nullIfMissing);
        if (found && found.mtimeMs < time) old.push(name);
      }
    return old;
  }

  async remove(scope: BlobScope, names: readonly string[], before: number): Promise<void> {
    for (const name of names) {
      const path = join(this.#folder, String(scope), name.slice(0, 2), name);
      await this.#lock.run(async () => {
        const found = await stat(path).catch(nullIfMissing);
        if (found && found.mtimeMs < before) await rm(path);
      });
    }
  }

  async scopes(): Promise<BlobScope[]> {
    return (await listFolder(this.#folder)).map(Number).filter(Number.isSafeInteger);
  }

  #path(scope: BlobScope, sha256: string): string {
    return blobPath(this.#folder, scope, sha256);
  }
}

/** The path of a blob in the folder of blobs of an application. */
export function blobPath(folder: string, scope: BlobScope, sha256: string): string {
  if (!Number.isSafeInteger(scope) || !hash.test(sha256)) throw new Error('a blob is named by scope and SHA-256');
  return join(folder, String(scope), sha256.slice(0, 2), sha256);
}

/** Whether a file exists. An existing file counts as new from then on, so that the sweep does not remove it before it is referred to. */
async function touchFile(path: string): Promise<boolean> {
  const now = new Date();
  return utimes(path, now, now).then(
    () => true,
    (error: unknown) => nullIfMissing(error) !== null,
  );
}

async function writeStream(path: string, bytes: AsyncIterable<Uint8Array>): Promise<ReceivedBlob> {
  const hasher = createHash('sha256');
  let size = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const piece of bytes) {
      hasher.update(piece);
      size += piece.length;
      await file.writeFile(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: hasher.digest('hex'), size };
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

/** Creates a folder whose name survives a crash, also where an earlier process created it: each parent folder is synced. */
async function makeFolder(path: string, root: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  for (let current = path; current.length >= root.length; current = dirname(current))
    await syncFolder(dirname(current));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

async function listFolder(path: string): Promise<string[]> {
  return (await readdir(path).catch(nullIfMissing)) ?? [];
}

function nullIfMissing(error: unknown): null {
  if ((error as { code?: string }).code === 'ENOENT') return null;
  throw error;
}
