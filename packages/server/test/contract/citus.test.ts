/** What is different on a Citus cluster. Only `npm run test:citus` runs this. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { diagnose } from '../../src/cli-doctor.ts';
import { openLocation } from '../../src/cli-move-locations.ts';
import { readStoresByName } from '../../src/database/application-rows.ts';
import { schemaName } from '../../src/open-stores.ts';
import { startServer } from '../../src/server.ts';
import { inDatabase, localSchemas } from '../support/citus-cluster.ts';
import { postgres, type Store, shareStore } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { MovingLoad } from '../support/moving-load.ts';
import { connectDatabase, queryDatabase } from '../support/query-database.ts';
import { type Reply, TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';
import { serverSettings } from '../support/server-settings.ts';

const nodes = inject('clusterNodes');

describe.skipIf(nodes === null)('on a Citus cluster', () => {
  let server: TestServer;
  let store: Store;
  const inStore = (node: string): string => inDatabase(node, new URL(store.databaseUrl ?? '').pathname.slice(1));
  /** The names of the schemas of applications on each node. */
  const listSchemas = (): Promise<string[][]> =>
    Promise.all(
      (nodes ?? []).map(async (node) => {
        const rows = await queryDatabase(
          inStore(node),
          String.raw`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'app\_%'`,
        );
        return rows.map(({ nspname }) => String(nspname)).sort();
      }),
    );
  beforeAll(async () => {
    store = await postgres.store(true);
    server = await TestServer.start({ name: 'postgres', store: async () => store });
  });
  afterAll(() => server.stop());

  test('without any application, the nodes are listed', async () => {
    const listed = (await server.data('GET /api/applications:nodes')) as { isTarget: boolean }[];
    expect(listed.map(({ isTarget }) => isTarget)).toEqual((nodes ?? []).map((_, index) => index > 0));
  });

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

  test('a destroyed application leaves neither its schema nor its assignment to a node', async () => {
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

  test('doctor checks the nodes, and refuses the address of a worker', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tablinum-citus-'));
    const check = async (url: string): Promise<Json[]> => {
      const findings = await diagnose({ ...serverSettings, DATA_DIR: folder, DATABASE_URL: url });
      return findings.filter((finding) => finding.check === 'store');
    };
    const url = store.databaseUrl ?? '';
    const [coordinator, first, second] = (nodes ?? []).map(inStore);
    expect(await check(coordinator ?? '')).toMatchObject([{ status: 'ok' }]);
    expect(await check(first ?? '')).toMatchObject([
      { status: 'failed', message: 'The database server is a worker of a Citus cluster.' },
    ]);
    const { host } = new URL(second ?? '');
    const name = new URL(url).pathname.slice(1);
    await queryDatabase(inDatabase(second ?? '', 'postgres'), `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    try {
      expect(await check(url)).toMatchObject([
        { status: 'failed', message: expect.stringContaining(`Node ${host}: It cannot be used`) },
      ]);
    } finally {
      await queryDatabase(inDatabase(second ?? '', 'postgres'), `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    }
    rmSync(folder, { recursive: true });
  });

  describe('moving an application', () => {
    let second: TestServer;
    let workers: string[];
    const create = async (name: string): Promise<string> => {
      await server.data('POST /api/applications:create', { body: { name, node: workers[0] } });
      const { token } = await server.data(`POST /api/applications:enter?filterByTk=${name}`);
      const fields = [
        { name: 'title', type: 'string', unique: true },
        { name: 'text', type: 'text' },
      ];
      await server.data('POST /api/collections:create', {
        as: token,
        headers: { 'x-app': name },
        body: { name: 'notes', fields },
      });
      return token;
    };
    const find = (name: string): Promise<Json> => server.data(`GET /api/applications:get?filterByTk=${name}`);
    const move = async (name: string, node: string | undefined): Promise<void> => {
      const reply = await server.call(`POST /api/applications:move?filterByTk=${name}`, { body: { node } });
      expect(reply).toMatchObject({ status: 202, body: { data: { name, move: { status: 'running', to: node } } } });
    };
    const waitForMove = async (name: string): Promise<Json> => {
      for (;;) {
        const record = await find(name);
        if (record.move?.step === null) return record;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    /**
     * Opens a transaction on the first worker that has written data. A copy begins only when this transaction has
     * ended.
     */
    const holdTransaction = async (): Promise<{ end(): Promise<void> }> => {
      const client = await connectDatabase(inStore(nodes?.[1] ?? ''));
      await client.query('BEGIN; SELECT pg_current_xact_id()');
      return client;
    };
    const load = (name: string, token: string): MovingLoad =>
      new MovingLoad({ urls: [server.running.url, second.running.url], application: name, token }, 4);
    /** Objects that moves create on the nodes, except for the schemas of applications. */
    const listRemains = async (): Promise<unknown[]> => {
      const remains = `SELECT pubname::text AS name FROM pg_publication UNION ALL SELECT slot_name::text FROM pg_replication_slots WHERE database=current_database()
UNION ALL SELECT subname::text FROM pg_subscription WHERE subdbid=(SELECT oid FROM pg_database WHERE datname=current_database())
UNION ALL SELECT nspname::text FROM pg_namespace WHERE nspname LIKE '%\\_moved'`;
      return (await Promise.all((nodes ?? []).map((node) => queryDatabase(inStore(node), remains)))).flat();
    };
    beforeAll(async () => {
      const listed = (await server.data('GET /api/applications:nodes')) as { node: string; isTarget: boolean }[];
      workers = listed.flatMap(({ node, isTarget }) => (isTarget ? [node] : []));
      second = await TestServer.start(shareStore(postgres, store), { env: { CITUS_PLACEMENT: workers[1] ?? '' } });
    });
    afterAll(() => second.stop());

    test('loses and duplicates no acknowledged write, and pauses for less than two seconds', async () => {
      const token = await create('moved');
      const written = load('moved', token);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await move('moved', workers[1]);
      const record = await waitForMove('moved');
      expect(record.move).toMatchObject({ status: 'done', problem: null, from: workers[0], to: workers[1] });
      await new Promise((resolve) => setTimeout(resolve, 500));
      await written.stop();
      expect(record.node).toBe(workers[1]);
      expect(written.unexpected).toEqual([]);
      expect(written.staleReads).toEqual([]);
      expect(await written.compare()).toEqual({ doubled: [], lost: [] });
      expect(written.longestPause).toBeLessThan(2000);
      expect(await listRemains()).toEqual([]);
    });

    test('keeps everything else: clients reload, sequences continue, and webhooks keep their positions', async () => {
      const token = await create('kept');
      const call = (request: string, body?: object): Promise<Json> =>
        server.data(request, { as: token, headers: { 'x-app': 'kept' }, ...(body && { body }) });
      for (const title of ['a', 'b', 'c']) await call('POST /api/notes:create', { title });
      await call('POST /api/webhooks:create', { url: 'https://example.com/', events: ['notes.*'], role: 'admin' });
      const before = await call('GET /api/notes:list');
      const { meta } = (
        await server.call('GET /api/changes:list?pageSize=1', { as: token, headers: { 'x-app': 'kept' } })
      ).body;
      await move('kept', workers[1]);
      await waitForMove('kept');
      await expect.poll(() => call('GET /api/notes:list').catch(() => null)).toEqual(before);
      expect(await call('POST /api/notes:create', { title: 'd' })).toMatchObject({ id: 4 });
      const old = await server.call(`GET /api/changes:list?since=${meta.nextCursor}`, {
        as: token,
        headers: { 'x-app': 'kept' },
      });
      expect([old.status, old.body]).toMatchObject([200, { meta: { resync: true } }]);
      // The move back goes to a node that had the schema before.
      await move('kept', workers[0]);
      expect((await waitForMove('kept')).node).toBe(workers[0]);
      expect(await call('POST /api/notes:create', { title: 'e' })).toMatchObject({ id: 5 });
      expect(await listRemains()).toEqual([]);
    });

    test('fails if a definition is changed while it is copied, and changes nothing', async () => {
      const token = await create('changed');
      const call = (request: string, body?: object): Promise<Json> =>
        server.data(request, { as: token, headers: { 'x-app': 'changed' }, ...(body && { body }) });
      await call('POST /api/notes:create', { title: 'a' });
      const open = await holdTransaction();
      await move('changed', workers[1]);
      for (let number = 0; (await find('changed')).move?.step === 'copying'; number += 1) {
        await call('POST /api/fields:create', { collectionName: 'notes', name: `f${number}`, type: 'string' });
        if (number === 0) await open.end();
      }
      const record = await waitForMove('changed');
      expect(record).toMatchObject({ node: workers[0], move: { status: 'failed' } });
      expect(record.move.problem).toContain('were changed while it was copied');
      expect(await call('POST /api/notes:create', { title: 'b' })).toMatchObject({ id: 2 });
      expect(await listRemains()).toEqual([]);
    });

    test('is undone by another server if the server that runs it is killed during the copy', async () => {
      const token = await create('killed');
      const call = (request: string, body?: object): Promise<Json> =>
        server.data(request, { as: token, headers: { 'x-app': 'killed' }, ...(body && { body }) });
      await call('POST /api/notes:create', { title: 'a' });
      const open = await holdTransaction();
      const third = await ServerProcess.start(store, { DATABASE_DURABILITY: 'unchecked', LOG_LEVEL: 'silent' });
      const reply = await third.call('applications:move?filterByTk=killed', { node: workers[1] });
      expect(reply?.status).toBe(202);
      expect((await server.call('POST /api/applications:destroy?filterByTk=killed&confirm=killed')).status).toBe(409);
      await third.kill();
      await open.end();
      await server.running.applications.tick();
      const record = await waitForMove('killed');
      expect(record).toMatchObject({ node: workers[0], move: { status: 'failed', step: null } });
      expect(record.move.problem).toContain('has stopped');
      expect(await call('POST /api/notes:create', { title: 'b' })).toMatchObject({ id: 2 });
      expect(await listRemains()).toEqual([]);
      await move('killed', workers[1]);
      expect(await waitForMove('killed')).toMatchObject({ node: workers[1], move: { status: 'done' } });
      // A server that already has the application open notices the move at its first request.
      await expect.poll(() => call('GET /api/notes:list').catch(() => null)).toHaveLength(2);
    });

    test.each([
      ['locked', 'POST /api/notes:create', { title: 'b' }],
      // The filter is refused with 400 only if the server has the current definitions.
      ['lockedToo', 'GET /api/notes:list?filter={"nothing":1}', undefined],
    ])(
      'that was interrupted while the schema was locked is undone by the next request: %s',
      async (name, next, sent) => {
        const token = await create(name);
        const call = (request: string, body?: object): Promise<Reply> =>
          server.call(request, { as: token, headers: { 'x-app': name }, ...(body && { body }) });
        expect((await call('POST /api/notes:create', { title: 'a' })).status).toBe(200);
        const { applications } = server.running;
        const stores = new Map(await readStoresByName(applications.main.database));
        const schema = schemaName(stores.get(name) ?? '');
        const [coordinator = '', worker = ''] = (nodes ?? []).map(inStore);
        const [target] = await queryDatabase(coordinator, 'SELECT max(nodeid) AS id FROM pg_dist_node');
        await queryDatabase(
          coordinator,
          `INSERT INTO tablinum_cluster.moves (schema_name,id,source,target,step,started_at)
SELECT schema_name,gen_random_uuid(),node,${target?.['id']},'switching',now() FROM tablinum_cluster.placements WHERE schema_name='${schema}'`,
        );
        await queryDatabase(worker, `ALTER SCHEMA ${schema} RENAME TO ${schema}_moved`);
        const refused = await call(next, sent);
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
        await expect.poll(async () => (await call('GET /api/notes:list')).status, { timeout: 10_000 }).toBe(200);
        expect((await call('POST /api/notes:create', { title: 'b' })).body.data).toMatchObject({ id: 2 });
        expect(await waitForMove(name)).toMatchObject({
          node: workers[0],
          status: 'running',
          move: { status: 'failed' },
        });
        expect(await listRemains()).toEqual([]);
      },
    );

    test('is possible from the coordinator, and while the application is stopped', async () => {
      const coordinator = inStore(nodes?.[0] ?? '');
      const allow = (isAllowed: boolean): Promise<unknown> =>
        queryDatabase(coordinator, `UPDATE pg_dist_node SET shouldhaveshards=${isAllowed} WHERE groupid<>0`);
      await allow(false);
      await server.data('POST /api/applications:create', { body: { name: 'early' } });
      await allow(true);
      expect(await find('early')).toMatchObject({ node: 'coordinator', move: null });
      await server.data('POST /api/applications:stop?filterByTk=early');
      await move('early', workers[1]);
      expect(await waitForMove('early')).toMatchObject({
        node: workers[1],
        status: 'stopped',
        move: { status: 'done' },
      });
      expect(await server.data('POST /api/applications:start?filterByTk=early')).toMatchObject({ status: 'running' });
      expect(await listRemains()).toEqual([]);
    });

    test('is not needed if CITUS_PLACEMENT names the nodes for new applications', async () => {
      for (const name of ['first', 'next']) {
        const created = await second.data('POST /api/applications:create', { body: { name } });
        expect(created.node).toBe(workers[1]);
      }
      const listed = (await server.data('GET /api/applications:nodes')) as Json[];
      const { applications } = listed.find(({ node }) => node === workers[1]);
      expect(applications).toContainEqual({ name: 'next', bytes: expect.any(Number) });
    });

    test('is refused while `tablinum move` copies into the application, and `tablinum move` is refused while the application is moved', async () => {
      const token = await create('copied');
      const stores = new Map(await readStoresByName(server.running.applications.main.database));
      const storeName = stores.get('copied') ?? '';
      const location = await openLocation(
        readConfig({ ...serverSettings, DATA_DIR: store.dataDir, DATABASE_URL: store.databaseUrl ?? '' }),
      );
      const copy = await location.openTarget(storeName);
      await copy.close();
      const refused = await server.call('POST /api/applications:move?filterByTk=copied', {
        body: { node: workers[1] },
      });
      expect(refused).toMatchObject({
        status: 409,
        body: { code: 'MOVE_REFUSED', message: expect.stringContaining('tablinum move') },
      });
      expect((await find('copied')).move).toBeNull();
      const part = `${schemaName(storeName)}_part`;
      await queryDatabase(inStore(nodes?.[1] ?? ''), `${localSchemas} DROP SCHEMA ${part} CASCADE`);

      const held = await holdTransaction();
      await move('copied', workers[1]);
      await expect(location.openTarget(storeName)).rejects.toThrow('is being moved to another node');
      await held.end();
      expect((await waitForMove('copied')).move.status).toBe('done');
      const reply = await server.call('GET /api/notes:list', { as: token, headers: { 'x-app': 'copied' } });
      expect(reply.status).toBe(200);
    });

    test('to a node that does not reply is refused', async () => {
      const coordinator = inStore(nodes?.[0] ?? '');
      const [, port = ''] = (workers[1] ?? '').split(':');
      const setPort = (from: string, to: string): Promise<unknown> =>
        queryDatabase(coordinator, `UPDATE pg_dist_node SET nodeport=${to} WHERE nodeport=${from}`);
      await setPort(port, '1');
      const reply = await server.call('POST /api/applications:move?filterByTk=changed', {
        body: { node: '127.0.0.1:1' },
      });
      await setPort('1', port);
      expect(reply).toMatchObject({
        status: 409,
        body: { code: 'MOVE_REFUSED', message: expect.stringContaining('cannot be reached') },
      });
      expect((await find('changed')).move.to).toBe(workers[1]);
    });

    test.each([
      ['a node that does not exist', 'changed', { node: 'nowhere:1' }, 400, 'must be one of'],
      ['the coordinator', 'changed', { node: 'coordinator' }, 400, 'must be one of'],
      ['no node', 'changed', {}, 400, 'The body must be'],
      ['the node on which it is', 'changed', 'same', 409, 'is on the node'],
      ['an application that does not exist', 'missing', 'same', 404, 'There is no application'],
      ['main', 'main', 'same', 403, 'cannot be moved'],
    ] as const)('is refused: %s', async (_, name, body, status, message) => {
      const sent = body === 'same' ? { node: workers[0] } : body;
      const reply = await server.call(`POST /api/applications:move?filterByTk=${name}`, { body: sent });
      expect({ status: reply.status, text: reply.text }).toMatchObject({
        status,
        text: expect.stringContaining(message),
      });
      expect(await listRemains()).toEqual([]);
    });
  });
});
