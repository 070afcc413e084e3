/**
 * The program of a server process that tests kill: it prints its address and runs until it is killed. Without arguments
 * it is only loaded.
 */
import { readConfig } from '../../src/base/config.ts';
import { setCheapHashing } from '../../src/identity/password.ts';
import { startServer } from '../../src/server.ts';

const [, , folder, databaseUrl, given = '{}'] = process.argv;
if (folder !== undefined) process.stdout.write(`${await serve(folder)}\n`);

async function serve(dataDir: string): Promise<string> {
  /**
   * Settings. `TEST_SYNC_TIMES`: the times of the synchronisation of mail accounts. `TEST_CLOCK_AHEAD`: milliseconds by
   * which its clock is
   * ahead. `TEST_FULL_HASHING`: password hashes cost as much as those of `tablinum start`.
   */
  const {
    TEST_SYNC_TIMES: mailSyncTimes,
    TEST_CLOCK_AHEAD: ahead = 0,
    TEST_FULL_HASHING: isFullHashing = false,
    ...settings
  } = JSON.parse(given);
  setCheapHashing(!isFullHashing);
  const config = readConfig({
    PORT: '0',
    DATA_DIR: dataDir,
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    APP_KEY: 'a key for tests only, long enough to be quiet',
    INIT_ROOT_EMAIL: 'root@example.com',
    INIT_ROOT_PASSWORD: 'correct horse battery',
    LOG_LEVEL: 'silent',
    DATABASE_DURABILITY: 'unchecked',
    RATE_LIMIT_CREDENTIAL: 'off',
    MAIL_SYNC: 'off',
    READERS: '0',
    ...settings,
  });
  // A server with its own clock has no reader threads.
  const clock = Number(ahead) === 0 ? {} : { clock: { now: () => Date.now() + Number(ahead) } };
  return (await startServer({ config, mailSyncTimes, ...clock })).url;
}
