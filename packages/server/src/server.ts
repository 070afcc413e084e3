/** The composition root: from a configuration to a running server. Alone with cli.ts it knows both engines. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Application, mainName } from './applications/application.ts';
import type { ApplicationStores } from './applications/application-stores.ts';
import { Applications } from './applications/applications.ts';
import { addFirstAdmin, completeBirth, hasUsers, prepareStore } from './applications/birth.ts';
import { makeSetupToken } from './applications/first-admin.ts';
import { BoundedQueue } from './base/bounded-queue.ts';
import { type Clock, systemClock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import { Lanes } from './base/lanes.ts';
import { type Logger, makeLogger } from './base/logger.ts';
import { MailSecrets } from './base/mail-secrets.ts';
import { OutboundClient } from './base/outbound.ts';
import { OutboundAllow } from './base/outbound-address.ts';
import type { Database } from './database/database.ts';
import { DatabaseBlobs } from './database/mail/blob-rows.ts';
import type { SyncFile } from './database/sqlite/durability.ts';
import { loadExtensions } from './extensions/load-extensions.ts';
import type { MailSettings } from './http/account-settings.ts';
import { HttpServer } from './http/http-server.ts';
import { hashPassword } from './identity/password.ts';
import { emailForm } from './identity/sign-in.ts';
import { FileBlobs } from './mail/blobs/file-blobs.ts';
import { ParsePool } from './mail/parse/parse-pool.ts';

/** Messages to webhooks that are under way at once. */
const messagesPerHost = 4;
const messagesInAll = 256;

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
  /** Makes the first admin, once, where nobody is there yet; to be shown to whoever started the server, and nobody else. */
  readonly setupToken: string | null;
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
  const extensions = await loadExtensions(config.extensionsDir);
  const stores = await openStores(config, clock, syncFile);
  const database = await stores.open(mainStore, true);
  const { appKey, appKeyPrevious, maximumFields, maximumCollections } = config;
  const audit = { days: config.auditDays, entries: config.auditEntries };
  const outbound = {
    client: new OutboundClient({ allow: config.outboundAllow }),
    lanes: new Lanes(messagesPerHost, messagesInAll),
  };
  const parser = new ParsePool();
  const mailMeans = {
    parser,
    secrets: new MailSecrets({
      key: config.mailSecretKey,
      former: config.mailSecretKeyPrevious,
      file: join(config.dataDir, 'mail-secret.key'),
      logger: log,
    }),
    allowed: new OutboundAllow(config.mailAllowedPrivateHosts),
    outbound: outbound.client,
  };
  const common = {
    clock,
    logger: log,
    mailMeans,
    appKey,
    appKeyPrevious,
    maximumFields,
    maximumCollections,
    audit,
    outbound,
    extensions,
    events: { days: config.eventsDays, entries: config.eventsEntries },
  };
  const openJournal = (): ReturnType<ApplicationStores['openJournal']> => stores.openJournal(mainStore);
  const blobs = stores.blobs(mainStore, database);
  const main = new Application({ ...common, name: mainName, database, blobs, openJournal, requireServed: null });
  await database.alone(async () => {
    await prepareStore(database, mainName, true);
    await main.open();
    await completeBirth(main);
    const { rootEmail, rootPassword } = config;
    if (rootEmail && rootPassword) await addRoot(main, rootEmail, rootPassword);
  });
  main.webhooks.begin();
  main.mail.begin();
  const applications = new Applications({
    main,
    common,
    stores,
    idleMilliseconds: config.applicationIdleSeconds * 1000,
    mostOpen: config.applicationsOpen,
  });
  const mail = await mailOf(config, log);
  const accounts = { signUpApplications: config.signUpApplications, mail };
  const http = new HttpServer({ applications, config, logger: log, accounts, extensions });
  const url = await http.listen();
  const begun = applications.begin().catch((error: unknown) => log.error({ err: error }, 'applications did not start'));
  const stop = async (): Promise<void> => {
    await http.close();
    await mail?.queue.close(mailPatienceMilliseconds);
    mail?.mailer.close();
    await applications.close();
    await parser.close();
    await begun;
  };
  const setupToken = (await hasUsers(main)) ? null : await makeSetupToken(main);
  return { url, engine: database.dialect.name, setupToken, applications, stop };
}

/** Mails that wait at most, and how long a stop waits for them. */
const mostMails = 200;
const mailPatienceMilliseconds = 5000;

/** Loaded only where it is used, as engines are. */
async function mailOf({ smtp, publicUrl }: Config, logger: Logger): Promise<MailSettings | null> {
  if (!smtp || !publicUrl) return null;
  const { smtpMailer } = await import('./base/mailer.ts');
  const mailer = smtpMailer(smtp.url, smtp.from);
  // What a mail server says may hold addresses: its code is enough.
  const failed = (error: unknown): void =>
    logger.warn({ code: (error as { code?: unknown }).code }, 'a mail could not be sent');
  return { mailer, queue: new BoundedQueue(mostMails, failed), publicUrl };
}

const mainStore = '1';
/** Connections that an application besides `main` takes at most, and how long it keeps them unused. */
const smallPool = 4;
const idleMilliseconds = 2000;

/** An engine is loaded only where it is used: it costs start-up time and memory. */
async function openStores(config: Config, clock: Clock, syncFile: SyncFile | undefined): Promise<ApplicationStores> {
  if (config.databaseUrl !== null) return postgresStores(config, config.databaseUrl, clock);
  const { SqliteDatabase, removeSqlite } = await import('./database/sqlite/sqlite-database.ts');
  const pathOf = (store: string): string => join(config.dataDir, 'applications', `${store}.db`);
  const filesOf = (store: string): string => join(config.dataDir, 'applications', `${store}.files`);
  const journalPathOf = (store: string): string => join(config.dataDir, 'applications', `${store}.audit.db`);
  const opened = (path: string, mayMake: boolean): Database => {
    const options = { path, readerThreads: config.readerThreads, mayMake };
    return new SqliteDatabase({ ...options, ...(syncFile && { syncFile }) });
  };
  return {
    open: async (store, mayMake) => opened(pathOf(store), mayMake),
    openJournal: async (store) => opened(journalPathOf(store), true),
    blobs: (store) => new FileBlobs(filesOf(store)),
    remove: async (store) => {
      await rm(filesOf(store), { recursive: true, force: true });
      for (const path of [pathOf(store), journalPathOf(store)]) removeSqlite(path);
    },
  };
}

async function postgresStores(config: Config, url: string, clock: Clock): Promise<ApplicationStores> {
  const { dropPostgres, openPostgres } = await import('./database/postgres/postgres-open.ts');
  const { ConnectionBudget } = await import('./database/postgres/connection-budget.ts');
  const budget = new ConnectionBudget(config.databaseConnections);
  const schemaOf = (store: string): string => `app_${store.replaceAll('-', '')}`;
  return {
    open: (store, mayMake) => {
      const main = store === mainStore;
      const pool = main
        ? { poolSize: config.poolSize, idleMilliseconds: 10_000 }
        : { poolSize: Math.min(config.poolSize, smallPool), idleMilliseconds };
      return openPostgres({ url, schema: schemaOf(store), budget, ...pool }, mayMake);
    },
    openJournal: async () => null,
    blobs: (_, database) => new DatabaseBlobs(database, clock),
    remove: (store) => dropPostgres(url, schemaOf(store)),
  };
}

async function addRoot(main: Application, email: string, password: string): Promise<void> {
  if (await hasUsers(main)) return;
  const passwordHash = await hashPassword(password);
  await addFirstAdmin(main, { email: emailForm(email), username: null, nickname: 'Admin', passwordHash });
}
