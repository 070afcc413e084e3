/** A server in a process of its own, to be killed: prints its address and runs until then. */
import { readConfig } from '../../src/base/config.ts';
import { startServer } from '../../src/server.ts';

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
  ...JSON.parse(process.argv[4] ?? '{}'),
});
const { url } = await startServer({ config });
process.stdout.write(`${url}\n`);
