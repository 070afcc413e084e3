export const rootEmail = 'root@example.com';
export const rootPassword = 'correct horse battery';

/** The settings of servers in tests, unless a test sets others. */
export const serverSettings = {
  PORT: '0',
  APP_KEY: 'a key for tests only, long enough to be quiet',
  INIT_ROOT_EMAIL: rootEmail,
  INIT_ROOT_PASSWORD: rootPassword,
  LOG_LEVEL: 'silent',
  RATE_LIMIT_CREDENTIAL: 'off',
  RATE_LIMIT_ANONYMOUS: 'off',
  RATE_LIMIT_SIGN_IN: 'off',
  // Tests of reader threads set this to 2.
  READERS: '0',
  // Tests of mail accounts that are synchronised with a server of their own set this to on.
  MAIL_SYNC: 'off',
  // The PostgreSQL of the tests does not wait for the disk.
  DATABASE_DURABILITY: 'unchecked',
  // No test asks name servers; those that need records have a resolver of their own.
  MAIL_DNS: 'off',
} as const;

/** Settings that change what the bootstrap of a store creates. */
export const bootstrapSettings = ['APP_KEY', 'INIT_ROOT_EMAIL', 'INIT_ROOT_PASSWORD'];

/** The PostgreSQL database that a server has bootstrapped. */
export const bootstrappedDatabase = 'bootstrapped';
