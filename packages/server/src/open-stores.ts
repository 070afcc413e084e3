/** Opens the stores of applications on either engine. Only this file and server.ts know both engines. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApplicationStores } from './applications/application-stores.ts';
import type { BlobStore } from './base/blob-store.ts';
import { type Clock, isoTime } from './base/clock.ts';
import type { Config } from './base/config.ts';
import { FileBlobs } from './base/file-blobs.ts';
import type { Logger } from './base/logger.ts';
import type { S3Config } from './base/s3-config.ts';
import type { HealthReporter, ServerHealth } from './base/server-health.ts';
import { folderFailure, isFileFault, postgresFailure, StartFailure, sqliteFailure } from './base/start-failure.ts';
import { DatabaseBlobs } from './database/blob-rows.ts';
import { readEpoch } from './database/catalogue.ts';
import type { Database } from './database/database.ts';
import type { GroupParts, PostgresServerGroup } from './database/postgres/postgres-server-group.ts';
import type { SchemaLocations } from './database/postgres/schema-locations.ts';
import type { StoreSharing } from './database/shared-store.ts';
import type { SyncFile } from './database/sqlite/durability.ts';
import { holdName, type StoreNodes } from './database/store-nodes.ts';

export interface StoreParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: ServerHealth;
  readonly syncFile: SyncFile | undefined;
}

export interface OpenedStores {
  readonly stores: ApplicationStores;
  /** Publishes the URL of this server to other processes. */
  announce(url: string): void;
  /**
   * Checks that files can be stored. Call it when `main` is open.
   *
   * @throws StartFailure if the bucket of files cannot be used.
   */
  checkFiles(main: Database): Promise<void>;
  /** Releases the lock on the data. Call it after all stores are closed. */
  release(): Promise<void>;
  /** Shares stores with other threads; null if the engine cannot. */
  readonly sharing: StoreSharing | null;
  /** The schemas of PostgreSQL, and the limit of connections that all users of them share; null on other engines. */
  readonly locations: SchemaLocations | null;
  /** Converts an error of the engine to one with a message for the operator. */
  toOperatorError(error: unknown): unknown;
}

export const mainStoreName = '1';
/** Maximum number of connections that an application other than `main` uses at the same time. */
const maxApplicationPoolSize = 4;
/** How long a start waits while another server restores `main`. */
const groupMilliseconds = 60_000;

/**
 * Opens the stores. Only the configured engine is loaded, because it costs start-up time and memory.
 *
 * @throws StartFailure if another server uses the folder, or it cannot be used.
 */
export async function openStores(parts: StoreParts): Promise<OpenedStores> {
  const { databaseUrl, s3 } = parts.config;
  const opened = await (databaseUrl === null ? openSqliteStores(parts) : openPostgresStores(parts, databaseUrl));
  return s3 === null ? opened : withBucket(opened, s3, parts);
}

/** Stores whose files are in a bucket. Those from before the bucket was set are still read where they are. */
async function withBucket(
  opened: OpenedStores,
  config: S3Config,
  { clock, health }: Pick<StoreParts, 'clock' | 'health'>,
): Promise<OpenedStores> {
  const { S3Client } = await import('./base/s3-client.ts');
  const { S3Blobs } = await import('./base/s3-blobs.ts');
  const { MovedBlobs } = await import('./base/moved-blobs.ts');
  const { claimBucket, markBucket } = await import('./base/s3-start.ts');
  const client = new S3Client(config, health.reporter('files'));
  const inBucket = (store: string): InstanceType<typeof S3Blobs> => new S3Blobs(client, store, clock);
  const { stores } = opened;
  let owner = '';
  return {
    ...opened,
    stores: {
      ...stores,
      // The marker of the bucket names both the present and the restored data until the next start, which finds one of
      // them in place.
      replaceMain: async (restore) => {
        await markBucket(client, `${owner}\n${restore.epoch}`);
        return stores.replaceMain(restore);
      },
      blobs: (store, database): BlobStore => new MovedBlobs(inBucket(store), stores.blobs(store, database)),
      remove: async (store) => {
        await inBucket(store).destroy();
        await stores.remove(store);
      },
    },
    checkFiles: async (main) => {
      owner = await readEpoch(main);
      await claimBucket(client, owner);
      await markBucket(client, owner);
    },
    release: () => {
      client.close();
      return opened.release();
    },
  };
}

async function openSqliteStores({ config, clock, health, syncFile }: StoreParts): Promise<OpenedStores> {
  const { SqliteDatabase } = await import('./database/sqlite/sqlite-database.ts');
  const { FolderLock } = await import('./database/sqlite/folder-lock.ts');
  const { removeSqlite, requireStoreFile } = await import('./database/sqlite/store-files.ts');
  const { dataDir, readerThreads, upgradeBackup } = config;
  const lock = await FolderLock.acquire(dataDir, isoTime(clock.now())).catch((error: unknown) => {
    throw error instanceof StartFailure ? error : folderFailure('DATA_DIR', dataDir, error);
  });
  if (existsSync(join(dataDir, 'restore.json'))) {
    const { finishRestore } = await import('./database/sqlite/finish-restore.ts');
    await finishRestore(dataDir);
  }
  const storePath = (name: string): string => join(dataDir, 'applications', name);
  // The server is ready as long as `main` can be written: one damaged application does not take the others out of service.
  const reporter = (source: string): HealthReporter => {
    const report = health.reporter(source);
    const isMain = source.startsWith(`${mainStoreName}.db:`);
    return (problem) =>
      report(problem?.severity === 'failing' && !isMain ? { ...problem, severity: 'warning' } : problem);
  };
  const openDatabase = (name: string): InstanceType<typeof SqliteDatabase> =>
    new SqliteDatabase({
      path: storePath(name),
      readerThreads,
      report: { writes: reporter(`${name}: writes`), log: reporter(`${name}: log`) },
      ...(syncFile && { syncFile }),
    });
  const stores: ApplicationStores = {
    nodes: null,
    group: () => null,
    open: async (store, mayCreate) => {
      const name = `${store}.db`;
      requireStoreFile({ path: storePath(name), mayCreate, isMainStore: store === mainStoreName });
      return openDatabase(name);
    },
    openJournal: async (store) => openDatabase(`${store}.audit.db`),
    blobs: (store) => new FileBlobs(storePath(`${store}.files`)),
    saveBeforeUpgrade: async (store, version) => {
      if (!upgradeBackup) return null;
      const { saveStore } = await import('./database/sqlite/save-store.ts');
      return saveStore(storePath(`${store}.db`), join(dataDir, 'upgrade-backups'), version);
    },
    remove: async (store) => {
      for (const path of [storePath(`${store}.files`), join(dataDir, `move-${store}`)])
        await rm(path, { recursive: true, force: true });
      for (const name of [`${store}.db`, `${store}.audit.db`]) removeSqlite(storePath(name));
      const { removeSavedStore } = await import('./database/sqlite/save-store.ts');
      await removeSavedStore(store, join(dataDir, 'upgrade-backups'));
    },
    replaceMain: async (restore) => {
      const { decideMainRestore } = await import('./database/sqlite/restore-main.ts');
      return decideMainRestore(dataDir, mainStoreName, restore);
    },
  };
  const toOperatorError = (error: unknown): unknown =>
    isFileFault(error)
      ? folderFailure('DATA_DIR', storePath(''), error)
      : sqliteFailure(storePath(`${mainStoreName}.db`), error);
  return {
    stores,
    announce: (url) => lock.announce(url),
    checkFiles: async () => {},
    release: async () => lock.release(),
    locations: null,
    sharing: {
      share: (database) => (database as InstanceType<typeof SqliteDatabase>).share(),
      withdraw: (database) => (database as InstanceType<typeof SqliteDatabase>).withdraw(),
    },
    toOperatorError,
  };
}

type LocationSettings = Pick<Config, 'databaseConnections' | 'citusPlacement'>;

/** Finds the servers of the schemas of PostgreSQL. */
export async function findLocations(
  { databaseConnections: connections, citusPlacement: placement }: LocationSettings,
  url: string,
): Promise<SchemaLocations> {
  const { SchemaLocations } = await import('./database/postgres/schema-locations.ts');
  return new SchemaLocations({ url, connections, placement, mainSchema: schemaName(mainStoreName) });
}

/** How a command opens the stores of PostgreSQL, which must exist. */
export async function openPostgresStore(
  config: LocationSettings,
  url: string,
  given: SchemaLocations | null = null,
): Promise<(store: string) => Promise<Database>> {
  const { openPostgres } = await import('./database/postgres/postgres-open.ts');
  const locations = given ?? (await findLocations(config, url));
  const pool = { requireDurable: false, poolSize: 2 };
  return async (store) => {
    const schema = schemaName(store);
    try {
      return await openPostgres({ ...(await locations.find(schema)), schema, ...pool }, false);
    } catch (error) {
      throw postgresFailure(url, error);
    }
  };
}

/** The schema of a store in PostgreSQL. */
export const schemaName = (store: string): string => `app_${store.replaceAll('-', '')}`;

async function openPostgresStores({ config, clock, logger }: StoreParts, url: string): Promise<OpenedStores> {
  const { dropPostgres, openPostgres } = await import('./database/postgres/postgres-open.ts');
  const { beingMoved } = await import('./database/postgres/schema-locations.ts');
  const locations = await findLocations(config, url);
  const startupWait = {
    milliseconds: config.databaseWaitSeconds * 1000,
    report: (fault: Error): void => logger.warn(`waiting for PostgreSQL (DATABASE_URL): ${fault.message}`),
  };
  const placed = new WeakMap<Database, string>();
  let group: PostgresServerGroup | null = null;
  const stores: ApplicationStores = {
    nodes: createNodes(locations, placed),
    group: () => group,
    open: async (store, mayCreate, isServed = false) => {
      const isMain = store === mainStoreName;
      const poolSize = isMain ? config.poolSize : Math.min(config.poolSize, maxApplicationPoolSize);
      const requireDurable = config.databaseDurability === 'required';
      const schema = schemaName(store);
      const retry = isMain ? startupWait : null;
      const location = await (mayCreate ? locations.place(schema, retry) : locations.find(schema, retry));
      const options = { ...location, schema, requireDurable, poolSize, hasReserve: isMain };
      if (isMain && isServed) group = await joinGroup({ url, mainStore: store, mainSchema: schema });
      const served = isServed && !isMain ? group : null;
      const release = served && (await hold(served, store, location.node));
      const database = await openPostgres(options, mayCreate, retry).catch(async (error: unknown) => {
        await release?.();
        const moved = await locations.findMoved(new Map([[schema, location.placed]])).catch(() => []);
        throw moved.length > 0 ? beingMoved() : error;
      });
      if (isMain) await group?.noteMain();
      if (release) releaseWhenClosed(database, release);
      placed.set(database, location.placed);
      return database;
    },
    openJournal: async () => null,
    blobs: (_, database) => new DatabaseBlobs(database, clock),
    saveBeforeUpgrade: async (store, version) => {
      if (!config.upgradeBackup) return null;
      const { saveSchema } = await import('./database/postgres/save-schema.ts');
      const copy = `${schemaName(store)}_version_${version}`;
      const location = await locations.find(schemaName(store));
      await saveSchema(location.url, location.budget, schemaName(store), copy);
      return `schema ${copy}`;
    },
    remove: async (store) => {
      const location = await locations.find(schemaName(store));
      for (const schema of [schemaName(store), `${schemaName(store)}_part`])
        await dropPostgres(location.url, schema, location.budget);
      const { removeSavedSchemas } = await import('./database/postgres/save-schema.ts');
      await removeSavedSchemas(location.url, location.budget, `${schemaName(store)}_version_`);
      await locations.forget(schemaName(store));
    },
    replaceMain: async (restore) => {
      const { exchangeMainSchema } = await import('./database/postgres/restore-main.ts');
      await group?.leaveMain();
      return exchangeMainSchema({ url, store: mainStoreName, schema: schemaName(mainStoreName), ...restore });
    },
  };
  return {
    stores,
    announce: () => {},
    checkFiles: async () => {},
    release: async () => group?.close(),
    sharing: null,
    locations,
    toOperatorError: (error) => postgresFailure(url, error),
  };
}

/** Notes that a store is open, also for its node. @returns removes the notes. @throws what `ServerGroup.hold` throws; nothing is noted then. */
async function hold(group: PostgresServerGroup, store: string, node: number | null): Promise<() => Promise<void>> {
  const held: string[] = [];
  const release = async (): Promise<void> => {
    for (const name of held) await group.release(name);
  };
  try {
    for (const name of node === null ? [store] : [store, holdName(store, node)]) {
      await group.hold(name);
      held.push(name);
    }
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

function releaseWhenClosed(database: Database, release: () => Promise<void>): void {
  const close = database.close.bind(database);
  database.close = () => close().finally(release);
}

/** Waits while another server restores `main`. */
async function joinGroup(parts: GroupParts): Promise<PostgresServerGroup> {
  const { PostgresServerGroup } = await import('./database/postgres/postgres-server-group.ts');
  return PostgresServerGroup.join(parts, groupMilliseconds);
}

/** @param placed where the opened stores were found. */
function createNodes(locations: SchemaLocations, placed: WeakMap<Database, string>): StoreNodes {
  return {
    isCluster: () => locations.isCluster(),
    findMoved: async (opened) => {
      const found = [...opened].map(([store, database]) => [schemaName(store), placed.get(database) ?? ''] as const);
      const moved = new Set(await locations.findMoved(new Map(found)));
      return new Set([...opened.keys()].filter((store) => moved.has(schemaName(store))));
    },
    load: async () => {
      const { CitusNodes } = await import('./database/postgres/citus-nodes.ts');
      return new CitusNodes(locations, schemaName);
    },
  };
}
