/** Backups over HTTP on a running server: made, listed, downloaded, restored and removed by administrators of `main`. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { runVerifyCommand } from '../../src/cli-verify.ts';
import { describeEngines } from '../support/engines.ts';
import { fetchBytes } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

const shop = { 'x-app': 'shop' };
const asShop = { as: 'shop', headers: shop };

describeEngines('backups', (engine) => {
  const root = mkdtempSync(join(tmpdir(), 'tablinum-backups-'));
  let server: TestServer;
  let cursor: string;

  const end = async (id: string): Promise<Json> => {
    let entry: Json;
    await expect
      .poll(
        async () => {
          entry = await server.data(`GET /api/backups:get?filterByTk=${id}`);
          return entry.status;
        },
        { timeout: 20_000, interval: 50 },
      )
      .not.toBe('running');
    return entry;
  };
  const run = async (action: string, body: object = {}): Promise<Json> => {
    const { status, body: reply } = await server.call(`POST /api/backups:${action}`, { body });
    expect(reply.errors ?? reply.message, JSON.stringify(reply)).toBeUndefined();
    expect(status).toBe(202);
    return end(reply.data.id);
  };
  const readShop = async (): Promise<number[]> =>
    (await server.data('GET /api/things:list?sort=n', asShop)).map(({ n }: Json) => n);
  const enter = async (name: string): Promise<void> => {
    const { token } = await server.data(`POST /api/applications:enter?filterByTk=${name}`);
    server.tokens.set(name, token);
  };
  const settings = (): Record<string, string> => ({
    DATA_DIR: server.store.dataDir,
    ...(server.store.databaseUrl && { DATABASE_URL: server.store.databaseUrl }),
  });

  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { BACKUP_DIR: join(root, 'backups') } });
    await server.data('POST /api/applications:create', { body: { name: 'shop', displayName: 'The shop' } });
    await enter('shop');
    const fields = [{ name: 'n', type: 'integer' }];
    await server.data('POST /api/collections:create', { ...asShop, body: { name: 'things', fields } });
    for (const n of [1, 2, 3]) await server.data('POST /api/things:create', { ...asShop, body: { n } });
    await server.data('POST /api/webhooks:create', {
      ...asShop,
      body: { url: 'https://example.com/hook', events: ['things.*'], role: 'admin' },
    });
    await server.data('POST /api/accounts:create', { ...asShop, body: { name: 'Shop', address: 'shop@example.com' } });
    cursor = (await server.data('GET /api/changes:list?pageSize=1', asShop))[0].cursor;
  });
  afterAll(async () => {
    await server.stop();
    rmSync(root, { recursive: true });
  });

  test('a backup runs in the background, is listed with its size and rows, and its tar file is a valid backup', async () => {
    const entry = await run('create');
    expect(entry).toMatchObject({
      kind: 'backup',
      status: 'done',
      reason: 'request',
      application: null,
      applications: ['main', 'shop'],
      isAvailable: true,
      problem: null,
    });
    expect(entry.rows).toBeGreaterThan(20);
    expect(entry.bytes).toBeGreaterThan(10_000);
    const list = await server.call('GET /api/backups:list');
    expect(list.body.data.map(({ id }: Json) => id)).toContain(entry.id);
    expect(list.body.meta).toEqual({ schedule: null, nextAt: null, keep: 7, isEncrypted: false, bucket: null });

    const path = `/api/backups:download?filterByTk=${entry.id}`;
    const reply = await fetchBytes(server, path, { as: 'admin' });
    const bytes = Buffer.from(await reply.arrayBuffer());
    expect(reply.headers.get('content-type')).toBe('application/x-tar');
    expect(reply.headers.get('content-disposition')).toContain(`${entry.id}.tar`);
    expect(Number(reply.headers.get('content-length'))).toBe(bytes.length);
    writeFileSync(join(root, 'one.tar'), bytes);
    mkdirSync(join(root, 'unpacked'));
    execFileSync('tar', ['xf', join(root, 'one.tar'), '-C', join(root, 'unpacked')]);
    await runVerifyCommand([join(root, 'unpacked', entry.id)], readConfig(settings()));
    const part = await fetchBytes(server, path, { as: 'admin', headers: { range: 'bytes=1000-70000' } });
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1000, 70_001))).toBe(true);
    const { url } = await server.data(`POST /api/backups:sign?filterByTk=${entry.id}`);
    const signed = await fetch(server.running.url + url);
    expect(Buffer.from(await signed.arrayBuffer()).equals(bytes)).toBe(true);
    for (const wrong of [url.replace(entry.id, 'b1'), url.slice(0, -2), url.replace(':download', ':list')])
      expect((await fetch(server.running.url + wrong)).status).toBe(401);
    const journal = await server.data('GET /api/audit:list?pageSize=50');
    expect(journal.map(({ action }: Json) => action)).toEqual(
      expect.arrayContaining(['backups:create', 'backups:sign', 'backups:download']),
    );
  });

  test('only administrators of main may use backups, and refusals name the problem', async () => {
    await server.createKey('viewer');
    await server.data('POST /api/roles:create', { body: { name: 'operators', allowConfigure: true } });
    await server.createKey('operators');
    for (const action of ['list', 'get', 'download', 'sign', 'create', 'restore', 'destroy']) {
      const request = `POST /api/backups:${action}`;
      for (const as of ['viewer', 'operators'])
        expect((await server.call(request, { as, body: {} })).body.code).toBe('NO_PERMISSION');
      expect((await server.call(request, { as: 'nobody', body: {} })).body.code).toBe('TOKEN_MISSING');
      expect((await server.call(request, { ...asShop, body: {} })).body.code).toBe('SYSTEM_PROTECTED');
    }
    const [{ id }] = await server.data('GET /api/backups:list');
    const refusals: [string, unknown, string, RegExp][] = [
      ['create', { application: 'main' }, 'BODY_INVALID', /"application" must not be "main"/],
      ['create', { application: 'none' }, 'APPLICATION_UNKNOWN', /no application "none"/],
      ['create', { app: 'shop' }, 'BODY_INVALID', /unknown member "app"/],
      ['create', { application: 3 }, 'BODY_INVALID', /"application" must be text/],
      [`restore?filterByTk=${id}`, {}, 'BODY_INVALID', /application of the backup: main, shop/],
      [`restore?filterByTk=${id}`, { application: 'main' }, 'BODY_INVALID', /"confirm" must be "main"/],
      [`restore?filterByTk=${id}`, { application: 'shop' }, 'BODY_INVALID', /"confirm" must be "shop"/],
      [`restore?filterByTk=${id}`, { application: 'shop', as: '../x' }, 'BODY_INVALID', /"as" must be a name/],
      [`restore?filterByTk=${id}`, { application: 'shop', as: 'main' }, 'BODY_INVALID', /"as" must be a name/],
      ['restore?filterByTk=../../etc', { application: 'shop' }, 'RECORD_UNKNOWN', /no backup/],
      ['destroy?filterByTk=..', undefined, 'RECORD_UNKNOWN', /no backup/],
      ['destroy', undefined, 'PARAMETER_INVALID', /filterByTk/],
    ];
    for (const [action, body, code, message] of refusals) {
      const reply = await server.call(`POST /api/backups:${action}`, { body });
      expect(reply.body).toMatchObject({ code, message: expect.stringMatching(message) });
    }
    const refused = await server.call('POST /api/collections:create', { body: { name: 'backups', fields: [] } });
    expect(refused.status).toBe(422);
  });

  test('only one backup runs at a time', async () => {
    const replies = await Promise.all([1, 2, 3].map(() => server.call('POST /api/backups:create', { body: {} })));
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
    const refused = replies.find(({ status }) => status === 409)!;
    expect(refused.body.code).toBe('BACKUP_RUNNING');
    const { id } = replies.find(({ status }) => status === 202)!.body.data;
    await end(id);
    await server.data(`POST /api/backups:destroy?filterByTk=${id}`);
    expect(existsSync(join(root, 'backups', id))).toBe(false);
    expect((await server.call(`GET /api/backups:get?filterByTk=${id}`)).status).toBe(404);
  });

  test('a backup waits for a lock that is released soon, and is refused if the lock is held for longer', async () => {
    const { database } = server.running.applications.main;
    const hold = (milliseconds: number): Promise<unknown> => database.tryWithLock('backups', () => pause(milliseconds));
    const short = hold(200);
    const { id } = await run('create');
    await short;
    const before = await server.data('GET /api/backups:list');
    const long = hold(2500);
    const refused = await server.call('POST /api/backups:create', { body: {} });
    expect(refused).toMatchObject({ status: 409, body: { code: 'BACKUP_RUNNING' } });
    expect(await server.data('GET /api/backups:list')).toEqual(before);
    await long;
    await server.data(`POST /api/backups:destroy?filterByTk=${id}`);
  });

  test('an application is restored over itself, the replaced data becomes a backup, and clients must reload', async () => {
    const saved = await run('create', { application: 'shop' });
    expect(saved).toMatchObject({ application: 'shop', applications: ['shop'] });
    await server.data('POST /api/things:create', { ...asShop, body: { n: 4 } });
    const restored = await run(`restore?filterByTk=${saved.id}`, { confirm: 'shop' });
    expect(restored).toMatchObject({ kind: 'restore', status: 'done', application: 'shop', backup: saved.id });
    expect(await readShop()).toEqual([1, 2, 3]);
    expect((await server.call(`GET /api/changes:list?since=${cursor}`, asShop)).body.meta.resync).toBe(true);
    expect(await server.data('GET /api/audit:verify', asShop)).toMatchObject({ valid: true });
    expect(await server.data('GET /api/applications:get?filterByTk=shop')).toMatchObject({ status: 'running' });
    const kept = await server.data(`GET /api/backups:get?filterByTk=${restored.keptAs}`);
    expect(kept).toMatchObject({ reason: 'restore', status: 'done', applications: ['shop'] });

    // Restoring this backup brings back the replaced data.
    await server.data('POST /api/things:create', { ...asShop, body: { n: 9 } });
    await run(`restore?filterByTk=${kept.id}`, { confirm: 'shop' });
    expect(await readShop()).toEqual([1, 2, 3, 4]);
    if (engine.name === 'sqlite') {
      const stores = readdirSync(join(server.store.dataDir, 'applications')).filter((name) =>
        /-.*\d\.db$|^[0-9a-f-]{36}\.db$/.test(name),
      );
      expect(stores).toHaveLength(1);
      expect(readdirSync(server.store.dataDir).filter((name) => name.includes('part'))).toEqual([]);
    }
  });

  test('an application that was destroyed comes back, and a copy is restored next to the original', async () => {
    const { token: key } = await server.data('POST /api/apiKeys:create', {
      ...asShop,
      body: { name: 'k', role: 'admin' },
    });
    const login = server.tokens.get('shop');
    const saved = await run('create');
    const copy = await run(`restore?filterByTk=${saved.id}`, { application: 'shop', as: 'shop-copy' });
    expect(copy).toMatchObject({ status: 'done', application: 'shop-copy', keptAs: null });
    await enter('shop-copy');
    const asCopy = { as: 'shop-copy', headers: { 'x-app': 'shop-copy' } };
    // Credentials of the original are not accepted in the copy.
    for (const token of [key, login]) {
      const as = `header:Bearer ${token}`;
      const path = 'GET /api/things:list';
      expect((await server.call(path, { as, headers: shop })).status).toBe(200);
      const refused = await server.call(path, { as, headers: asCopy.headers });
      expect([401, 403]).toContain(refused.status);
    }
    expect(await server.data('GET /api/apiKeys:list', asCopy)).toEqual([]);
    expect(await server.data('GET /api/audit:verify', asCopy)).toMatchObject({ valid: true, firstBroken: null });
    expect(await server.data('GET /api/things:list?sort=n', asCopy)).toHaveLength(4);
    await server.data('POST /api/things:create', { ...asCopy, body: { n: 100 } });
    expect(await readShop()).toEqual([1, 2, 3, 4]);
    const [webhook] = await server.data('GET /api/webhooks:list', asCopy);
    expect(webhook).toMatchObject({ enabled: false, pausedFor: 'The application was restored as a copy.' });
    expect((await server.data('GET /api/webhooks:list', asShop))[0]).toMatchObject({ enabled: true });
    const again = await server.call(`POST /api/backups:restore?filterByTk=${saved.id}`, {
      body: { application: 'shop', as: 'shop-copy', confirm: 'shop-copy' },
    });
    expect(again.body.code).toBe('APPLICATION_EXISTS');

    await server.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    await run(`restore?filterByTk=${saved.id}`, { application: 'shop' });
    await enter('shop');
    expect(await readShop()).toEqual([1, 2, 3, 4]);
    const row = await server.data('GET /api/applications:get?filterByTk=shop');
    expect(row).toMatchObject({ displayName: 'The shop', status: 'running' });
  });

  test('a damaged backup is refused, and nothing is changed', async () => {
    const saved = await run('create', { application: 'shop' });
    const folder = join(root, 'backups', saved.id);
    const data = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((name) => /\.(db|zst)$/.test(name))!;
    writeFileSync(join(folder, data), 'damaged');
    const failed = await run(`restore?filterByTk=${saved.id}`, { confirm: 'shop' });
    expect(failed).toMatchObject({ status: 'failed', problem: expect.stringContaining('is damaged') });
    expect(await readShop()).toEqual([1, 2, 3, 4]);
    writeFileSync(join(folder, 'backup.json'), '{');
    const refused = await server.call(`POST /api/backups:restore?filterByTk=${saved.id}`, {
      body: { confirm: 'shop' },
    });
    expect(refused.body.code).toBe('BACKUP_UNUSABLE');
  });

  test('encrypted for age keys, a backup is listed, and is restored only with the secret key', async () => {
    const identity = await generateX25519Identity();
    await server.running.stop();
    await server.boot({ BACKUP_AGE_RECIPIENTS: await identityToRecipient(identity) });
    await enter('shop');
    const saved = await run('create', { application: 'shop' });
    expect(saved).toMatchObject({ isEncrypted: true, applications: ['shop'], status: 'done' });
    const folder = join(root, 'backups', saved.id);
    const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(names.map(({ name }) => name).filter((name) => !/\.age$|^backup\.json$/.test(name))).toEqual([]);
    await server.data('POST /api/things:create', { ...asShop, body: { n: 5 } });
    const path = `restore?filterByTk=${saved.id}`;
    const call = async (body: object): Promise<Json> => (await server.call(`POST /api/backups:${path}`, { body })).body;
    expect((await call({ confirm: 'shop' })).message).toMatch(/is encrypted/);
    expect((await call({ confirm: 'shop', identity: 'x' })).message).toMatch(/"identity" is not usable/);
    const other = await run(path, { confirm: 'shop', identity: await generateX25519Identity() });
    expect(other).toMatchObject({ status: 'failed', problem: expect.stringContaining('cannot be decrypted') });
    expect(await readShop()).toEqual([1, 2, 3, 4, 5]);
    await run(path, { confirm: 'shop', identity });
    expect(await readShop()).toEqual([1, 2, 3, 4]);
    const file = join(root, 'identity.txt');
    writeFileSync(file, `# a comment\n${identity}\n`);
    await runVerifyCommand(['--identity', file, folder], readConfig(settings()));
    await runVerifyCommand([folder], readConfig(settings()));
    const text =
      JSON.stringify(await server.data('GET /api/audit:list?pageSize=100')) +
      JSON.stringify(await server.data('GET /api/backups:list'));
    expect(text).not.toContain(identity);
    expect(readdirSync(server.store.dataDir).filter((name) => name.startsWith('decrypted'))).toEqual([]);
  });
});
