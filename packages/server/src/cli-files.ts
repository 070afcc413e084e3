/** `tablinum files move`: moves the bytes of files and e-mails from `DATA_DIR` or PostgreSQL to the bucket, while the server runs or not. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BlobStore } from './base/blob-store.ts';
import { systemClock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import { moveBlobs } from './base/moved-blobs.ts';
import { UsageError } from './cli-commands.ts';
import { mainStoreName } from './open-stores.ts';

const usage =
  'Usage: tablinum files move. Set DATA_DIR or DATABASE_URL, and FILES_S3_BUCKET with its other settings, as for the server.';

/** Where the blobs of all applications are without a bucket. */
interface EarlierStores {
  /** The random name of the data; null if no server has created any. */
  readonly owner: string | null;
  /** The blobs of each store, with the name of the store. */
  readonly blobs: readonly (readonly [store: string, blobs: BlobStore])[];
  close(): Promise<void>;
}

/** Runs `tablinum files`. @throws Error with a message for the operator. */
export async function runFilesCommand(args: readonly string[], config: Config): Promise<void> {
  if (args.length !== 1 || args[0] !== 'move' || config.s3 === null) throw new UsageError(usage);
  const { S3Client } = await import('./base/s3-client.ts');
  const { S3Blobs } = await import('./base/s3-blobs.ts');
  const { claimBucket } = await import('./base/s3-start.ts');
  const client = new S3Client(config.s3, () => {});
  const earlier = await (config.databaseUrl === null
    ? openFolders(config.dataDir)
    : openSchemas(config, config.databaseUrl));
  try {
    if (earlier.owner === null) throw new Error('There is no data to move. Check DATA_DIR and DATABASE_URL.');
    await claimBucket(client, earlier.owner, false);
    for (const [store, from] of earlier.blobs) {
      const { blobs, bytes } = await moveBlobs(from, new S3Blobs(client, store, systemClock), systemClock.now());
      console.log(`${store}: ${blobs} files, ${(bytes / 1024 / 1024).toFixed(1)} MB moved.`);
    }
  } finally {
    await earlier.close();
    client.close();
  }
}

async function openFolders(dataDir: string): Promise<EarlierStores> {
  const { FileBlobs } = await import('./base/file-blobs.ts');
  const { readStoreEpoch } = await import('./database/sqlite/store-files.ts');
  const folder = join(dataDir, 'applications');
  const main = join(folder, `${mainStoreName}.db`);
  if (!existsSync(main)) return { owner: null, blobs: [], close: async () => {} };
  const stores = readdirSync(folder).flatMap((name) => /^(.+)\.files$/.exec(name)?.[1] ?? []);
  return {
    owner: readStoreEpoch(main),
    blobs: stores.map((store) => [store, new FileBlobs(join(folder, `${store}.files`))]),
    close: async () => {},
  };
}

async function openSchemas(config: Config, url: string): Promise<EarlierStores> {
  const { DatabaseBlobs } = await import('./database/blob-rows.ts');
  const { readStores } = await import('./database/application-rows.ts');
  const { readEpoch } = await import('./database/catalogue.ts');
  const { openPostgresStore } = await import('./open-stores.ts');
  const open = await openPostgresStore(config, url);
  const main = await open(mainStoreName);
  const databases = new Map([[mainStoreName, main]]);
  for (const store of await readStores(main)) if (!databases.has(store)) databases.set(store, await open(store));
  return {
    owner: await readEpoch(main),
    blobs: [...databases].map(([store, database]) => [store, new DatabaseBlobs(database, systemClock)]),
    close: async () => {
      for (const database of databases.values()) await database.close();
    },
  };
}
