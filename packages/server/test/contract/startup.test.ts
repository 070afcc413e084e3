/** A failed start reports the reason and names the settings. Only one server can use a SQLite folder. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { StartFailure } from '../../src/base/start-failure.ts';
import { requireStoreFile } from '../../src/database/sqlite/store-files.ts';
import { startServer } from '../../src/server.ts';
import { postJson, rootSettings, signInAsRoot, startCliProcess } from '../support/cli-process.ts';
import { postgres, type Store, sqlite } from '../support/engines.ts';
import { serverSettings } from '../support/server-settings.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'tablinum-start-'));
});
afterAll(() => rmSync(root, { recursive: true }));

/** The reason why a start is refused. @returns the message, if it is one for the operator. */
async function refusal(env: Readonly<Record<string, string>>): Promise<string> {
  const config = readConfig({
    ...serverSettings,
    DATABASE_DURABILITY: 'required',
    DATA_DIR: join(root, 'data'),
    ...env,
  });
  const error = await startServer({ config }).then(
    (server) => server.stop(),
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(StartFailure);
  expect((error as Error).message).not.toMatch(/\n/);
  return (error as Error).message;
}

describe('a failed start names the setting, the path and the cause', () => {
  test('for the data folder', async () => {
    const file = join(root, 'file');
    writeFileSync(file, '');
    expect(await refusal({ DATA_DIR: file })).toMatch(
      /^DATA_DIR ".*file" cannot be used: ".*file" is a file, not a folder/,
    );
    expect(await refusal({ DATA_DIR: join(file, 'x') })).toMatch(/^DATA_DIR ".*x" cannot be used: ".*file" is a file/);
    const blocked = join(root, 'blocked');
    mkdirSync(blocked);
    writeFileSync(join(blocked, 'applications'), '');
    expect(await refusal({ DATA_DIR: blocked })).toMatch(/^DATA_DIR ".*blocked\/applications" cannot be used: /);
    if (process.platform === 'linux')
      // no folder can be created there, not even by root
      expect(await refusal({ DATA_DIR: '/proc/tablinum' })).toMatch(/^DATA_DIR "\/proc\/tablinum" cannot be used: /);
  });

  test('for host and port', async () => {
    const other = createServer();
    const port = await new Promise<number>((resolve) =>
      other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port)),
    );
    expect(await refusal({ PORT: String(port) })).toMatch(new RegExp(`^PORT ${port} is in use .* HOST 127.0.0.1`));
    other.close();
    expect(await refusal({ HOST: '192.0.2.1' })).toMatch(/^HOST 192.0.2.1 is not an address of this machine/);
  });

  test('for PostgreSQL, without printing the password', async () => {
    const away = await refusal({
      DATABASE_URL: 'postgres://somebody:hidden@127.0.0.1:1/shop',
      DATABASE_WAIT_SECONDS: '0',
    });
    expect(away).toMatch(/^PostgreSQL at 127.0.0.1:1\/shop \(DATABASE_URL\) cannot be used: nothing listens there/);
    expect(away).not.toMatch(/hidden|somebody/);
    expect(await refusal({ DATABASE_URL: 'postgres://a:b@c:d:e/f' })).toMatch(/^DATABASE_URL is not a valid address/);
  });

  test('for a database file that is missing next to its companion files, which is not created again', async () => {
    const store = await sqlite.store(true);
    const applications = join(store.dataDir, 'applications');
    const file = join(applications, '1.db');
    writeFileSync(join(applications, '1.audit.db'), 'something');
    const lost = [
      () => truncateSync(file),
      () => rmSync(file),
      () => rmSync(join(applications, '1.audit.db')), // only the file of another application remains
    ];
    writeFileSync(join(applications, '2.db'), 'something');
    for (const lose of lost) {
      lose();
      const before = readdirSync(applications);
      expect(await refusal({ DATA_DIR: store.dataDir })).toMatch(
        /1.db" is (empty|missing), but ".*db" next to it exists/,
      );
      expect(readdirSync(applications)).toEqual(before);
    }
    truncateSync(join(applications, '2.db'));
    const other = { path: join(applications, '2.db'), mayCreate: false, isMainStore: false };
    expect(() => requireStoreFile(other)).toThrow('the store is empty');
    writeFileSync(file, 'no database at all');
    expect(await refusal({ DATA_DIR: store.dataDir })).toMatch(/1.db" \(in DATA_DIR\) cannot be used: it is damaged/);
    await store.remove();
  });

  test('with one line and exit code 1 if it is run as a program', async () => {
    const run = startCliProcess(join(root, 'file', 'x'), {});
    await expect(run).rejects.toThrow(/^ended with 1: DATA_DIR [^\n]*\n$/);
  });
});

describe('two servers on one SQLite folder', () => {
  test('the second one is refused and names the first; after kill -9 another one starts', async () => {
    const dataDir = join(root, 'shared');
    const [one, two] = await Promise.allSettled([1, 2].map(() => startCliProcess(dataDir, rootSettings)));
    const first = one!.status === 'fulfilled' ? one!.value : two!.status === 'fulfilled' ? two!.value : null;
    const refused = [one!, two!].find((each) => each.status === 'rejected');
    expect(first).not.toBeNull();
    expect(String(refused?.reason)).toMatch(/ended with 1: DATA_DIR ".*shared" is in use by a Tablinum server/);

    const third = await startCliProcess(dataDir, rootSettings).catch(String);
    expect(third).toContain(`(process ${first!.pid} on `);
    expect(third).toContain(`listening on ${first!.url})`);
    const copy = join(root, 'copy');
    cpSync(dataDir, copy, { recursive: true });
    const token = await signInAsRoot(first!);
    await first!.stop('SIGKILL');

    const [next, other] = await Promise.all([dataDir, copy].map((each) => startCliProcess(each, rootSettings)));
    const roles = await postJson(`${next!.url}/api/roles:list`, token, {});
    expect(roles.status).toBe(200);
    for (const each of [next!, other!]) expect(await each.stop('SIGTERM')).toBe(0);
  });
});

// The cluster of `npm run test:citus` may be configured to sync its writes.
test.skipIf(inject('clusterNodes') !== null)(
  'a PostgreSQL that does not sync its writes is refused',
  async ({ skip }) => {
    let store: Store | null = null;
    try {
      store = await postgres.store();
    } catch {
      skip('there is no PostgreSQL');
    }
    const env = { DATABASE_URL: store!.databaseUrl! };
    expect(await refusal(env)).toMatch(/fsync and full_page_writes are off: a crash would lose acknowledged writes/);
    await store!.remove();
  },
);
