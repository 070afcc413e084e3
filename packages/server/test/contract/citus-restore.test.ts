/**
 * `tablinum restore` to an empty Citus cluster. Only `npm run test:citus` runs this file; restore.test.ts tests
 * databases without Citus.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { runBackupCommand } from '../../src/cli-backup.ts';
import { runRestoreCommand } from '../../src/cli-restore.ts';
import { inDatabase } from '../support/citus-cluster.ts';
import { postgres, type Store, shareStore } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { queryDatabase } from '../support/query-database.ts';
import { TestServer } from '../support/scenario.ts';

const program = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));
const nodes = inject('clusterNodes');
const names = ['one', 'two', 'three'];

describe.skipIf(nodes === null)('restore to a Citus cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-citus-restore-'));
  const backup = join(folder, 'backup');
  const config = ({ dataDir, databaseUrl }: Store): ReturnType<typeof readConfig> =>
    readConfig({ DATA_DIR: dataDir, DATABASE_URL: databaseUrl ?? '' });
  let source: TestServer;
  let target: Store;
  let original: Json;

  /** The schemas of applications on each node. The coordinator is the first node. */
  const listSchemas = async (): Promise<string[][]> => {
    const database = new URL(target.databaseUrl ?? '').pathname.slice(1);
    const rows = (nodes ?? []).map((node) =>
      queryDatabase(
        inDatabase(node, database),
        String.raw`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'app\_%'`,
      ),
    );
    return (await Promise.all(rows)).map((found) => found.map(({ nspname }) => String(nspname)).sort());
  };
  const read = async (server: TestServer): Promise<Json> => {
    const things: Json[] = [await server.data('GET /api/things:list?sort=n')];
    for (const name of names) {
      const { token } = await server.data(`POST /api/applications:enter?filterByTk=${name}`);
      things.push(await server.data('GET /api/things:list?sort=n', { as: token, headers: { 'x-app': name } }));
    }
    return things;
  };

  beforeAll(async () => {
    source = await TestServer.start(postgres);
    const fill = async (more: { as?: string; headers?: Record<string, string> }, count: number): Promise<void> => {
      const fields = [{ name: 'n', type: 'integer' }];
      await source.data('POST /api/collections:create', { ...more, body: { name: 'things', fields } });
      for (let n = 0; n < count; n += 1) await source.data('POST /api/things:create', { ...more, body: { n } });
    };
    await fill({}, 2);
    for (const [index, name] of names.entries()) {
      await source.data('POST /api/applications:create', { body: { name } });
      const { token } = await source.data(`POST /api/applications:enter?filterByTk=${name}`);
      await fill({ as: token, headers: { 'x-app': name } }, index + 3);
    }
    original = await read(source);
    await runBackupCommand([backup], config(source.store));
    target = await postgres.store();
  });
  afterAll(async () => {
    await source.stop();
    await target.remove();
    rmSync(folder, { recursive: true });
  });

  test('a restore that is killed leaves no application, and can be repeated', async () => {
    const { dataDir, databaseUrl } = target;
    const env = { ...process.env, DATA_DIR: dataDir, DATABASE_URL: databaseUrl ?? '' };
    const command = spawn(process.execPath, ['--no-warnings', program, 'restore', backup], { stdio: 'ignore', env });
    const ended = once(command, 'exit');
    // At this point two of the four schemas are complete, and the third is being loaded.
    await expect.poll(async () => (await listSchemas()).flat().length, { interval: 5 }).toBeGreaterThan(2);
    command.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect((await listSchemas()).flat().filter((name) => !name.endsWith('_part'))).toEqual([]);
  });

  test('the restored cluster replies like the original, with the applications on its workers', async () => {
    await runRestoreCommand([backup], config(target));
    const [coordinator, ...workers] = await listSchemas();
    expect(coordinator).toEqual(['app_1']);
    expect(workers.map(({ length }) => length).sort()).toEqual([1, 2]);
    const server = await TestServer.start(shareStore(postgres, target));
    expect(await read(server)).toEqual(original);
    const { token } = await server.data('POST /api/applications:enter?filterByTk=three');
    const more = { as: token, headers: { 'x-app': 'three' } };
    expect((await server.data('POST /api/things:create', { ...more, body: { n: 9 } })).id).toBe(6);
    await server.stop();
  });

  test('a restore does not replace existing data', async () => {
    const before = await listSchemas();
    for (const [options, message] of [
      [[], /contains data of a Tablinum server/],
      [['--replace', 'all'], /replaces nothing/],
      [['--app', 'one'], /backups:restore/],
    ] as const)
      await expect(runRestoreCommand([...options, backup], config(target))).rejects.toThrow(message);
    expect(await listSchemas()).toEqual(before);
  });
});
