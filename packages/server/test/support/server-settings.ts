export const rootEmail = 'root@example.com';
export const rootPassword = 'correct horse battery';

/** The default settings of servers in tests. */
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
  // Tests that synchronise mail accounts with their own mail server set this to on.
  MAIL_SYNC: 'off',
  // The PostgreSQL of the tests does not wait for the disk.
  DATABASE_DURABILITY: 'unchecked',
  // Tests do not query real name servers; those that need records have their own resolver.
  MAIL_DNS: 'off',
} as const;

/** Settings that change what the bootstrap of a store creates. */
export const bootstrapSettings = ['APP_KEY', 'INIT_ROOT_EMAIL', 'INIT_ROOT_PASSWORD'];

/** The PostgreSQL database that a server has bootstrapped. */
export const bootstrappedDatabase = 'bootstrapped';
