import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  corsOrigins,
  listeningPort,
  outboundAllow,
  type PlacementPolicy,
  placementPolicy,
  splitList,
  trustedProxies,
} from './address-settings.ts';
import { type BackupConfig, readBackupConfig } from './backup-config.ts';
import { type MailConfig, readMailConfig } from './mail-config.ts';
import { readS3Config, type S3Config } from './s3-config.ts';
import {
  ConfigError,
  type NumberRange,
  parseChoice,
  parseInteger,
  type Setting,
  type SettingValues,
} from './setting.ts';
import { type McpAccess, mcpAccess, settings } from './settings.ts';
import { readTracingConfig, type TracingConfig } from './tracing-config.ts';

export { settings } from './settings.ts';

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
  /** Where new applications are placed on a Citus cluster. */
  readonly citusPlacement: PlacementPolicy;
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
  /** What the tools of `/mcp` may do. */
  readonly mcp: McpAccess;
  /** Title of the web interface; null: the name of the product. */
  readonly productTitle: string | null;
  /** Accent colour of the web interface, `#rrggbb` in lower case; null: the accent colour of the product. */
  readonly accentColor: string | null;
  /** Where traces are sent; null: nowhere. */
  readonly tracing: TracingConfig | null;
  /** Folder of modules that extend the server; null: none. */
  readonly extensionsDir: string | null;
  /** The environment that it was read from, including secrets. */
  readonly environment: SettingValues;
}

const megabyte = 1024 * 1024;

/** Placeholders: only words such as `test-key`, `change_me` and `your-secret-key`, or digits such as 1234. */
const exampleKeys =
  /^(?:(?:(?:change|replace|me|this|your|my|the|test|dev|demo|example|sample|default|super|app|api|jwt|secret|key|password|token)[-_. ]?)+\d{0,4}|0+|1234\d*)$/i;

/**
 * Reads the configuration from an environment.
 *
 * @param stored values of settings that can change while the server runs. The environment has priority.
 * @throws ConfigError naming the variable and the cure.
 */
export function readConfig(env: SettingValues, stored: SettingValues = {}): Config {
  const read = (name: string): string => readSetting(env, stored, getSetting(name));
  const integer = (name: string): number => {
    const { min, max, storedMin = min } = requireRange(getSetting(name));
    return parseInteger(name, read(name), env[name]?.trim() || !stored[name] ? min : storedMin, max);
  };
  const optional = (name: string): string | null => read(name) || null;
  const appKey = read('APP_KEY');
  if (exampleKeys.test(appKey)) throw new ConfigError('APP_KEY is a well-known example value. Set a long random text.');
  return {
    host: read('HOST'),
    port: listeningPort(read('PORT')),
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
    maxFields: integer('LIMIT_FIELDS'),
    maxCollections: integer('LIMIT_COLLECTIONS'),
    uploadLimits: {
      fileBytes: integer('LIMIT_FILE_MB') * megabyte,
      requestBytes: integer('LIMIT_UPLOAD_MB') * megabyte,
    },
    s3: readS3Config(read),
    backups: readBackupConfig(read),
    applicationIdleSeconds: parseInteger('APPLICATION_IDLE_SECONDS', read('APPLICATION_IDLE_SECONDS'), 1, 86_400),
    applicationsOpen: parseInteger('APPLICATIONS_OPEN', read('APPLICATIONS_OPEN'), 1, 10_000),
    databaseConnections: parseInteger('DATABASE_CONNECTIONS', read('DATABASE_CONNECTIONS'), 2, 10_000),
    databaseWaitSeconds: parseInteger('DATABASE_WAIT_SECONDS', read('DATABASE_WAIT_SECONDS'), 0, 3600),
    citusPlacement: placementPolicy(read('CITUS_PLACEMENT')),
    auditDays: integer('AUDIT_DAYS'),
    auditEntries: integer('AUDIT_ENTRIES'),
    eventsDays: integer('EVENTS_DAYS'),
    eventsEntries: integer('EVENTS_ENTRIES'),
    realtimeSockets: parseInteger('REALTIME_SOCKETS', read('REALTIME_SOCKETS'), 10, 1_000_000),
    signUpApplications: signUpApplications(read('ALLOW_SIGN_UP')),
    smtp: smtp(optional('SMTP_URL'), optional('SMTP_FROM'), optional('PUBLIC_URL')),
    publicUrl: publicUrl(optional('PUBLIC_URL')),
    corsOrigins: corsOrigins(read('CORS_ORIGINS')),
    outboundAllow: outboundAllow('OUTBOUND_ALLOW', read('OUTBOUND_ALLOW')),
    webhooks: parseChoice('WEBHOOKS', read('WEBHOOKS'), ['on', 'off']) === 'on',
    upgradeBackup: parseChoice('UPGRADE_BACKUP', read('UPGRADE_BACKUP'), ['on', 'off']) === 'on',
    ...readMailConfig(read, outboundAllow),
    mcp: parseChoice('MCP', read('MCP'), mcpAccess),
    productTitle: productTitle(optional('PRODUCT_TITLE')),
    accentColor: accentColor(optional('ACCENT_COLOR')),
    tracing: readTracingConfig(read),
    extensionsDir: optional('EXTENSIONS_DIR'),
    environment: env,
  };
}

function getSetting(name: string): Setting {
  const setting = settings.find((each) => each.name === name);
  if (!setting) throw new Error(`Setting "${name}" is not defined.`);
  return setting;
}

function requireRange({ name, runtime }: Setting): NumberRange {
  if (!runtime?.range) throw new Error(`Setting "${name}" has no range.`);
  return runtime.range;
}

function readSetting(env: SettingValues, stored: SettingValues, { name, secret, fallback, runtime }: Setting): string {
  const file = secret ? env[`${name}_FILE`] : undefined;
  if (file && env[name]) throw new ConfigError(`${name} and ${name}_FILE are both set. Remove one of them.`);
  if (!file) return env[name]?.trim() || (runtime && stored[name]) || fallback;
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

/** `true` means all applications, `false` and `off` mean none: users try these values. */
function signUpApplications(text: string): ReadonlySet<string> | null {
  const names = text === 'false' || text === 'off' ? [] : splitList(text);
  return names.some((name) => name === '*' || name === 'true') ? null : new Set(names);
}

function smtp(url: string | null, from: string | null, address: string | null): Config['smtp'] {
  if (url === null) return null;
  if (!/^smtps?:\/\/[^\s/]+/.test(url) || !URL.canParse(url))
    throw new ConfigError('SMTP_URL must look like smtp://user:password@host:587.');
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

function productTitle(text: string | null): string | null {
  if (text !== null && [...text].length > 60) throw new ConfigError('PRODUCT_TITLE must have at most 60 characters.');
  return text;
}

function accentColor(text: string | null): string | null {
  if (text !== null && !/^#[0-9a-f]{6}$/i.test(text))
    throw new ConfigError('ACCENT_COLOR must be # and six hexadecimal digits, such as #7a3cc2.');
  return text?.toLowerCase() ?? null;
}

function publicUrl(text: string | null): string | null {
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new ConfigError('PUBLIC_URL must look like https://data.example.com.');
  return url.href.replace(/\/+$/, '');
}

/** The current APP_KEY, then the previous one during a rotation. */
export function listAppKeys({ appKey, appKeyPrevious }: Pick<Config, 'appKey' | 'appKeyPrevious'>): readonly string[] {
  return appKeyPrevious === null ? [appKey] : [appKey, appKeyPrevious];
}
