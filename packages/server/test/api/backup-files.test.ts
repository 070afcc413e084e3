/** Backups of servers whose files are in a bucket: they contain the bytes, and restore them without the objects of the bucket. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { fetchBytes, sendFiles } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { S3Server } from '../support/s3-server.ts';
import { TestServer } from '../support/scenario.ts';

const shop = { as: 'shop', headers: { 'x-app': 'shop' } };
const contents = [randomBytes(1_300_000), Buffer.from('short'), Buffer.alloc(0)];

describeEngines('backups with files in a bucket', (engine) => {
  const root = mkdtempSync(join(tmpdir(), 'tablinum-backup-files-'));
  const env = { BACKUP_DIR: join(root, 'backups') };
  let s3: S3Server;
  let server: TestServer;
  let urls: string[];

  const run = async (action: string, body: object = {}): Promise<Json> => {
    const reply = await server.call(`POST /api/backups:${action}`, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBe(202);
    await (await server.running.applications.backups()).backups.waitForEnd();
    return server.data(`GET /api/backups:get?filterByTk=${reply.body.data.id}`);
  };
  const enter = async (name: string): Promise<void> => {
    const { token } = await server.data(`POST /api/applications:enter?filterByTk=${name}`);
    server.tokens.set(name, token);
  };
  const readFiles = (name: string): Promise<(Buffer | number)[]> =>
    Promise.all(
      urls.map(async (url) => {
        const reply = await fetchBytes(server, url, { as: name, headers: { 'x-app': name } });
        return reply.status === 200 ? Buffer.from(await reply.arrayBuffer()) : reply.status;
      }),
    );

  beforeAll(async () => {
    s3 = await S3Server.start();
    server = await TestServer.start(engine, { env: { ...env, ...s3.env('files') } });
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    await enter('shop');
    const files = contents.map((content, index) => ({ name: `${index}.bin`, content }));
    const { body, text } = await sendFiles(server, '/api/files:upload', { ...shop, files });
    urls = body.data?.map(({ url }: Json) => url) ?? expect.fail(text);
  });
  afterAll(async () => {
    await server.stop();
    await s3.remove();
    rmSync(root, { recursive: true });
  });

  test('an application is restored over itself and as a copy, even if its objects are no longer in the bucket', async () => {
    const { id, bucket } = await run('create', { application: 'shop' });
    expect(bucket).toBeNull();
    const [{ id: file }] = await server.data('GET /api/files:list?sort=id', shop);
    await server.data(`POST /api/files:destroy?filterByTk=${file}`, shop);
    const restored = await run(`restore?filterByTk=${id}`, { application: 'shop', confirm: 'shop' });
    expect(restored).toMatchObject({ status: 'done', problem: null });
    // The objects of the replaced store were removed from the bucket.
    expect(s3.keys().filter((key) => /\/0\/[0-9a-f]{64}$/.test(key))).toEqual([]);
    await enter('shop');
    expect(await readFiles('shop')).toEqual(contents);
    await run(`restore?filterByTk=${id}`, { as: 'shop-copy' });
    await enter('shop-copy');
    expect(await readFiles('shop-copy')).toEqual(contents);
    await run(`restore?filterByTk=${restored.keptAs}`, { as: 'shop-before' });
    await enter('shop-before');
    expect(
      (await server.data('GET /api/files:list', { as: 'shop-before', headers: { 'x-app': 'shop-before' } })).length,
    ).toBe(2);
    expect((await readFiles('shop-before')).slice(1)).toEqual(contents.slice(1));
  });

  test('if the bucket cannot be read, the backup fails and leaves nothing', async () => {
    const before = readdirSync(env.BACKUP_DIR);
    await sendFiles(server, '/api/files:upload', {
      ...shop,
      files: [{ name: 'new.bin', content: Buffer.from('new') }],
    });
    s3.fault = (line) =>
      line.startsWith('GET') && /[0-9a-f]{64}/.test(line) ? { status: 403, code: 'AccessDenied' } : null;
    const entry = await run('create', { application: 'shop' });
    s3.fault = () => null;
    expect(entry).toMatchObject({ status: 'failed', problem: expect.stringMatching(/FILES_S3_BUCKET.*AccessDenied/) });
    expect(readdirSync(env.BACKUP_DIR)).toEqual(before);
  });

  test('with BACKUP_FILES=off the bytes stay in the bucket, and only the command line restores', async () => {
    await server.running.stop();
    await server.boot({ BACKUP_FILES: 'off' });
    const { id, bucket } = await run('create', { application: 'shop' });
    expect(bucket).toBe('test-files');
    const { body } = await server.call(`POST /api/backups:restore?filterByTk=${id}`, { body: { as: 'other' } });
    expect(body).toMatchObject({ code: 'BACKUP_UNUSABLE', message: expect.stringContaining('BACKUP_FILES=on') });
  });
});
