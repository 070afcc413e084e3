/** The sizes of the stores and the free space of their disk, for metrics. */
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../database/database.ts';

/** Bytes; a size that cannot be read is not a number. */
export type Sizes = Readonly<Record<'database' | 'log' | 'free', number>>;
type Family = readonly [
  string,
  string,
  readonly (readonly [() => Promise<number>, Readonly<Record<string, string>>?])[],
];

/** Sizes are read at most this often, however often the metrics are. */
const cacheMilliseconds = 10_000;

/** The sizes of all stores together. */
export class StoreSizes {
  readonly #database: Database;
  readonly #dataDir: string;
  #sizes: Promise<Sizes> | null = null;
  #readAt = 0;

  constructor(database: Database, dataDir: string) {
    this.#database = database;
    this.#dataDir = dataDir;
  }

  get families(): readonly Family[] {
    return [
      [
        'tablinum_store_bytes',
        'Bytes of all stores: their databases, and their write-ahead logs (SQLite).',
        [
          [async () => (await this.read()).database, { part: 'database' }],
          [async () => (await this.read()).log, { part: 'log' }],
        ],
      ],
      ['tablinum_disk_free_bytes', 'Free bytes of the disk of DATA_DIR.', [[async () => (await this.read()).free]]],
    ];
  }

  /** The sizes, at most ten seconds old. */
  read(): Promise<Sizes> {
    const now = performance.now();
    if (this.#sizes === null || now - this.#readAt > cacheMilliseconds) {
      this.#readAt = now;
      this.#sizes = this.#measure();
    }
    return this.#sizes;
  }

  /** A size that cannot be read is not a number. */
  async #measure(): Promise<Sizes> {
    const [ofDatabase, files, free] = await Promise.all([
      this.#database.readStoredBytes().catch(() => Number.NaN),
      measureFiles(join(this.#dataDir, 'applications')),
      statfs(this.#dataDir).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => Number.NaN,
      ),
    ]);
    return { database: ofDatabase ?? files.database, log: files.log, free };
  }
}

async function measureFiles(folder: string): Promise<{ database: number; log: number }> {
  const sums = { database: 0, log: 0 };
  for (const name of await readdir(folder).catch(() => [])) {
    const part = name.endsWith('.db') ? 'database' : name.endsWith('.db-wal') ? 'log' : null;
    // A store may be removed meanwhile.
    if (part)
      sums[part] += await stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return sums;
}
