import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { sweepKeyHomes } from '../../src/applications/key-homes.ts';
import { makeToken } from '../../src/base/token.ts';
import type { Row } from '../../src/database/database.ts';
import { locateSchema } from '../support/citus-cluster.ts';
import { describeEngines, type Engine } from '../support/engines.ts';
import { queryDatabase } from '../support/query-database.ts';
import { TestServer } from '../support/scenario.ts';
import { listOrders, shopHeaders, signInToShop, startShopServer } from '../support/shop-server.ts';

async function query(server: TestServer, text: string): Promise<Row[]> {
  const { database } = server.running.applications.main;
  return database.write((transaction) => transaction.run({ text, values: [] }));
}

/** Makes a store unreadable. Returns a function that repairs it. */
async function spoil(server: TestServer, engine: Engine): Promise<() => Promise<void>> {
  const [row] = await query(server, `SELECT store FROM applications WHERE name='shop'`);
  const store = row![0] as string;
  if (engine.name === 'sqlite') {
    const path = join(server.store.dataDir, 'applications', `${store}.db`);
    const whole = readFileSync(path);
    writeFileSync(path, 'this is no database, it never was one, and it will not be opened');
    return async () => writeFileSync(path, whole);
  }
  const schema = schemaOf(store);
  await queryNode(server, schema, `ALTER TABLE ${schema}._fields RENAME COLUMN facts TO lost`);
  return () => queryNode(server, schema, `ALTER TABLE ${schema}._fields RENAME COLUMN lost TO facts`);
}

const schemaOf = (store: string): string => `app_${store.replaceAll('-', '')}`;

/** Runs a statement on the node of the schema: in a Citus cluster, main and an application can be on different nodes. */
async function queryNode(server: TestServer, schema: string, text: string): Promise<void> {
  await queryDatabase(await locateSchema(schema, server.store.databaseUrl!, inject('clusterNodes')), text);
}

describeEngines('states of applications', (engine) => {
  test('a stopped application replies 503 to its users, and continues with its data after a start', async () => {
    const server = await startShopServer(engine);
    const made = await server.data('POST /api/apiKeys:create', {
      as: 'shopAdmin',
      headers: shopHeaders,
      body: { role: { name: 'admin' } },
    });
    const stopped = await server.play({
      name: 'an application is stopped',
      request: 'POST /api/applications:stop?filterByTk=shop',
      expect: { status: 200, body: { data: { status: 'stopped' } }, events: ['applications.updated'] },
    });
    expect(stopped.body.data.name).toBe('shop');
    for (const as of ['shopAdmin', made.token as string, 'admin']) {
      const reply = await listOrders(server, as);
      expect([reply.status, reply.body.code]).toEqual([503, 'APPLICATION_STOPPED']);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await listOrders(server, 'nobody')).status).toBe(401);
    expect((await listOrders(server, 'tbs_x')).status).toBe(401);
    expect((await server.call('GET /api/users:list', { as: made.token as string })).status).toBe(403);
    await server.running.stop();
    await server.boot();
    expect((await listOrders(server)).status).toBe(503);
    expect(await server.data('POST /api/applications:start?filterByTk=shop')).toMatchObject({ status: 'running' });
    expect((await listOrders(server)).body.meta.count).toBe(2);
    // A request that was refused because the application was stopped, and whose login is verified when it is running again.
    const { applications } = server.running;
    expect(await applications.isLoginValidInStopped(server.tokens.get('shopAdmin')!, 'shop')).toBe(true);
    expect(await applications.isLoginValidInStopped('no token', 'shop')).toBe(false);
    await server.stop();
  });

  test('a running stream ends before its application is closed', async () => {
    const server = await startShopServer(engine);
    const many = Array.from({ length: 1000 }, (_, no) => ({ no }));
    for (let round = 0; round < 20; round += 1)
      await server.data('POST /api/orders:create', { as: 'shopAdmin', headers: shopHeaders, body: many });
    const response = await fetch(`${server.running.url}/api/orders:list?paginate=false`, {
      headers: { authorization: `Bearer ${server.tokens.get('shopAdmin')}`, ...shopHeaders },
    });
    const stopping = server.data('POST /api/applications:stop?filterByTk=shop');
    const body = (await response.json()) as { data: unknown[] };
    expect(body.data).toHaveLength(20_002);
    expect(await stopping).toMatchObject({ status: 'stopped' });
    await server.stop();
  });

  test('a destroyed application loses its store, and a new one of the same name is empty', async () => {
    const server = await startShopServer(engine);
    await server.play({
      name: 'an application is destroyed',
      request: 'POST /api/applications:destroy?filterByTk=shop&confirm=shop',
      expect: { status: 200, body: { data: 1 }, events: ['applications.destroyed'] },
    });
    expect((await listOrders(server)).status).toBe(401);
    expect((await listOrders(server, 'admin')).status).toBe(404);
    expect(await server.data('GET /api/applications:list?fields=name')).toEqual([{ name: 'main' }]);
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    expect((await listOrders(server)).status).toBe(401);
    await signInToShop(server);
    expect((await listOrders(server)).status).toBe(404);
    await server.stop();
  });

  test('an application that fails to open replies 500 with the stage, affects no other application, and recovers', async () => {
    const server = await startShopServer(engine);
    const entered = (await server.data('POST /api/applications:enter?filterByTk=shop')).token as string;
    await server.running.stop();
    await server.boot();
    const mend = await spoil(server, engine);
    const failed = await listOrders(server, 'admin');
    expect([failed.status, failed.body.code]).toEqual([500, 'APPLICATION_FAILED']);
    expect(failed.body.message).toMatch(/failed at the stage "[a-z ]+"/);
    expect(failed.text).not.toContain(server.store.dataDir);
    for (const as of ['shopAdmin', entered]) {
      const reply = await listOrders(server, as);
      expect([reply.status, reply.body.code]).toEqual([500, 'APPLICATION_FAILED']);
      expect((await server.call('GET /api/users:list', { as })).status).toBe(401);
    }
    for (const as of ['nobody', makeToken('tbs')]) expect((await listOrders(server, as)).status).toBe(401);
    expect((await server.call('GET /api/users:list')).status).toBe(200);
    const shown = await server.data('GET /api/applications:get?filterByTk=shop&appends=errorLog');
    expect(shown).toMatchObject({ status: 'failed', errorLog: [{ stage: expect.any(String) }] });
    expect(await server.data('POST /api/applications:start?filterByTk=shop')).toMatchObject({ status: 'failed' });
    await mend();
    expect(await server.data('POST /api/applications:start?filterByTk=shop')).toMatchObject({ status: 'running' });
    expect((await listOrders(server)).body.meta.count).toBe(2);
    // The entries of logins in main are removed after the logins have ended.
    const noted = async (): Promise<unknown> =>
      (await query(server, `SELECT count(*) FROM "keyHomes" WHERE application='shop'`)).map(([count]) => Number(count));
    expect(await noted()).toEqual([2]);
    const headers = { ...shopHeaders, authorization: `Bearer ${entered}` };
    expect((await fetch(`${server.running.url}/api/auth:signOut`, { method: 'POST', headers })).status).toBe(200);
    const lease = await server.running.applications.find('shop');
    await sweepKeyHomes(server.running.applications.main.database, 'shop', lease.application.database);
    lease.release();
    expect(await noted()).toEqual([1]);
    await server.stop();
  });

  test('a missing store is an error, not an empty application', async () => {
    const server = await startShopServer(engine);
    await server.running.stop();
    await server.boot();
    const [row] = await query(server, `SELECT store FROM applications WHERE name='shop'`);
    if (engine.name === 'sqlite') {
      for (const end of ['', '-wal', '-shm'])
        rmSync(join(server.store.dataDir, 'applications', `${row![0]}.db${end}`), { force: true });
    } else {
      const schema = schemaOf(row![0] as string);
      await queryNode(server, schema, `DROP SCHEMA ${schema} CASCADE`);
    }
    const reply = await listOrders(server, 'admin');
    expect(reply.body).toMatchObject({ code: 'APPLICATION_FAILED', message: expect.stringContaining('missing') });
    await server.stop();
  });

  test('an interrupted creation is completed by the first request, including the first administrator', async () => {
    const server = await TestServer.start(engine);
    await query(
      server,
      `INSERT INTO applications (name,options,status,store,born,"ownerId","createdAt","updatedAt") SELECT 'shop',options,'starting','01995f2e-0000-7000-8000-000000000001',builtin.born,1,builtin."createdAt",builtin."updatedAt" FROM (SELECT a.options,a."createdAt",a."updatedAt",b.born FROM applications a,(SELECT ${engine.name === 'sqlite' ? '0' : 'false'} AS born) b) builtin`,
    );
    await signInToShop(server);
    expect(await server.data('GET /api/applications:get?filterByTk=shop')).toMatchObject({ status: 'running' });
    await server.stop();
  });

  test('an interrupted destruction is completed by the next server start', async () => {
    const server = await startShopServer(engine);
    const [row] = await query(server, `SELECT store FROM applications WHERE name='shop'`);
    await server.running.stop();
    await server.boot();
    await query(server, `UPDATE applications SET status='destroying' WHERE name='shop'`);
    expect((await listOrders(server, 'admin')).status).toBe(404);
    await server.running.stop();
    await server.boot();
    while (((await server.data('GET /api/applications:list')) as unknown[]).length > 1)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(existsSync(join(server.store.dataDir, 'applications', `${row![0]}.db`))).toBe(false);
    await server.stop();
  });

  test('an application opens at the first request, closes when it is idle, and opens again', async () => {
    const server = await startShopServer(engine, { APPLICATION_IDLE_SECONDS: '1' });
    const { applications } = server.running;
    expect(applications.openCount).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await applications.tick();
    expect(applications.openCount).toBe(0);
    const replies = await Promise.all(Array.from({ length: 10 }, () => listOrders(server)));
    expect(replies.map((reply) => reply.body.meta.count)).toEqual(Array.from({ length: 10 }, () => 2));
    expect(applications.openCount).toBe(1);
    await server.stop();
  });

  test('beyond APPLICATIONS_OPEN, the least recently used application is closed', async () => {
    const server = await startShopServer(engine, { APPLICATIONS_OPEN: '2' });
    for (const name of ['b', 'c', 'd']) await server.data('POST /api/applications:create', { body: { name } });
    expect(server.running.applications.openCount).toBeLessThanOrEqual(2);
    expect((await listOrders(server)).body.meta.count).toBe(2);
    await server.stop();
  });

  test('autoStart opens an application when the server starts', async () => {
    const server = await startShopServer(engine);
    await server.data('POST /api/applications:create', { body: { name: 'eager', options: { autoStart: true } } });
    await server.running.stop();
    await server.boot();
    while (server.running.applications.openCount < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(server.running.applications.openCount).toBe(1);
    await server.stop();
  });

  test('a closed application is opened for scheduled work, which removes expired sessions', async () => {
    let ahead = 0;
    const clock = { now: () => Date.now() + ahead };
    const server = await TestServer.start(engine, { clock, env: { APPLICATION_IDLE_SECONDS: '1' } });
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    await signInToShop(server);
    const { applications } = server.running;
    const close = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 1100));
      await applications.tick();
      expect(applications.openCount).toBe(0);
    };
    await close();
    expect((await listOrders(server)).status).toBe(404); // this opens it again, and stores the login in the application
    await close();
    ahead = 8 * 24 * 3_600_000;
    await applications.tick();
    expect(applications.openCount).toBe(1);
    const lease = await applications.find('shop');
    const [rows] = await lease.application.database.read([{ text: 'SELECT count(*) FROM logins', values: [] }]);
    lease.release();
    expect(Number(rows![0]![0])).toBe(0);
    await server.stop();
  });
});
