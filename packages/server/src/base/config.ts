import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type BackupConfig, backupSettings, readBackupConfig } from './backup-config.ts';
import { type MailConfig, mailSettings, readMailConfig } from './mail-config.ts';
import { OutboundAllow } from './outbound-address.ts';
import { readS3Config, type S3Config, s3Settings } from './s3-config.ts';
import { ConfigError, defineSetting, parseChoice, parseInteger, type Setting } from './setting.ts';

/** A rate limit: at most `points` in `seconds`. */
export interface RateLimit {
  readonly points: number;
  readonly seconds: number;
}

export interface Config extends MailConfig {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly appKey: string;
  /** True if APP_KEY is not set: credentials are then invalid after a restart. */
  readonly appKeyIsRandom: boolean;
  readonly appKeyPrevious: string | null;
  readonly rootEmail: string | null;
  readonly rootPassword: string | null;
  readonly logLevel: string;
  /** Requests that take longer are logged, in milliseconds; null: none. */
  readonly slowRequestMilliseconds: number | null;
  /** The secret of /metrics; null: only this machine may read it. */
  readonly metricsToken: string | null;
  readonly rateLimitCredential: RateLimit | null;
  readonly rateLimitAnonymous: RateLimit | null;
  readonly rateLimitSignIn: RateLimit | null;
  readonly trustedProxies: string | null;
  readonly readerThreads: number;
  /** Threads that answer reads on SQLite; null: as many as the machine has processors to spare. */
  readonly readers: number | null;
  /** `required`: refuse a PostgreSQL that may lose acknowledged writes in a crash. */
  readonly databaseDurability: 'required' | 'unchecked';
  readonly poolSize: number;
  readonly maxFields: number;
  readonly maxCollections: number;
  /** Bytes of an uploaded file, and of a whole upload. */
  readonly uploadLimits: { readonly fileBytes: number; readonly requestBytes: number };
  /** Where the bytes of files and e-mails are; null: in `dataDir`, or in PostgreSQL. */
  readonly s3: S3Config | null;
  readonly backups: BackupConfig;
  readonly applicationIdleSeconds: number;
  readonly applicationsOpen: number;
  readonly databaseConnections: number;
  readonly databaseWaitSeconds: number;
  readonly auditDays: number;
  readonly auditEntries: number;
  readonly eventsDays: number;
  readonly eventsEntries: number;
  readonly realtimeSockets: number;
  /** Applications in which anyone may sign up; null for all. */
  readonly signUpApplications: ReadonlySet<string> | null;
  readonly smtp: { readonly url: string; readonly from: string } | null;
  /** The public address of this server, without a trailing slash; null if it is not set. */
  readonly publicUrl: string | null;
  /** Origins whose pages may call the server; null for any. */
  readonly corsOrigins: ReadonlySet<string> | null;
  /** Private hosts, addresses and ranges that webhooks may be sent to. */
  readonly outboundAllow: readonly string[];
  /** False: no webhook is sent. */
  readonly webhooks: boolean;
  /** Whether a store is copied before it is upgraded. */
  readonly upgradeBackup: boolean;
  /** Folder of modules that extend the server; null: none. */
  readonly extensionsDir: string | null;
}

/** Every environment variable that the server reads. */
export const settings: readonly Setting[] = [
  defineSetting('HOST', '127.0.0.1', 'Address to listen on.'),
  defineSetting('PORT', '4180', 'Port to listen on; 0 selects a free port.'),
  defineSetting('DATA_DIR', './data', 'Folder of the SQLite files.'),
  defineSetting('DATABASE_URL', '', 'A postgres:// address; empty means SQLite.', true),
  defineSetting(
    'DATABASE_DURABILITY',
    'required',
    'required: do not start if PostgreSQL can lose acknowledged writes in a crash; unchecked: skip this check.',
  ),
  defineSetting(
    'DATABASE_POOL',
    '10',
    'Maximum number of PostgreSQL connections for `main`; each other application uses at most four.',
  ),
  defineSetting(
    'APP_KEY',
    '',
    'Secret under which API keys and sessions are hashed; if empty, a random key is used until the server stops.',
    true,
  ),
  defineSetting('APP_KEY_PREVIOUS', '', 'The previous APP_KEY, accepted while credentials are rotated.', true),
  defineSetting('INIT_ROOT_EMAIL', '', 'E-mail address of the first administrator, who is created at the first start.'),
  defineSetting('INIT_ROOT_PASSWORD', '', 'Password of the first administrator.', true),
  defineSetting('LOG_LEVEL', 'info', 'fatal, error, warn, info, debug, trace or silent.'),
  defineSetting(
    'SLOW_REQUEST_MS',
    '1000',
    'Requests that take at least this many milliseconds are logged, with names and operators but without values; off: none.',
  ),
  defineSetting(
    'METRICS_TOKEN',
    '',
    'Secret that Prometheus sends to read /metrics, at least 16 characters; empty: only this machine may read it.',
    true,
  ),
  defineSetting('RATE_LIMIT_CREDENTIAL', '6000/10s', 'Requests per credential, or off.'),
  defineSetting('RATE_LIMIT_ANONYMOUS', '100/10s', 'Requests per address without a credential, or off.'),
  defineSetting('RATE_LIMIT_SIGN_IN', '10/60s', 'Failed sign-ins per address and per account, or off.'),
  defineSetting(
    'TRUSTED_PROXIES',
    '',
    'Addresses or ranges of proxies whose X-Forwarded-For header is trusted, separated by commas.',
  ),
  defineSetting(
    'READERS',
    '',
    'Threads that listen on the same port and answer reads of records on SQLite (0–64); empty: one less than the processors, at most 8. 0: only the main thread. Not for PostgreSQL: start several servers.',
  ),
  defineSetting('READER_THREADS', '1', 'Worker threads for long reads on SQLite (1–16).'),
  defineSetting('LIMIT_FIELDS', '200', 'Maximum number of fields of a collection.'),
  defineSetting('LIMIT_COLLECTIONS', '5000', 'Maximum number of collections of an application.'),
  defineSetting('LIMIT_FILE_MB', '1024', 'Maximum size of an uploaded file, in megabytes of 1,048,576 bytes.'),
  defineSetting('LIMIT_UPLOAD_MB', '4096', 'Maximum size of all files of one request, in the same unit.'),
  ...s3Settings,
  ...backupSettings,
  defineSetting(
    'APPLICATION_IDLE_SECONDS',
    '300',
    'An application is closed after this many seconds without a request.',
  ),
  defineSetting(
    'APPLICATIONS_OPEN',
    '100',
    'Maximum number of open applications; beyond it, the least recently used ones are closed.',
  ),
  defineSetting(
    'DATABASE_CONNECTIONS',
    '40',
    'Maximum number of PostgreSQL connections of this server, for all applications together.',
  ),
  defineSetting(
    'DATABASE_WAIT_SECONDS',
    '30',
    'How long the server waits at its start for PostgreSQL to accept connections.',
  ),
  defineSetting('AUDIT_DAYS', '365', 'Number of days for which entries of the audit journal are kept.'),
  defineSetting(
    'AUDIT_ENTRIES',
    '1000000',
    'Maximum number of administrative actions in the audit journal of an application; for refused requests, a quarter of it.',
  ),
  defineSetting(
    'EVENTS_DAYS',
    '30',
    'Number of days for which events are kept. Clients that reconnect later must reload.',
  ),
  defineSetting('EVENTS_ENTRIES', '1000000', 'Maximum number of events of an application.'),
  defineSetting(
    'REALTIME_SOCKETS',
    '10000',
    'Maximum number of open realtime connections of this server; one credential can have a tenth of them.',
  ),
  defineSetting(
    'ALLOW_SIGN_UP',
    '',
    'Applications in which anyone can sign up, separated by commas, or `*` for all; empty: none.',
  ),
  defineSetting(
    'SMTP_URL',
    '',
    'Mail server for password reset e-mails, smtp:// or smtps://; empty: no e-mails are sent.',
    true,
  ),
  defineSetting('SMTP_FROM', '', 'Sender of these e-mails.'),
  defineSetting('PUBLIC_URL', '', 'Public URL of the server, for links in e-mails.'),
  defineSetting(
    'CORS_ORIGINS',
    '',
    'Origins whose pages may call the server, separated by commas, or `*` for all; empty: none.',
  ),
  defineSetting(
    'OUTBOUND_ALLOW',
    '',
    'Hosts, addresses or ranges inside the network that webhooks may be sent to, separated by commas; empty: only public addresses.',
  ),
  defineSetting(
    'WEBHOOKS',
    'on',
    'on or off. Use off for a server on a copy of the data, so that it does not send messages again.',
  ),
  defineSetting(
    'UPGRADE_BACKUP',
    'on',
    'on or off: whether the database of an application is copied before a newer version of the server changes it.',
  ),
  ...mailSettings,
  defineSetting('EXTENSIONS_DIR', '', 'Folder of TypeScript modules that extend the server; empty: none.'),
];

const megabyte = 1024 * 1024;

/** Placeholders: only words such as `test-key`, `change_me` and `your-secret-key`, or digits such as 1234. */
const exampleKeys =
  /^(?:(?:(?:change|replace|me|this|your|my|the|test|dev|demo|example|sample|default|super|app|api|jwt|secret|key|password|token)[-_. ]?)+\d{0,4}|0+|1234\d*)$/i;

/**
 * Reads the configuration from an environment.
 *
 * @throws ConfigError naming the variable and the cure.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const read = (name: string): string => readSetting(env, getSetting(name));
  const optional = (name: string): string | null => read(name) || null;
  const appKey = read('APP_KEY');
  if (exampleKeys.test(appKey)) throw new ConfigError('APP_KEY is a well-known example value. Set a long random text.');
  return {
    host: read('HOST'),
    port: parseInteger('PORT', read('PORT'), 0, 65_535),
    dataDir: read('DATA_DIR'),
    databaseUrl: databaseUrl(optional('DATABASE_URL')),
    appKey: appKey || randomBytes(48).toString('base64url'),
    appKeyIsRandom: appKey === '',
    appKeyPrevious: optional('APP_KEY_PREVIOUS'),
    rootEmail: optional('INIT_ROOT_EMAIL'),
    rootPassword: optional('INIT_ROOT_PASSWORD'),
    logLevel: logLevel(read('LOG_LEVEL')),
    slowRequestMilliseconds:
      read('SLOW_REQUEST_MS') === 'off' ? null : parseInteger('SLOW_REQUEST_MS', read('SLOW_REQUEST_MS'), 1, 3_600_000),
    metricsToken: metricsToken(optional('METRICS_TOKEN')),
    rateLimitCredential: rateLimit('RATE_LIMIT_CREDENTIAL', read('RATE_LIMIT_CREDENTIAL')),
    rateLimitAnonymous: rateLimit('RATE_LIMIT_ANONYMOUS', read('RATE_LIMIT_ANONYMOUS')),
    rateLimitSignIn: rateLimit('RATE_LIMIT_SIGN_IN', read('RATE_LIMIT_SIGN_IN')),
    trustedProxies: trustedProxies(optional('TRUSTED_PROXIES')),
    databaseDurability: parseChoice('DATABASE_DURABILITY', read('DATABASE_DURABILITY'), ['required', 'unchecked']),
    readerThreads: parseInteger('READER_THREADS', read('READER_THREADS'), 1, 16),
    readers: readers(optional('READERS'), optional('DATABASE_URL')),
    poolSize: parseInteger('DATABASE_POOL', read('DATABASE_POOL'), 2, 500),
    maxFields: parseInteger('LIMIT_FIELDS', read('LIMIT_FIELDS'), 1, 900),
    maxCollections: parseInteger('LIMIT_COLLECTIONS', read('LIMIT_COLLECTIONS'), 1, 100_000),
    uploadLimits: {
      fileBytes: parseInteger('LIMIT_FILE_MB', read('LIMIT_FILE_MB'), 1, 1_048_576) * megabyte,
      requestBytes: parseInteger('LIMIT_UPLOAD_MB', read('LIMIT_UPLOAD_MB'), 1, 1_048_576) * megabyte,
    },
    s3: readS3Config(read),
    backups: readBackupConfig(read),
    applicationIdleSeconds: parseInteger('APPLICATION_IDLE_SECONDS', read('APPLICATION_IDLE_SECONDS'), 1, 86_400),
    applicationsOpen: parseInteger('APPLICATIONS_OPEN', read('APPLICATIONS_OPEN'), 1, 10_000),
    databaseConnections: parseInteger('DATABASE_CONNECTIONS', read('DATABASE_CONNECTIONS'), 2, 10_000),
    databaseWaitSeconds: parseInteger('DATABASE_WAIT_SECONDS', read('DATABASE_WAIT_SECONDS'), 0, 3600),
    auditDays: parseInteger('AUDIT_DAYS', read('AUDIT_DAYS'), 1, 36_500),
    auditEntries: parseInteger('AUDIT_ENTRIES', read('AUDIT_ENTRIES'), 100, 1_000_000_000),
    eventsDays: parseInteger('EVENTS_DAYS', read('EVENTS_DAYS'), 1, 36_500),
    eventsEntries: parseInteger('EVENTS_ENTRIES', read('EVENTS_ENTRIES'), 100, 1_000_000_000),
    realtimeSockets: parseInteger('REALTIME_SOCKETS', read('REALTIME_SOCKETS'), 10, 1_000_000),
    signUpApplications: signUpApplications(read('ALLOW_SIGN_UP')),
    smtp: smtp(optional('SMTP_URL'), optional('SMTP_FROM'), optional('PUBLIC_URL')),
    publicUrl: publicUrl(optional('PUBLIC_URL')),
    corsOrigins: corsOrigins(read('CORS_ORIGINS')),
    outboundAllow: outboundAllow('OUTBOUND_ALLOW', read('OUTBOUND_ALLOW')),
    webhooks: parseChoice('WEBHOOKS', read('WEBHOOKS'), ['on', 'off']) === 'on',
    upgradeBackup: parseChoice('UPGRADE_BACKUP', read('UPGRADE_BACKUP'), ['on', 'off']) === 'on',
    ...readMailConfig(read, outboundAllow),
    extensionsDir: optional('EXTENSIONS_DIR'),
  };
}

function getSetting(name: string): Setting {
  const setting = settings.find((each) => each.name === name);
  if (!setting) throw new Error(`Setting "${name}" is not defined.`);
  return setting;
}

function readSetting(env: Readonly<Record<string, string | undefined>>, { name, secret, fallback }: Setting): string {
  const file = secret ? env[`${name}_FILE`] : undefined;
  if (file && env[name]) throw new ConfigError(`${name} and ${name}_FILE are both set. Remove one of them.`);
  if (!file) return env[name]?.trim() || fallback;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new ConfigError(`The file that ${name}_FILE names cannot be read. Check its path and permissions.`);
  }
}

function metricsToken(text: string | null): string | null {
  if (text !== null && !/^\S{16,}$/.test(text))
    throw new ConfigError('METRICS_TOKEN must have at least 16 characters, without spaces.');
  return text;
}

const maxReaders = 64;

function readers(text: string | null, url: string | null): number | null {
  const count = text === null ? null : parseInteger('READERS', text, 0, maxReaders);
  if (count !== null && count > 0 && url !== null)
    throw new ConfigError(
      'READERS is for SQLite, but DATABASE_URL is set. Remove READERS; on PostgreSQL, start several servers.',
    );
  return count;
}

function databaseUrl(text: string | null): string | null {
  if (text !== null && !/^postgres(ql)?:\/\//.test(text))
    throw new ConfigError('DATABASE_URL must start with postgres://.');
  return text;
}

function logLevel(text: string): string {
  if (!['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].includes(text))
    throw new ConfigError('LOG_LEVEL must be fatal, error, warn, info, debug, trace or silent.');
  return text;
}

function rateLimit(name: string, text: string): RateLimit | null {
  if (text === 'off') return null;
  const match = /^([1-9]\d{0,9})\/([1-9]\d{0,4})s$/.exec(text);
  if (!match) throw new ConfigError(`${name} must look like 6000/10s, or be "off".`);
  return { points: Number(match[1]), seconds: Number(match[2]) };
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** `true` means all applications, `false` and `off` mean none: users try these values. */
function signUpApplications(text: string): ReadonlySet<string> | null {
  const names = text === 'false' || text === 'off' ? [] : splitList(text);
  return names.some((name) => name === '*' || name === 'true') ? null : new Set(names);
}

function smtp(url: string | null, from: string | null, address: string | null): Config['smtp'] {
  if (url === null) return null;
  if (!/^smtps?:\/\/[^\s/]+/.test(url)) throw new ConfigError('SMTP_URL must look like smtp://user:password@host:587.');
  if (from === null)
    throw new ConfigError(
      'SMTP_FROM is missing. If SMTP_URL is set, SMTP_FROM must be the sender of e-mails, such as no-reply@example.com.',
    );
  if (address === null)
    throw new ConfigError(
      'PUBLIC_URL is missing. If SMTP_URL is set, PUBLIC_URL must be the address for links in e-mails.',
    );
  return { url, from };
}

function publicUrl(text: string | null): string | null {
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new ConfigError('PUBLIC_URL must look like https://data.example.com.');
  return url.href.replace(/\/+$/, '');
}

function outboundAllow(name: string, text: string): readonly string[] {
  const entries = splitList(text);
  try {
    new OutboundAllow(entries);
  } catch (error) {
    throw new ConfigError(
      `${name}: ${(error as Error).message}. Write for example mail.internal, 10.1.2.3 or 10.0.0.0/8.`,
    );
  }
  return entries;
}

function corsOrigins(text: string): ReadonlySet<string> | null {
  const origins = splitList(text);
  if (origins.includes('*')) return null;
  for (const origin of origins)
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new ConfigError(
        `CORS_ORIGINS contains "${origin}", which is not an origin. Write origins such as https://app.example.com, or *.`,
      );
  return new Set(origins);
}

/** Only addresses and ranges: a mistyped host name must not become a trusted proxy. */
function trustedProxies(text: string | null): string | null {
  for (const each of text === null ? [] : splitList(text)) {
    const [address = '', range, more] = each.split('/');
    const bits = isIP(address) === 6 ? 128 : 32;
    const fits = range === undefined || (/^\d{1,3}$/.test(range) && Number(range) <= bits);
    const named = ['loopback', 'linklocal', 'uniquelocal'].includes(each);
    if (!named && (isIP(address) === 0 || !fits || more !== undefined))
      throw new ConfigError(
        `TRUSTED_PROXIES contains "${each}", which is not an address or range. Write for example 10.0.0.0/8.`,
      );
  }
  return text;
}
