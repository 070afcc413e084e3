/** The composition root: from a configuration to a running server. Alone with cli.ts it knows both engines. */
import { join } from 'node:path';
import { Application, mainApplicationName } from './applications/application.ts';
import type { ApplicationStores } from './applications/application-stores.ts';
import { Applications } from './applications/applications.ts';
import {
  addFirstAdmin,
  applicationHasUsers,
  migrateSystemCollections,
  prepareStore,
} from './applications/bootstrap.ts';
import { makeSetupToken } from './applications/first-admin.ts';
import { BoundedQueue } from './base/bounded-queue.ts';
import { type Clock, systemClock } from './base/clock.ts';
import { ConcurrencyLimiter } from './base/concurrency-limiter.ts';
import type { Config } from './base/config.ts';
import { type Logger, makeLogger } from './base/logger.ts';
import { MailSecrets } from './base/mail-secrets.ts';
import { OutboundClient } from './base/outbound.ts';
import { OutboundAllow } from './base/outbound-address.ts';
import { ServerHealth } from './base/server-health.ts';
import { listenFailure } from './base/start-failure.ts';
import type { SyncFile } from './database/sqlite/durability.ts';
import { loadExtensions } from './extensions/load-extensions.ts';
import type { MailSettings } from './http/account-settings.ts';
import { HttpServer } from './http/http-server.ts';
import { hashPassword } from './identity/password.ts';
import { normaliseEmail } from './identity/sign-in.ts';
import { ParsePool } from './mail/parse/parse-pool.ts';
import { mainStoreName, type OpenedStores, openStores } from './open-stores.ts';
import { ApiError } from './protocol/api-error.ts';

/** Messages to webhooks that are under way at once. */
const maxMessagesPerHost = 4;
const maxMessages = 256;

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
  readonly health: ServerHealth;
  /** Lets requests under way finish within three seconds, then closes the stores. */
  stop(): Promise<void>;
}

/** @throws StartFailure naming the setting and the cause; other errors where something unforeseen happens. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { config, clock = systemClock, logger = makeLogger(config.logLevel), syncFile } = options;
  const health = new ServerHealth(logger, clock);
  const opened = await openStores({ config, clock, logger, health, syncFile });
  try {
    return await startWithStores({ config, clock, log: logger, health, opened });
  } catch (error) {
    opened.release();
    throw error;
  }
}

interface StartParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly health: ServerHealth;
  readonly opened: OpenedStores;
}

async function startWithStores({ config, clock, log, health, opened }: StartParts): Promise<RunningServer> {
  const { stores } = opened;
  /** Errors of the engine are translated into settings for the operator; the server's own errors are clear already. */
  const throwOperatorError = (error: unknown): never => {
    throw error instanceof ApiError ? error : opened.toOperatorError(error);
  };
  const extensions = await loadExtensions(config.extensionsDir);
  const database = await stores.open(mainStoreName, true).catch(throwOperatorError);
  const { appKey, appKeyPrevious, maxFields, maxCollections } = config;
  const audit = { days: config.auditDays, entries: config.auditEntries };
  const outbound = {
    client: new OutboundClient({ allow: config.outboundAllow }),
    concurrencyLimiter: new ConcurrencyLimiter(maxMessagesPerHost, maxMessages),
    isDeliveryEnabled: config.webhooks,
  };
  const parser = new ParsePool();
  const mailServices = {
    parser,
    secrets: new MailSecrets({
      key: config.mailSecretKey,
      previousKey: config.mailSecretKeyPrevious,
      file: join(config.dataDir, 'mail-secret.key'),
      logger: log,
    }),
    allowed: new OutboundAllow(config.mailAllowedPrivateHosts),
    outbound: outbound.client,
  };
  const common = {
    clock,
    logger: log,
    mailServices,
    appKey,
    appKeyPrevious,
    maxFields,
    maxCollections,
    audit,
    outbound,
    extensions,
    events: { days: config.eventsDays, entries: config.eventsEntries },
  };
  const openJournal = (): ReturnType<ApplicationStores['openJournal']> => stores.openJournal(mainStoreName);
  const blobs = stores.blobs(mainStoreName, database);
  const main = new Application({
    ...common,
    name: mainApplicationName,
    database,
    blobs,
    openJournal,
    requireServed: null,
  });
  const prepare = async (): Promise<void> => {
    await prepareStore(database, mainApplicationName, true);
    await main.open();
    await migrateSystemCollections(main);
    const { rootEmail, rootPassword } = config;
    if (rootEmail && rootPassword) await addRootUser(main, rootEmail, rootPassword);
  };
  await database.withStartupLock(prepare).catch(throwOperatorError);
  main.webhooks.begin();
  main.mail.begin();
  const applications = new Applications({
    main,
    common,
    stores,
    idleMilliseconds: config.applicationIdleSeconds * 1000,
    maxOpen: config.applicationsOpen,
  });
  const mail = await openMailer(config, log);
  const accounts = { signUpApplications: config.signUpApplications, mail };
  const http = new HttpServer({ applications, config, logger: log, accounts, extensions, health });
  const url = await http.listen().catch(async (error: unknown) => {
    await applications.close();
    throw listenFailure(config.host, config.port, error);
  });
  opened.announce(url);
  health.begin();
  const delayWatch = database.eventLog.watchDelays(health.reporter('events'));
  const starting = applications
    .begin()
    .catch((error: unknown) => log.error({ err: error }, 'applications did not start'));
  const stop = async (): Promise<void> => {
    const startedAt = performance.now();
    delayWatch.close();
    try {
      await http.close();
      const remaining = stopTimeoutMilliseconds - (performance.now() - startedAt);
      await mail?.queue.close(Math.max(remaining, minMailMilliseconds));
      mail?.mailer.close();
      await applications.close();
      await parser.close();
      await starting;
    } finally {
      opened.release();
    }
  };
  const setupToken = (await applicationHasUsers(main)) ? null : await makeSetupToken(main);
  return { url, engine: database.dialect.name, setupToken, applications, health, stop };
}

const maxQueuedMails = 200;
/** What a stop may take before the stores are closed; mails that are still to be sent get what is left of it. */
const stopTimeoutMilliseconds = 4000;
const minMailMilliseconds = 500;

/** Loaded only where it is used, as engines are. */
async function openMailer({ smtp, publicUrl }: Config, logger: Logger): Promise<MailSettings | null> {
  if (!smtp || !publicUrl) return null;
  const { smtpMailer } = await import('./base/mailer.ts');
  const mailer = smtpMailer(smtp.url, smtp.from);
  // What a mail server says may hold addresses: its code is enough.
  const logFailure = (error: unknown): void =>
    logger.warn({ code: (error as { code?: unknown }).code }, 'a mail could not be sent');
  return { mailer, queue: new BoundedQueue(maxQueuedMails, logFailure), publicUrl };
}

async function addRootUser(main: Application, email: string, password: string): Promise<void> {
  if (await applicationHasUsers(main)) return;
  const passwordHash = await hashPassword(password);
  await addFirstAdmin(main, { email: normaliseEmail(email), username: null, nickname: 'Admin', passwordHash });
}
