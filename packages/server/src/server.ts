/** The composition root: from a configuration to a running server. Alone with cli.ts it knows both engines. */
import { join } from 'node:path';
import { Application } from './applications/application.ts';
import { Applications, mainName } from './applications/applications.ts';
import { addFirstAdmin, completeBirth, hasUsers, prepareStore } from './applications/birth.ts';
import { type Clock, systemClock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import { type Logger, makeLogger } from './base/logger.ts';
import type { Database } from './database/database.ts';
import type { SyncFile } from './database/sqlite/durability.ts';
import { HttpServer } from './http/http-server.ts';

export interface ServerOptions {
  readonly config: Config;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Replaces the disk sync of SQLite; for tests of what happens before it and after it fails. */
  readonly syncFile?: SyncFile;
}

export interface RunningServer {
  readonly url: string;
  readonly engine: string;
  /** False until somebody could sign in. */
  readonly hasUsers: boolean;
  readonly applications: Applications;
  /** Lets requests under way finish, then closes the stores. */
  stop(): Promise<void>;
}

export async function startServer({
  config,
  clock = systemClock,
  logger,
  syncFile,
}: ServerOptions): Promise<RunningServer> {
  const log = logger ?? makeLogger(config.logLevel);
  const database = await openDatabase(config, syncFile);
  const { appKey, appKeyPrevious, maximumFields, maximumCollections } = config;
  const parts = {
    name: mainName,
    database,
    clock,
    logger: log,
    appKey,
    appKeyPrevious,
    maximumFields,
    maximumCollections,
  };
  const main = new Application(parts);
  await database.alone(async () => {
    await prepareStore(database, mainName);
    await main.open();
    await completeBirth(main);
    if (config.rootEmail && config.rootPassword) await addFirstAdmin(main, config.rootEmail, config.rootPassword);
  });
  const applications = new Applications(main);
  const http = new HttpServer({ applications, config, logger: log });
  const url = await http.listen();
  const stop = async (): Promise<void> => {
    await http.close();
    await applications.close();
  };
  return { url, engine: database.dialect.name, hasUsers: await hasUsers(main), applications, stop };
}

/** An engine is loaded only where it is used: it costs start-up time and memory. */
async function openDatabase(config: Config, syncFile: SyncFile | undefined): Promise<Database> {
  if (config.databaseUrl !== null) {
    const { openPostgres } = await import('./database/postgres/postgres-open.ts');
    return openPostgres({ url: config.databaseUrl, schema: 'app_1', poolSize: config.poolSize });
  }
  const { SqliteDatabase } = await import('./database/sqlite/sqlite-database.ts');
  const path = join(config.dataDir, 'applications', '1.db');
  return new SqliteDatabase({ path, readerThreads: config.readerThreads, ...(syncFile && { syncFile }) });
}
