/** Backups in a bucket: all servers make, list, download, restore and remove them. Failures of the service leave no partial backup. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest';
import { BackupSchedule } from '../../src/applications/backups/backup-schedule.ts';
import { readConfig } from '../../src/base/config.ts';
import { runBackupCommand } from '../../src/cli-backup.ts';
import { runRestoreCommand } from '../../src/cli-restore.ts';
import { runVerifyCommand } from '../../src/cli-verify.ts';
import { describeEngines, shareStore } from '../support/engines.ts';
import { fetchBytes, uploadFile } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { bucket, S3Server, secretAccessKey } from '../support/s3-server.ts';
import { TestServer } from '../support/scenario.ts';

const shop = { as: 'shop', headers: { 'x-app': 'shop' } };
/** Large enough to be uploaded in parts. */
const large = randomBytes(11_000_000);

describeEngines('backups in a bucket', (engine) => {
  const root = mkdtempSync(join(tmpdir(), 'tablinum-backup-bucket-'));
  const folder = join(root, 'staging');
  let s3: S3Server;
  let server: TestServer;
  /** On PostgreSQL, another server with the same data and its own folder; on SQLite, the same server. */
  let other: TestServer;

  const end = async (id: string, on = server): Promise<Json> => {
    await (await on.running.applications.backups()).backups.waitForEnd();
    return other.data(`GET /api/backups:get?filterByTk=${id}`);
  };
  const run = async (action: string, body: object = {}, on = server): Promise<Json> => {
    const reply = await on.call(`POST /api/backups:${action}`, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBe(202);
    return end(reply.body.data.id, on);
  };
  const list = (on = other): Promise<Json[]> => on.data('GET /api/backups:list');
  const readShop = async (): Promise<number[]> =>
    (await server.data('GET /api/things:list?sort=n', shop)).map(({ n }: Json) => n);
  const keysOf = (id: string): string[] => s3.keys().filter((key) => key.startsWith(`saved/${id}`));
  const settings = (): Record<string, string> => ({
    ...s3.env('saved', 'BACKUP_S3'),
    DATA_DIR: server.store.dataDir,
    ...(server.store.databaseUrl && { DATABASE_URL: server.store.databaseUrl }),
  });
  const quietly = async (work: () => Promise<void>): Promise<string> => {
    const printed = vi.spyOn(console, 'log').mockImplementation(() => {});
    await work();
    const text = printed.mock.calls.join('\n');
    printed.mockRestore();
    return text;
  };

  beforeAll(async () => {
    s3 = await S3Server.start();
    const env = { ...s3.env('saved', 'BACKUP_S3'), BACKUP_DIR: folder };
    server = await TestServer.start(engine, { env });
    other =
      engine.name === 'postgres'
        ? await TestServer.start(shareStore(engine, server.store), {
            env: { ...env, BACKUP_DIR: join(root, 'second') },
          })
        : server;
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
    server.tokens.set('shop', token);
    const fields = [{ name: 'n', type: 'integer' }];
    await server.data('POST /api/collections:create', { ...shop, body: { name: 'things', fields } });
    for (const n of [1, 2]) await server.data('POST /api/things:create', { ...shop, body: { n } });
    await uploadFile(server, { name: 'large.bin', content: large }, 'admin');
  });
  afterEach(() => {
    s3.fault = () => null;
  });
  afterAll(async () => {
    if (other !== server) await other.stop();
    await server.stop();
    await s3.remove();
    rmSync(root, { recursive: true });
  });

  test('a sweep keeps the files of a backup that begins after it has read the list', async () => {
    const { storage } = (await server.running.applications.backups()).backups;
    const part = 'b20260101-000000-0000000a.part';
    const none = { running: new Set<string>(), listed: new Set<string>() };
    const readJobs = async (): Promise<typeof none> => {
      mkdirSync(join(folder, part), { recursive: true });
      return none;
    };
    await storage.sweep(readJobs, Date.now());
    expect(readdirSync(folder)).toContain(part);
    await storage.sweep(async () => none, Date.now());
    expect(readdirSync(folder)).not.toContain(part);
  });

  test('a backup is listed by all servers when its last byte is stored, and leaves nothing on the disk', async () => {
    const seen = new Set<number>();
    s3.fault = () => {
      seen.add(s3.keys().filter((key) => key.endsWith('.complete')).length);
      return null;
    };
    const entry = await run('create');
    expect(entry).toMatchObject({ status: 'done', isAvailable: true, applications: ['main', 'shop'], problem: null });
    expect(entry.bytes).toBeGreaterThan(large.length);
    expect([...seen]).toContain(0);
    const keys = keysOf(entry.id);
    expect(keys.at(0)).toBe(`saved/${entry.id}.complete`);
    expect(keys).toHaveLength(entry.files + 2);
    expect(readdirSync(folder)).toEqual([]);
    expect(s3.uploads()).toEqual([]);
    const { body } = await other.call('GET /api/backups:list');
    expect(body.data[0]).toEqual(entry);
    expect(body.meta.bucket).toBe(bucket);
  });

  test('another server can download a valid backup, and the download is aborted if a byte differs', async () => {
    const [{ id }] = (await list()) as [Json];
    const path = `/api/backups:download?filterByTk=${id}`;
    const reply = await fetchBytes(other, path, { as: 'admin' });
    const bytes = Buffer.from(await reply.arrayBuffer());
    expect(Number(reply.headers.get('content-length'))).toBe(bytes.length);
    writeFileSync(join(root, 'one.tar'), bytes);
    mkdirSync(join(root, 'unpacked'));
    execFileSync('tar', ['xf', join(root, 'one.tar'), '-C', join(root, 'unpacked')]);
    await quietly(() => runVerifyCommand([join(root, 'unpacked', id)], readConfig(settings())));
    const { url } = await other.data(`POST /api/backups:sign?filterByTk=${id}`);
    const part = await fetch(other.running.url + url, { headers: { range: 'bytes=1000-70000' } });
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1000, 70_001))).toBe(true);

    const damaged = join(
      s3.folder,
      bucket,
      `${keysOf(id).find((key) => key.endsWith('.db') || key.endsWith('.zst'))}._S3rver_object`,
    );
    const good = readFileSync(damaged);
    const bad = Buffer.from(good);
    bad[bad.length - 1]! ^= 1;
    writeFileSync(damaged, bad);
    await expect(fetchBytes(other, path, { as: 'admin' }).then((each) => each.arrayBuffer())).rejects.toThrow();
    const address = `s3://${bucket}/saved/${id}`;
    await expect(runVerifyCommand([address], readConfig(settings()))).rejects.toThrow(
      /damaged: \S+ has different content/,
    );
    writeFileSync(damaged, good);
  });

  test('an application is restored from the bucket, and the replaced data is stored there too', async () => {
    const { id } = (await list()).find(({ kind }) => kind === 'backup') as Json;
    await server.data('POST /api/things:create', { ...shop, body: { n: 3 } });
    const restored = await run(`restore?filterByTk=${id}`, { application: 'shop', confirm: 'shop' });
    expect(restored).toMatchObject({ status: 'done', kind: 'restore', application: 'shop', problem: null });
    expect(await readShop()).toEqual([1, 2]);
    expect(keysOf(restored.keptAs)).toContain(`saved/${restored.keptAs}.complete`);
    expect(readdirSync(folder)).toEqual([]);
    await run(`restore?filterByTk=${restored.keptAs}`, { as: 'shop-before' });
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop-before');
    server.tokens.set('copy', token);
    const copy = { as: 'copy', headers: { 'x-app': 'shop-before' } };
    expect((await server.data('GET /api/things:list?sort=n', copy)).map(({ n }: Json) => n)).toEqual([1, 2, 3]);
  });

  test('if the service fails during the upload, no backup remains, and the list has the reason', async () => {
    const before = s3.keys();
    for (const isRefused of [
      (line: string) => line.includes('partNumber=2'),
      (line: string) => line.startsWith('PUT') && line.includes('.complete'),
    ]) {
      const code = 'AccessDenied';
      s3.fault = (line) => (isRefused(line) ? { status: 403, code } : null);
      const entry = await run('create');
      expect(entry).toMatchObject({ status: 'failed', isAvailable: false, problem: expect.stringContaining(code) });
      expect(entry.problem).not.toContain(`of ${secretAccessKey}`);
      expect([s3.keys(), s3.uploads(), readdirSync(folder)]).toEqual([before, [], []]);
    }
  });

  test('an unavailable service is named with its setting, nothing is changed, and the schedule tries again', async () => {
    const before = await list();
    const { backups } = await server.running.applications.backups();
    const { clock, logger } = server.running.applications.main;
    const settings = (): { schedule: string; keep: number } => ({ schedule: '0 3 * * *', keep: 1 });
    const schedule = new BackupSchedule({ settings, backups, clock, logger, isShared: false });
    await s3.kill();
    await schedule.tick();
    for (const request of ['GET /api/backups:list', 'POST /api/backups:create']) {
      const { status, body, headers } = await other.call(request);
      expect({ status, code: body.code }).toEqual({ status: 503, code: 'BACKUP_STORAGE_UNAVAILABLE' });
      expect(body.message).toContain(`"${bucket}" at ${s3.endpoint} (BACKUP_S3_BUCKET, BACKUP_S3_ENDPOINT)`);
      expect(headers.get('retry-after')).toBe('5');
    }
    const problems = other.running.health.problems.filter(({ source }) => source === 'backup storage');
    expect(problems).toMatchObject([{ severity: 'warning', message: expect.stringContaining('BACKUP_S3_BUCKET') }]);
    await s3.listen();
    expect(await list()).toEqual(before);
    await schedule.tick();
    await backups.waitForEnd();
    const [made, ...others] = await list();
    expect(made).toMatchObject({ reason: 'schedule', status: 'done', isAvailable: true });
    expect(others).toEqual(before);
    expect(other.running.health.problems.some(({ source }) => source === 'backup storage')).toBe(false);
  });

  test('a server that is stopped during an upload removes the files at its next start', async () => {
    const before = s3.keys();
    const gate = Promise.withResolvers<void>();
    s3.fault = (line) => (line.includes('partNumber=2') ? { until: gate.promise } : null);
    const { id } = (await server.call('POST /api/backups:create')).body.data;
    await expect.poll(() => s3.waiting, { interval: 20 }).toBe(1);
    // Backups that are not in the list may belong to other servers.
    mkdirSync(join(s3.folder, bucket, 'saved', 'b20260101-000000-0123abcd'), { recursive: true });
    writeFileSync(join(s3.folder, bucket, 'saved', 'b20260101-000000-0123abcd', 'x._S3rver_object'), 'x');
    await server.running.stop();
    gate.resolve();
    s3.fault = () => null;
    await server.boot();
    await expect.poll(() => keysOf(id), { interval: 20 }).toEqual([]);
    expect(s3.uploads()).toEqual([]);
    expect(s3.keys()).toEqual([...before, 'saved/b20260101-000000-0123abcd/x'].sort());
    expect(await end(id)).toMatchObject({ status: 'failed', isAvailable: false });
    s3.agesBy('saved/b20260101-000000-0123abcd/x', 90_000_000);
    expect(await run('create')).toMatchObject({ status: 'done' });
    expect(keysOf('b20260101')).toEqual([]);
  });

  test('the command line stores, verifies and restores backups at s3 addresses', async () => {
    const identity = await generateX25519Identity();
    const key = join(root, 'key.txt');
    writeFileSync(key, `${identity}\n`);
    const config = readConfig({ ...settings(), BACKUP_AGE_RECIPIENTS: await identityToRecipient(identity) });
    const address = `s3://${bucket}/saved/by-hand`;
    await quietly(() => runBackupCommand(['--app', 'shop', address], config));
    expect((await list()).find(({ id }) => id === 'by-hand')).toMatchObject({
      reason: null,
      application: 'shop',
      isEncrypted: true,
    });
    expect(await quietly(() => runVerifyCommand(['--identity', key, address], config))).toContain(
      `in ${address} is good`,
    );
    await expect(runBackupCommand(['--app', 'shop', address], config)).rejects.toThrow(
      /already has a backup "by-hand"/,
    );
    await expect(runVerifyCommand([`s3://${bucket}/saved/none`], config)).rejects.toThrow(/no complete backup "none"/);
    await expect(runVerifyCommand([`s3://${bucket}/a b/none`], config)).rejects.toThrow(/must look like s3:/);
    await expect(runVerifyCommand([address], readConfig({ DATA_DIR: root }))).rejects.toThrow(
      /BACKUP_S3_BUCKET is missing/,
    );
    if (inject('clusterNodes') !== null) return; // "tablinum restore" refuses a Citus cluster; backups:restore works with it
    if (other !== server) await other.running.stop();
    await server.running.stop();
    const restore = ['--app', 'shop', '--as', 'shop-by-hand', '--identity', key, address];
    expect(await quietly(() => runRestoreCommand(restore, config))).toContain(
      `in ${address} is restored: shop-by-hand`,
    );
    expect(readdirSync(server.store.dataDir).filter((name) => name.startsWith('scratch-'))).toEqual([]);
    await server.boot();
    if (other !== server) await other.boot();
    expect(await server.data('GET /api/applications:get?filterByTk=shop-by-hand')).toBeTruthy();
  });

  test('a backup that is destroyed leaves nothing, and each server stops listing it', async () => {
    for (const { id, kind } of await list(server)) {
      await other.data(`POST /api/backups:destroy?filterByTk=${id}`);
      if (kind === 'backup') expect(keysOf(id)).toEqual([]);
    }
    expect(await list(server)).toEqual([]);
    expect(s3.keys()).toEqual([]);
  });
});
