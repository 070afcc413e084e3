/** What is different on a Citus cluster. Only `npm run test:citus` runs this. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { startServer } from '../../src/server.ts';
import { inDatabase } from '../support/citus-cluster.ts';
import { postgres, type Store } from '../support/engines.ts';
import { queryDatabase } from '../support/query-database.ts';
import { TestServer } from '../support/scenario.ts';
import { serverSettings } from '../support/server-settings.ts';

const nodes = inject('clusterNodes');

describe.skipIf(nodes === null)('on a Citus cluster', () => {
  let server: TestServer;
  let store: Store;
  /** The names of the schemas of applications on each node. */
  const listSchemas = (): Promise<string[][]> =>
    Promise.all(
      (nodes ?? []).map(async (node) => {
        const url = inDatabase(node, new URL(store.databaseUrl ?? '').pathname.slice(1));
        const rows = await queryDatabase(url, String.raw`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'app\_%'`);
        return rows.map(({ nspname }) => String(nspname)).sort();
      }),
    );
  beforeAll(async () => {
    store = await postgres.store(true);
    server = await TestServer.start({ name: 'postgres', store: async () => store });
  });
  afterAll(() => server.stop());

  test('main is on the coordinator, and applications are distributed over the workers', async () => {
    for (const name of ['one', 'two', 'three', 'four'])
      await server.data('POST /api/applications:create', { body: { name } });
    const [coordinator, ...workers] = await listSchemas();
    expect(coordinator).toEqual(['app_1']);
    const counts = workers.map(({ length }) => length);
    expect(counts.reduce((sum, each) => sum + each, 0)).toBe(4);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  test('nothing is distributed by Citus itself', async () => {
    expect(await queryDatabase(store.databaseUrl ?? '', 'SELECT * FROM citus_schemas')).toEqual([]);
  });

  test('a destroyed application leaves neither its schema nor its place', async () => {
    const before = await listSchemas();
    await server.data('POST /api/applications:create', { body: { name: 'short' } });
    expect((await listSchemas()).flat()).toHaveLength(before.flat().length + 1);
    await server.data('POST /api/applications:destroy?filterByTk=short&confirm=short');
    expect(await listSchemas()).toEqual(before);
    const [row] = await queryDatabase(
      store.databaseUrl ?? '',
      'SELECT count(*)::int AS count FROM tablinum_cluster.placements',
    );
    expect(row).toEqual({ count: before.flat().length - 1 });
  });

  test('a server with the address of a worker does not start, and creates nothing there', async () => {
    const before = await listSchemas();
    const folder = mkdtempSync(join(tmpdir(), 'tablinum-citus-'));
    const url = inDatabase(nodes?.[1] ?? '', new URL(store.databaseUrl ?? '').pathname.slice(1));
    const config = readConfig({ ...serverSettings, DATA_DIR: folder, DATABASE_URL: url });
    await expect(startServer({ config })).rejects.toThrow('Set DATABASE_URL to the address of the coordinator');
    rmSync(folder, { recursive: true });
    expect(await listSchemas()).toEqual(before);
  });
});
