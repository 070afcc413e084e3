/**
 * The composition root: from a configuration to a running server. Only this file and open-stores.ts know both engines.
 */
import { join } from 'node:path';
import { Application, type CommonParts, mainApplicationName } from './applications/application.ts';
import { Applications, type ApplicationsParts } from './applications/applications.ts';
import {
  addFirstAdmin,
  applicationHasUsers,
  migrateSystemCollections,
  prepareStore,
} from './applications/bootstrap.ts';
import { makeSetupToken } from './applications/first-admin.ts';
import { StoredSettings } from './applications/stored-settings.ts';
import { backupsFolder, toBackupSource } from './base/backup-config.ts';
import { type Clock, systemClock } from './base/clock.ts';
import { ConcurrencyLimiter } from './base/concurrency-limiter.ts';
import { type Config, listAppKeys } from './base/config.ts';
import { CachingDnsResolver, type DnsResolver } from './base/dns-resolver.ts';
import { type Logger, makeLogger } from './base/logger.ts';
import { MailSecrets } from './base/mail-secrets.ts';
import { OutboundClient } from './base/outbound.ts';
import { OutboundAllow } from './base/outbound-address.ts';
import { createLiveLimits, RuntimeSettings } from './base/runtime-settings.ts';
import { ServerHealth } from './base/server-health.ts';
import { listenFailure } from './base/start-failure.ts';
import { SystemMailer } from './base/system-mailer.ts';
import { makeToken } from './base/token.ts';
import type { Tracing } from './base/tracing/tracing.ts';
import type { SyncFile } from './database/sqlite/durability.ts';
import type { Extension } from './extensions/extension.ts';
import { loadExtensions } from './extensions/load-extensions.ts';
import { ThumbnailPool } from './files/thumbnail-pool.ts';
import type { AccountSettings, MailSettings } from './http/account-settings.ts';
import { HttpServer } from './http/http-server.ts';
import { hashPassword } from './identity/password.ts';
import { normaliseEmail } from './identity/sign-in.ts';
import { type ConnectConfig, createConnectServices, type MailNetwork } from './mail/connect/connect-services.ts';
import type { MailServices } from './mail/mail-store.ts';
import { ParsePool } from './mail/parse/parse-pool.ts';
import { createSyncServices, type SyncTimes } from './mail/sync/sync-services.ts';
import { mainStoreName, type OpenedStores, openStores } from './open-stores.ts';
import { writeOperatorFile } from './operator-file.ts';
import { ApiError } from './protocol/api-error.ts';
import { countReaders, ReaderPool } from './readers/reader-pool.ts';

/** Maximum concurrent messages to webhooks. */
const maxMessagesPerHost = 4;
const maxMessages = 256;

export interface ServerOptions {
  readonly config: Config;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Replaces the disk sync of SQLite; for tests of what happens before it and after it fails. */
  readonly syncFile?: SyncFile;
  /** Replaces the resolution of hosts and the requests by HTTP of mail accounts; for tests without a network. */
  readonly mailNetwork?: MailNetwork | undefined;
  /** Replaces times of the synchronisation of mail accounts; for tests. */
  readonly mailSyncTimes?: Partial<SyncTimes> | undefined;
  /** Replaces the DNS resolver for checks of the senders of mail; for tests. */
  readonly dns?: DnsResolver;
  /** Whether the server only runs for one command: others do not find it, and it does not upgrade data. Default: false. */
  readonly isForCommand?: boolean;
  /** Replaces the processes that make thumbnails; for tests of their limits. */
  readonly thumbnailPool?: ThumbnailPool | undefined;
}

export interface RunningServer {
  readonly url: string;
  readonly engine: string;
  /** Creates the first admin, once; null if the server has users. A secret: show it only to the operator. */
  readonly setupToken: string | null;
  /** The credential of the command line on this machine. A secret. */
  readonly operatorToken: string;
  readonly applications: Applications;
  readonly health: ServerHealth;
  /** The threads that answer reads; null: none. */
  readonly readers: ReaderPool | null;
  /** Lets requests under way finish within three seconds, then closes the stores. */
  stop(): Promise<void>;
}

/** A server that can be started again in the same process. */
export interface StartedServer extends Omit<RunningServer, 'stop'> {
  stop(steps?: StopSteps): Promise<void>;
}

/** What is done during a stop. */
export interface StopSteps {
  /** Nothing listens on the port. */
  readonly portFree: () => Promise<void>;
  /** All stores are closed, and the data is still locked. */
  readonly storesClosed: () => Promise<void>;
}

/** @throws StartFailure naming the setting and the cause; other errors for unforeseen faults. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { clock = systemClock, logger = makeLogger(options.config.logLevel) } = options;
  const health = new ServerHealth(logger, clock);
  const parts = { options, clock, logger, health };
  const start = (config: Config): Promise<StartedServer> =>
    startOnce({ ...parts, config }, (replaceMain) => void restart(replaceMain));
  const started = start(options.config);
  const restart: ApplicationsParts['restart'] = async (replaceMain) => {
    const { restartServer } = await import('./restart-server.ts');
    restartServer(server, { ...parts, start, replaceMain });
  };
  const stop = async (): Promise<void> => {
    server.isStopped = true;
    return (await server.current).stop();
  };
  const server: RestartableServer = { ...(await started), current: started, isStopped: false, stop };
  return server;
}

/** Its members are those of the server that was started last. */
export interface RestartableServer extends RunningServer {
  /** Rejects if it could not be started again. */
  current: Promise<StartedServer>;
  isStopped: boolean;
}

interface OnceParts extends Omit<StartParts, 'opened' | 'tracing' | 'restart'> {
  readonly options: ServerOptions;
}

async function startOnce(parts: OnceParts, restart: ApplicationsParts['restart']): Promise<StartedServer> {
  const { config, clock, logger, health, options } = parts;
  const plain = await openStores({ config, clock, logger, health, syncFile: options.syncFile });
  const traced = config.tracing && (await import('./trace-server.ts')).traceStores(config, logger, plain);
  const { opened, tracing } = traced ?? { opened: plain, tracing: null };
  try {
    return await startWithStores({ ...parts, opened, tracing, restart });
  } catch (error) {
    await opened.release();
    throw error;
  }
}

interface StartParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: ServerHealth;
  readonly opened: OpenedStores;
  readonly tracing: Tracing | null;
  readonly restart: ApplicationsParts['restart'];
  readonly options: Pick<
    ServerOptions,
    'clock' | 'dns' | 'mailNetwork' | 'mailSyncTimes' | 'thumbnailPool' | 'isForCommand'
  >;
}

interface OpenApplicationsParts extends Pick<ApplicationsParts, 'main' | 'common'> {
  readonly readers: ReaderPool | null;
  readonly runtime: RuntimeSettings;
}

/** Opens `main`, and prepares the other applications and scheduled backups. */
async function openApplications(
  { config, health, opened, restart, options }: StartParts,
  { main, common, readers, runtime }: OpenApplicationsParts,
): Promise<Applications> {
  const applications = new Applications({
    main,
    common,
    stores: opened.stores,
    restart,
    idleMilliseconds: config.applicationIdleSeconds * 1000,
    maxOpen: config.applicationsOpen,
    endSharing: readers ? (application) => readers.endSharing(application) : undefined,
    backups: {
      source: toBackupSource(config),
      appKeys: listAppKeys(config),
      folder: backupsFolder(config),
      settings: () => runtime.current.backups,
      health,
      begins: !options.isForCommand,
    },
    openMoveStores: async () => (await import('./cli-move-locations.ts')).openLocation(config, opened.locations),
  });
  if (runtime.current.backups.schedule !== null)
    await applications.backups().catch(async (error: unknown) => {
      await applications.close();
      throw error;
    });
  return applications;
}

async function startWithStores(parts: StartParts): Promise<StartedServer> {
  const { config, logger, health, opened, tracing } = parts;
  const extensions = await loadExtensions(config.extensionsDir);
  const parser = new ParsePool();
  const runtime = new RuntimeSettings(config, logger);
  const mailer = new SystemMailer(runtime, logger);
  const common = createCommonParts(parts, extensions, { parser, mailer, runtime });
  if (tracing) (await import('./trace-server.ts')).traceSystemMail(tracing, mailer);
  const main = await openMain(opened, common, config);
  const settings = createStoredSettings(main, runtime, config);
  const prepared = opened.checkFiles(main.database).then(() => settings.open());
  await prepared.catch(async (error: unknown) => {
    await main.close();
    throw error;
  });
  main.webhooks.begin();
  main.mail.begin();
  main.imports.begin();
  const readers = createReaderPool(parts, extensions);
  const applications = await openApplications(parts, { main, common, readers, runtime });
  const accounts = createAccountSettings(runtime, mailer);
  const operatorToken = makeToken('tbo');
  const served = { applications, config, settings, logger, accounts, extensions, health, readers, tracing };
  const http = new HttpServer({ ...served, operatorToken });
  const url = await http.listen().catch(async (error: unknown) => {
    await applications.close();
    throw listenFailure(config.host, config.port, error);
  });
  opened.announce(url);
  const removeOperatorFile = parts.options.isForCommand ? null : writeOperatorFile(config.dataDir, url, operatorToken);
  health.begin();
  readers?.begin(http, applications);
  watchSchedule(runtime, applications, logger);
  const delayWatch = main.database.eventLog.watchDelays(health.reporter('events'));
  const starting = applications
    .begin()
    .catch((error: unknown) => logger.error({ err: error }, 'The applications could not be started.'));
  const stop = async (steps?: StopSteps): Promise<void> => {
    delayWatch.close();
    try {
      await Promise.all([stopServing(http, mailer), readers?.stop(), settings.close()]);
      await steps?.portFree();
      common.thumbnailPool.close();
      await applications.close();
      await parser.close();
      await starting;
      await tracing?.close();
      await steps?.storesClosed();
    } finally {
      removeOperatorFile?.();
      await opened.release();
    }
  };
  const setupToken = (await applicationHasUsers(main)) ? null : await makeSetupToken(main);
  return { url, operatorToken, engine: main.database.dialect.name, setupToken, applications, health, readers, stop };
}

/** Starts the backup schedule whenever it is changed. */
function watchSchedule(runtime: RuntimeSettings, applications: Applications, logger: Logger): void {
  let { schedule } = runtime.current.backups;
  runtime.watch(({ backups }) => {
    if (backups.schedule === schedule) return;
    schedule = backups.schedule;
    applications
      .startBackupSchedule()
      .catch((error: unknown) => logger.warn({ err: error }, 'The backup schedule could not be started.'));
  });
}

/** Threads that share the port and answer reads; null if there are none. They cannot use the clock of a test. */
function createReaderPool(
  { config, logger, health, opened, options }: StartParts,
  extensions: readonly Extension[],
): ReaderPool | null {
  const { sharing } = opened;
  const count = sharing && !options.clock ? countReaders(config.readers, logger) : 0;
  if (!sharing || count === 0) return null;
  return new ReaderPool({ config, sharing, logger, report: health.reporter('readers'), count, extensions });
}

/** The parts that all applications of the server share. */
function createCommonParts(
  { config, clock, logger, health, tracing, options }: StartParts,
  extensions: readonly Extension[],
  { parser, mailer, runtime }: Pick<MailServices, 'parser'> & { mailer: SystemMailer; runtime: RuntimeSettings },
): CommonParts {
  const { appKey, appKeyPrevious } = config;
  const allow = new OutboundAllow(config.outboundAllow);
  runtime.watch(({ outboundAllow }) => allow.replace(outboundAllow));
  const outbound = {
    client: new OutboundClient({ allow }),
    concurrencyLimiter: new ConcurrencyLimiter(maxMessagesPerHost, maxMessages),
    isDeliveryEnabled: config.webhooks,
    tracing,
  };
  const dns = options.dns ?? new CachingDnsResolver();
  const connectConfig: ConnectConfig = {
    ...config,
    outboundAllow: allow,
    get publicUrl(): string | null {
      return runtime.current.publicUrl;
    },
  };
  const secrets = new MailSecrets({
    key: config.mailSecretKey,
    previousKey: config.mailSecretKeyPrevious,
    file: join(config.dataDir, 'mail-secret.key'),
    logger,
  });
  return {
    clock,
    logger,
    health,
    mailServices: {
      ...createConnectServices(connectConfig, outbound.client, clock, { dns, ...options.mailNetwork }),
      parser,
      get mailer(): SystemMailer | null {
        return mailer.publicUrl === null ? null : mailer;
      },
      secrets,
      push: new OutboundClient({ allow: config.mailPushAllow, setting: 'MAIL_PUSH_ALLOW' }),
      dns: options.dns ?? (config.mailDns ? dns : null),
      sync: createSyncServices(config.mailSync, options.mailSyncTimes),
      delivers: config.mailDelivery,
      tracing,
    },
    thumbnailPool: options.thumbnailPool ?? new ThumbnailPool(),
    mayUpgrade: !options.isForCommand,
    appKey,
    appKeyPrevious,
    ...createLiveLimits(runtime),
    outbound,
    extensions,
  };
}

/** Opens `main`, with its system collections and, if configured, its first user. */
async function openMain(
  { stores, toOperatorError }: OpenedStores,
  common: CommonParts,
  { rootEmail, rootPassword }: Config,
): Promise<Application> {
  /** Errors of the engine are translated for the operator; the server's own errors are clear already. */
  const throwOperatorError = (error: unknown): never => {
    throw error instanceof ApiError ? error : toOperatorError(error);
  };
  const database = await stores.open(mainStoreName, true, true).catch(throwOperatorError);
  const main = new Application({
    ...common,
    name: mainApplicationName,
    database,
    blobs: stores.blobs(mainStoreName, database),
    openJournal: () => stores.openJournal(mainStoreName),
    requireServed: null,
    handOver: null,
  });
  const prepare = async (): Promise<void> => {
    await prepareStore(database, {
      ...common,
      name: mainApplicationName,
      mayCreate: true,
      saveStore: (version) => stores.saveBeforeUpgrade(mainStoreName, version),
    });
    await main.open();
    await migrateSystemCollections(main);
    if (rootEmail && rootPassword) await addRootUser(main, rootEmail, rootPassword);
  };
  await database.withStartupLock(prepare).catch(async (error: unknown) => {
    await main.close().catch(() => {});
    throwOperatorError(error);
  });
  return main;
}

/** Lets requests under way finish, then sends e-mails that are still queued as far as time allows. */
async function stopServing(http: HttpServer, mailer: SystemMailer): Promise<void> {
  const startedAt = performance.now();
  await http.close();
  const remaining = stopTimeoutMilliseconds - (performance.now() - startedAt);
  await mailer.close(Math.max(remaining, minMailMilliseconds));
}

/** Maximum time of a stop before the stores are closed. Queued e-mails get what the requests leave of it. */
const stopTimeoutMilliseconds = 4000;
const minMailMilliseconds = 500;

function createStoredSettings(main: Application, runtime: RuntimeSettings, config: Config): StoredSettings {
  return new StoredSettings({ main, runtime, appKeys: listAppKeys(config) });
}

/** Read from the settings for each request, because they may change. */
function createAccountSettings(runtime: RuntimeSettings, mailer: SystemMailer): AccountSettings {
  return {
    get signUpApplications(): Config['signUpApplications'] {
      return runtime.current.signUpApplications;
    },
    get mail(): MailSettings | null {
      const { queue, publicUrl } = mailer;
      return publicUrl === null ? null : { mailer, queue, publicUrl };
    },
  };
}

async function addRootUser(main: Application, email: string, password: string): Promise<void> {
  if (await applicationHasUsers(main)) return;
  const passwordHash = await hashPassword(password);
  await addFirstAdmin(main, { email: normaliseEmail(email), username: null, nickname: 'Admin', passwordHash });
}
