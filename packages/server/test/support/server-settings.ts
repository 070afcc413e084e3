/** What servers of the tests are told, unless a test says otherwise. */
export const rootEmail = 'root@example.com';
export const rootPassword = 'correct horse battery';

export const serverSettings = {
  PORT: '0',
  APP_KEY: 'a key for tests only, long enough to be quiet',
  INIT_ROOT_EMAIL: rootEmail,
  INIT_ROOT_PASSWORD: rootPassword,
  LOG_LEVEL: 'silent',
  RATE_LIMIT_CREDENTIAL: 'off',
  RATE_LIMIT_ANONYMOUS: 'off',
  RATE_LIMIT_SIGN_IN: 'off',
  // The PostgreSQL of the tests does not wait for the disk.
  DATABASE_DURABILITY: 'unchecked',
} as const;

/** Settings by which the birth of a store would be another one. */
export const birthSettings = ['APP_KEY', 'INIT_ROOT_EMAIL', 'INIT_ROOT_PASSWORD'];

/** The PostgreSQL database in which a server has just been born. */
export const bornDatabase = 'born';
