/** The two locations of `tablinum move`: the stores of an application in a folder or in a PostgreSQL database. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { BlobStore } from './base/blob-store.ts';
import { systemClock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import type { MoveSource } from './database/move/move-stores.ts';
import type { SchemaLocations } from './database/postgres/schema-locations.ts';
import type { SchemaSource } from './database/postgres/schema-snapshot.ts';
import { findLocations, mainStoreName, openPostgresStore, schemaName } from './open-stores.ts';
import type { CopyTarget } from './transfer/move/copy-target.ts';
import { LocalCopyTarget, type OpenTarget } from './transfer/move/local-target.ts';

/** The settings that say where data is. */
export type LocationConfig = Pick<Config, 'dataDir' | 'databaseUrl' | 'databaseConnections' | 'citusPlacement' | 's3'>;

/** The stores of the application and its bytes, opened. */
export interface OpenSource {
  readonly reader: MoveSource;
  readonly blobs: BlobStore;
  close(): Promise<void>;
}

/** Where an application is moved to. */
export interface MoveDestination {
  /** The location as the operator named it, without a password. */
  readonly name: string;
  /** @returns null if `main` does not list the application. */
  findStore(application: string): Promise<string | null>;
  /** Changes nothing. @throws Error if it cannot receive the application. @param move the id of the move. */
  check(application: string, move: string): Promise<void>;
  /** Opens the part of the location in which the copy is built. */
  openCopy(store: string, move: string): Promise<CopyTarget>;
  /**
   * Puts the complete copy in the place of the store, which no server may have open. It can be repeated.
   *
   * @param milliseconds how long it may take. @throws Error if it takes longer; the replacement may still take effect
   * later.
   */
  replace(store: string, move: string, milliseconds: number): Promise<void>;
}

/** A location with applications, and the `main` that lists them. */
export interface MoveLocation extends Pick<MoveDestination, 'name' | 'findStore'> {
  openSource(store: string): Promise<OpenSource>;
  /** Opens the part of the location in which the copy is built. No server uses it. */
  openTarget(store: string): Promise<OpenTarget>;
  /** Puts the complete copy in the place of the store, which no server may have open. */
  replace(store: string): Promise<void>;
}

export function toDestination(location: MoveLocation): MoveDestination {
  return {
    name: location.name,
    findStore: location.findStore,
    check: async () => {},
    openCopy: async (store) => new LocalCopyTarget(await location.openTarget(store)),
    replace: (store, _move, milliseconds) => waitAtMost(milliseconds, location.replace(store)),
  };
}

/**
 * Waits for a limited time. If PostgreSQL waits for a lock of another program, its statement runs on after that, and
 * the copy is not used again.
 */
async function waitAtMost<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const message = `It took longer than ${Math.ceil(milliseconds / 1000)} s.`;
  const timer = setTimeout(() => reject(new Error(message)), milliseconds);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The location that a configuration names.
 *
 * @param locations those of a server, so that its limit of connections holds for the stores that are opened here too.
 * @throws Error if a server has never been started on it.
 */
export async function openLocation(
  config: LocationConfig,
  locations: SchemaLocations | null = null,
): Promise<MoveLocation> {
  const { databaseUrl } = config;
  if (databaseUrl === null) return openFolder(config);
  return openDatabase(config, databaseUrl, locations ?? (await findLocations(config, databaseUrl)));
}

async function openFolder(config: LocationConfig): Promise<MoveLocation> {
  const { SqliteMoveTarget, findSqliteStore, replaceFiles } = await import('./database/sqlite/sqlite-move.ts');
  const { SqliteMoveSource } = await import('./database/sqlite/sqlite-move-snapshot.ts');
  const { FileBlobs } = await import('./base/file-blobs.ts');
  const folder = join(config.dataDir, 'applications');
  const main = join(folder, `${mainStoreName}.db`);
  if (!existsSync(main))
    throw new Error(
      `The folder "${config.dataDir}" contains no data of a Tablinum server. Start a server on it once, and try again.`,
    );
  const filesOf = (root: string, store: string): { readonly database: string; readonly journal: string } => ({
    database: join(root, `${store}.db`),
    journal: join(root, `${store}.audit.db`),
  });
  const part = (store: string): string => join(config.dataDir, `move-${store}`);
  return {
    name: resolve(config.dataDir),
    findStore: async (application) => findSqliteStore(main, application),
    openSource: async (store) => {
      const reader = new SqliteMoveSource(filesOf(folder, store));
      const files = new FileBlobs(join(folder, `${store}.files`));
      const bucket = await openBucket(config, store, files).catch(closeAfter(reader));
      return {
        reader,
        blobs: bucket.blobs,
        close: async () => {
          bucket.close();
          await reader.close();
        },
      };
    },
    openTarget: async (store) => {
      const target = await SqliteMoveTarget.open(filesOf(part(store), store));
      return { target, blobs: new FileBlobs(join(folder, `${store}.files`)), close: () => target.close() };
    },
    replace: async (store) => {
      await replaceFiles(filesOf(part(store), store), filesOf(folder, store));
      await rm(part(store), { recursive: true, force: true });
    },
  };
}

async function openDatabase(config: LocationConfig, url: string, locations: SchemaLocations): Promise<MoveLocation> {
  const { PostgresMoveTarget } = await import('./database/postgres/postgres-move.ts');
  const { findPostgresStore, replaceSchema } = await import('./database/postgres/postgres-move-place.ts');
  const { PostgresMoveSource } = await import('./database/postgres/postgres-move-snapshot.ts');
  const { DatabaseBlobs } = await import('./database/blob-rows.ts');
  /** Finds the database server that has a store; on a Citus cluster, the node. */
  const locate = async (store: string): Promise<SchemaSource> => {
    const schema = schemaName(store);
    const { url, budget } = await locations.find(schema);
    return { url, budget, schema };
  };
  const locatePart = async (store: string): Promise<SchemaSource> => ({
    ...(await locate(store)),
    schema: part(store),
  });
  const part = (store: string): string => `${schemaName(store)}_part`;
  const openStore = await openPostgresStore(config, url, locations);
  const { host, pathname } = new URL(url);
  return {
    name: `postgres://${host}${pathname}`,
    findStore: async (application) => findPostgresStore(await locate(mainStoreName), application),
    openSource: async (store) => {
      const reader = await PostgresMoveSource.open(await locate(store));
      const database = await openStore(store).catch(closeAfter(reader));
      const bucket = await openBucket(config, store, new DatabaseBlobs(database, systemClock)).catch(
        closeAfter(database, reader),
      );
      return {
        reader,
        blobs: bucket.blobs,
        close: async () => {
          bucket.close();
          await Promise.all([database.close(), reader.close()]);
        },
      };
    },
    openTarget: async (store) => {
      await locations.requireNotMoving(schemaName(store));
      const place = await locatePart(store);
      const target = await PostgresMoveTarget.open(place);
      // From now on, moves to another node are refused. One may have begun before that.
      await locations.requireNotMoving(schemaName(store)).catch(closeAfter(target));
      await target.createFixedTables().catch(closeAfter(target));
      const { openPostgres } = await import('./database/postgres/postgres-open.ts');
      const pool = { poolSize: 1, requireDurable: false };
      const database = await openPostgres({ ...place, ...pool }, false).catch(closeAfter(target));
      return {
        target,
        blobs: new DatabaseBlobs(database, systemClock),
        close: async () => {
          await Promise.all([database.close(), target.close()]);
        },
      };
    },
    replace: async (store) => replaceSchema(await locate(store), part(store)),
  };
}

/**
 * Creates an error handler for opening several parts: if the next part cannot be opened, it closes the previous ones.
 */
function closeAfter(...opened: readonly { close(): Promise<void> }[]): (error: unknown) => Promise<never> {
  return async (error) => {
    for (const each of opened) await each.close().catch(() => {});
    throw error;
  };
}

/** Opens the blobs of the source: those in its bucket, if it has one, and those from before the bucket was set. */
async function openBucket(
  { s3 }: LocationConfig,
  store: string,
  earlier: BlobStore,
): Promise<{ readonly blobs: BlobStore; close(): void }> {
  if (s3 === null) return { blobs: earlier, close: () => {} };
  const { S3Client } = await import('./base/s3-client.ts');
  const { S3Blobs } = await import('./base/s3-blobs.ts');
  const { MovedBlobs } = await import('./base/moved-blobs.ts');
  const client = new S3Client(s3, () => {});
  return {
    blobs: new MovedBlobs(new S3Blobs(client, store, systemClock), earlier),
    close: () => client.close(),
  };
}
