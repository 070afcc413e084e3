/** The descriptions of all settings. */

import { backupSettings } from './backup-config.ts';
import { mailSettings } from './mail-config.ts';
import { s3Settings } from './s3-config.ts';
import { atRuntime, defineSetting, type Setting } from './setting.ts';
import { tracingSettings } from './tracing-config.ts';

/** What the tools of `/mcp` may do. */
export const mcpAccess = ['off', 'read', 'write'] as const;
export type McpAccess = (typeof mcpAccess)[number];

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
  atRuntime(defineSetting('RATE_LIMIT_SIGN_IN', '10/60s', 'Failed sign-ins per address and per account, or off.'), {
    group: 'limits',
  }),
  defineSetting(
    'TRUSTED_PROXIES',
    '',
    'Addresses or ranges of proxies whose X-Forwarded-For header is trusted, separated by commas.',
  ),
  defineSetting(
    'READERS',
    '',
    'Threads that listen on the same port, answer reads of records on SQLite and plan simple writes (0–64). Empty: the number of processors minus one, at most 8. 0: only the main thread. Not for PostgreSQL: start several servers.',
  ),
  defineSetting('READER_THREADS', '1', 'Worker threads for long reads on SQLite (1–16).'),
  atRuntime(defineSetting('LIMIT_FIELDS', '200', 'Maximum number of fields of a collection.'), {
    group: 'limits',
    range: { min: 1, max: 900, unit: 'fields' },
  }),
  atRuntime(defineSetting('LIMIT_COLLECTIONS', '5000', 'Maximum number of collections of an application.'), {
    group: 'limits',
    range: { min: 1, max: 100_000, unit: 'collections' },
  }),
  atRuntime(
    defineSetting('LIMIT_FILE_MB', '1024', 'Maximum size of an uploaded file, in megabytes of 1,048,576 bytes.'),
    { group: 'limits', range: { min: 1, max: 1_048_576, unit: 'megabytes' } },
  ),
  atRuntime(
    defineSetting(
      'LIMIT_UPLOAD_MB',
      '4096',
      'Maximum size of all files of one request, in megabytes of 1,048,576 bytes.',
    ),
    {
      group: 'limits',
      range: { min: 1, max: 1_048_576, unit: 'megabytes' },
    },
  ),
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
  defineSetting(
    'CITUS_PLACEMENT',
    'fewest',
    'The node for a new application on a Citus cluster. fewest: the node with the fewest applications; smallest: the node whose database is the smallest; or the only nodes to use, such as worker1:5432, separated by commas.',
  ),
  atRuntime(defineSetting('AUDIT_DAYS', '365', 'Number of days for which entries of the audit journal are kept.'), {
    group: 'retention',
    range: { min: 1, max: 36_500, unit: 'days', storedMin: 90 },
  }),
  atRuntime(
    defineSetting(
      'AUDIT_ENTRIES',
      '1000000',
      'Maximum number of administrative actions in the audit journal of an application; for refused requests, a quarter of it.',
    ),
    { group: 'retention', range: { min: 100, max: 1_000_000_000, unit: 'entries', storedMin: 100_000 } },
  ),
  atRuntime(
    defineSetting(
      'EVENTS_DAYS',
      '30',
      'Number of days for which events are kept. Clients that reconnect later must reload.',
    ),
    { group: 'retention', range: { min: 1, max: 36_500, unit: 'days' } },
  ),
  atRuntime(defineSetting('EVENTS_ENTRIES', '1000000', 'Maximum number of events of an application.'), {
    group: 'retention',
    range: { min: 100, max: 1_000_000_000, unit: 'events' },
  }),
  defineSetting(
    'REALTIME_SOCKETS',
    '10000',
    'Maximum number of open realtime connections of this server; one credential can have a tenth of them.',
  ),
  atRuntime(
    defineSetting(
      'ALLOW_SIGN_UP',
      '',
      'Applications in which anyone can sign up, separated by commas, or `*` for all; empty: none.',
    ),
    { group: 'access' },
  ),
  atRuntime(
    defineSetting(
      'SMTP_URL',
      '',
      'Mail server for password reset e-mails, smtp:// or smtps://; empty: no e-mails are sent.',
      true,
    ),
    { group: 'mail' },
  ),
  atRuntime(defineSetting('SMTP_FROM', '', 'Sender of these e-mails.'), { group: 'mail' }),
  atRuntime(defineSetting('PUBLIC_URL', '', 'Public URL of the server, for links in e-mails.'), { group: 'mail' }),
  defineSetting(
    'CORS_ORIGINS',
    '',
    'Origins whose pages may call the server, separated by commas, or `*` for all; empty: none.',
  ),
  atRuntime(
    defineSetting(
      'OUTBOUND_ALLOW',
      '',
      'Hosts, addresses or ranges inside the network that webhooks may be sent to, separated by commas; empty: only public addresses.',
    ),
    { group: 'network' },
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
  atRuntime(
    defineSetting(
      'MCP',
      'read',
      'What AI assistants may do at /mcp, within the permissions of their credential: off, read, or write.',
    ),
    { group: 'access', choices: mcpAccess },
  ),
  atRuntime(defineSetting('PRODUCT_TITLE', '', 'Title of the web interface, at most 60 characters; empty: Tablinum.'), {
    group: 'appearance',
  }),
  atRuntime(
    defineSetting(
      'ACCENT_COLOR',
      '',
      'Accent colour of the web interface, such as #7a3cc2; it is darkened if text would be hard to read; empty: the accent colour of Tablinum.',
    ),
    { group: 'appearance' },
  ),
  ...tracingSettings,
  defineSetting('EXTENSIONS_DIR', '', 'Folder of TypeScript modules that extend the server; empty: none.'),
];
