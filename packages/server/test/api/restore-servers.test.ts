/** Restores over HTTP while other servers use the same data: during a restore, no server may change the application. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import type { Application } from '../../src/applications/application.ts';
import { insertBackup } from '../../src/database/backup-rows.ts';
import { describeEngines, shareStore } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { findOpenApplication } from '../support/open-application.ts';
import { queryDatabase } from '../support/query-database.ts';
import { TestServer } from '../support/scenario.ts';

const shop = { as: 'shop', headers: { 'x-app': 'shop' } };

describeEngines('restores next to other servers', (engine) => {
  const root = mkdtempSync(join(tmpdir(), 'tablinum-restore-servers-'));
  const env = { BACKUP_DIR: join(root, 'backups') };
  let first: TestServer;
  /** On SQLite the same server, because only one process can use the store. */
  let second: TestServer;
  let saved: string;

  const end = async (id: string): Promise<Json> => {
    await (await first.running.applications.backups()).backups.waitForEnd();
    return first.data(`GET /api/backups:get?filterByTk=${id}`);
  };
  const begin = async (action: string, body: object): Promise<string> => {
    const reply = await first.call(`POST /api/backups:${action}`, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBe(202);
    return reply.body.data.id;
  };
  const readStatus = async (): Promise<string> =>
    (await second.data('GET /api/applications:get?filterByTk=shop')).status;
  /** A server that still has the replaced store open replies BUSY once, and then opens the restored one. */
  const readShop = async (server: TestServer): Promise<number[]> => {
    const { body } = await server.call('GET /api/things:list?sort=n', shop);
    return body.code === 'BUSY' ? readShop(server) : body.data.map(({ n }: Json) => n);
  };
  const write = (server: TestServer, n: number): Promise<unknown> =>
    server.data('POST /api/things:create', { ...shop, body: { n } });

  /** Ends the connections by which servers know of each other. They are opened again, and get the same locks on main and shop. */
  const loseGroupConnections = async (): Promise<void> => {
    const { databaseUrl } = first.store;
    if (databaseUrl === null) return;
    const held =
      "FROM pg_locks WHERE locktype='advisory' AND mode='ShareLock' AND database=(SELECT oid FROM pg_database WHERE datname=current_database())";
    // On a cluster, both also have a lock on the node of shop.
    const count = inject('clusterNodes') === null ? 4 : 6;
    expect(await queryDatabase(databaseUrl, `SELECT pg_terminate_backend(pid) ${held}`)).toHaveLength(count);
    await expect.poll(() => queryDatabase(databaseUrl, `SELECT 1 ${held}`)).toHaveLength(count);
  };

  beforeAll(async () => {
    first = await TestServer.start(engine, { env });
    second = engine.name === 'postgres' ? await TestServer.start(shareStore(engine, first.store), { env }) : first;
    await first.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await first.data('POST /api/applications:enter?filterByTk=shop');
    for (const server of [first, second]) server.tokens.set('shop', token);
    const fields = [{ name: 'n', type: 'integer' }];
    await first.data('POST /api/collections:create', { ...shop, body: { name: 'things', fields } });
    await write(first, 1);
    saved = await begin('create', { application: 'shop' });
    expect(await end(saved)).toMatchObject({ status: 'done' });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    if (second !== first) await second.stop();
    await first.stop();
    rmSync(root, { recursive: true });
  });

  test('while the replaced data is saved, every server refuses to start, stop and destroy the application', async () => {
    await write(second, 2);
    const { backups } = await first.running.applications.backups();
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const save = backups.saveWithin.bind(backups);
    vi.spyOn(backups, 'saveWithin').mockImplementation(async (name) => {
      reached.resolve();
      await released.promise;
      return save(name);
    });
    const id = await begin(`restore?filterByTk=${saved}`, { confirm: 'shop' });
    await reached.promise;
    for (const server of new Set([first, second]))
      for (const action of ['start', 'stop', 'destroy']) {
        const confirm = action === 'destroy' ? '&confirm=shop' : '';
        const refused = await server.call(`POST /api/applications:${action}?filterByTk=shop${confirm}`);
        expect(refused, action).toMatchObject({ status: 409, body: { code: 'BACKUP_RUNNING' } });
        expect(refused.body.message).toContain(id);
      }
    expect(await readStatus()).toBe('stopped');
    expect((await second.call('POST /api/things:create', { ...shop, body: { n: 3 } })).status).toBe(503);
    released.resolve();
    const { status, keptAs } = await end(id);
    expect(status).toBe('done');
    vi.restoreAllMocks();
    for (const server of [first, second]) expect(await readShop(server)).toEqual([1]);
    // The backup of the replaced data is complete.
    expect(await end(await begin(`restore?filterByTk=${keptAs}`, { confirm: 'shop' }))).toMatchObject({
      status: 'done',
    });
    expect(await readShop(second)).toEqual([1, 2]);
  });

  test('a restore whose server has died does not prevent a start of the application', async () => {
    const { main } = first.running.applications;
    const rows = await main.database.read([{ text: `SELECT store FROM applications WHERE name='shop'`, values: [] }]);
    const replaced = rows[0]?.[0]?.[0];
    await first.data('POST /api/applications:stop?filterByTk=shop');
    const entry = { ...(await end(saved)), id: 'r20261128-000000-00000000', kind: 'restore', status: 'running' };
    const restore = { store: '00000000-0000-4000-8000-000000000000', replaced, wasStopped: true };
    const job = JSON.stringify({ entry: { ...entry, backup: saved }, restore });
    await insertBackup(main.database, { id: entry.id, status: 'running', slot: null, job });
    await second.data('POST /api/applications:start?filterByTk=shop');
    expect(await readStatus()).toBe('running');
    expect(await end(entry.id)).toMatchObject({ status: 'failed', problem: expect.stringContaining('server stopped') });
    expect(await readShop(second)).toEqual([1, 2]);
  });

  test('a stop is acknowledged when no server has the application open, and everything in memory is written', async () => {
    await readShop(second);
    await readShop(first);
    await loseGroupConnections();
    const open = (): (Application | null)[] =>
      [first, second].map(({ running }) => findOpenApplication(running, 'shop'));
    const closing = vi.spyOn(open()[1]!, 'close');
    const closed: Promise<void>[] = [];
    closing.mockImplementation(async () => {
      closed.push(pause(300));
      await closed[0];
      closing.mockRestore();
      await application.close();
    });
    const [, application] = open() as [Application, Application];
    const started = performance.now();
    await first.data('POST /api/applications:stop?filterByTk=shop');
    expect(performance.now() - started).toBeGreaterThan(290);
    expect(open()).toEqual([null, null]);
    const read = async (): Promise<unknown> => application.database.read([{ text: 'SELECT 1', values: [] }]);
    await expect(read()).rejects.toThrow();
    await second.data('POST /api/applications:start?filterByTk=shop');
    expect(await readShop(first)).toEqual([1, 2]);
  });

  test('an application that was stopped is restored and stays stopped', async () => {
    await first.data('POST /api/applications:stop?filterByTk=shop');
    expect(await end(await begin(`restore?filterByTk=${saved}`, { confirm: 'shop' }))).toMatchObject({
      status: 'done',
    });
    expect(await readStatus()).toBe('stopped');
    await second.data('POST /api/applications:start?filterByTk=shop');
    expect(await readShop(first)).toEqual([1]);
  });

  test('main is restored while servers run, and the other applications keep their data', async () => {
    const readNotes = async (server: TestServer): Promise<number[]> =>
      (await server.data('GET /api/notes:list?sort=n')).map(({ n }: Json) => n);
    /** A server that restarts may reply 503, or not at all. */
    const settle = async (id: string): Promise<Json> => {
      let found: Json;
      const read = async (): Promise<string> => {
        const reply = await first.call(`GET /api/backups:get?filterByTk=${id}`).catch(() => null);
        found = reply?.body.data;
        return reply?.status === 200 ? found.status : 'unavailable';
      };
      await expect.poll(read, { timeout: 30_000, interval: 50 }).toMatch(/done|failed/);
      return found;
    };
    const restoreMain = (backup: string): Promise<string> =>
      begin(`restore?filterByTk=${backup}`, { application: 'main', confirm: 'main' });
    await first.data('POST /api/collections:create', {
      body: { name: 'notes', fields: [{ name: 'n', type: 'integer' }] },
    });
    await first.data('POST /api/notes:create', { body: { n: 1 } });
    const [{ cursor }] = await first.data('GET /api/changes:list?pageSize=1');
    const all = await begin('create', {});
    expect(await settle(all)).toMatchObject({ status: 'done' });
    await first.data('POST /api/notes:create', { body: { n: 2 } });
    await first.data('POST /api/applications:create', { body: { name: 'later' } });
    await write(second, 5);
    for (const body of [{ application: 'main' }, { application: 'main', confirm: 'main', as: 'copy' }]) {
      const refused = await first.call(`POST /api/backups:restore?filterByTk=${all}`, { body });
      expect(refused).toMatchObject({ status: 400, body: { code: 'BODY_INVALID' } });
    }

    const restored = await settle(await restoreMain(all));
    expect(restored).toMatchObject({ kind: 'restore', status: 'done', application: 'main', problem: null });
    for (const server of new Set([first, second])) {
      await expect.poll(() => readNotes(server).catch(() => []), { timeout: 10_000 }).toEqual([1]);
      expect(await readShop(server)).toEqual([1, 5]);
      const applications = await server.data('GET /api/applications:list?sort=name');
      expect(applications.map(({ name }: Json) => name)).toEqual(['later', 'main', 'shop']);
    }
    expect((await first.call(`GET /api/changes:list?since=${cursor}`)).body.meta.resync).toBe(true);
    expect(await first.data('GET /api/audit:verify')).toMatchObject({ valid: true });
    const [entry] = await first.data('GET /api/audit:list?pageSize=1&filter={"action":"backups:restore"}&sort=-id');
    expect(entry).toMatchObject({ target: 'main', outcome: 'done', role: 'admin' });
    await write(second, 6);

    // The replaced data is kept as a backup.
    expect(await settle(await restoreMain(restored.keptAs))).toMatchObject({ status: 'done', problem: null });
    await expect.poll(() => readNotes(second).catch(() => []), { timeout: 10_000 }).toEqual([1, 2]);
    expect(await readShop(second)).toEqual([1, 5, 6]);
    expect((await first.data('GET /api/backups:list')).map(({ id }: Json) => id)).toEqual(
      expect.arrayContaining([saved, all, restored.id, restored.keptAs]),
    );
  }, 60_000);
});
