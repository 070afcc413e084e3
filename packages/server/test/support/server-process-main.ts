/** A server in a process of its own, to be killed: prints its address and runs until then. */
import { readConfig } from '../../src/base/config.ts';
import { startServer } from '../../src/server.ts';

/** Settings; with `TEST_SYNC_TIMES` the times of the synchronisation of mail accounts, with `TEST_CLOCK_AHEAD` milliseconds that its clock is ahead. */
const {
  TEST_SYNC_TIMES: mailSyncTimes,
  TEST_CLOCK_AHEAD: ahead = 0,
  ...settings
} = JSON.parse(process.argv[4] ?? '{}');
const config = readConfig({
  PORT: '0',
  DATA_DIR: process.argv[2]!,
  ...(process.argv[3] && { DATABASE_URL: process.argv[3] }),
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
// A server with a clock of its own has no reader threads.
const clock = Number(ahead) === 0 ? {} : { clock: { now: () => Date.now() + Number(ahead) } };
const { url } = await startServer({ config, mailSyncTimes, ...clock });
process.stdout.write(`${url}\n`);
