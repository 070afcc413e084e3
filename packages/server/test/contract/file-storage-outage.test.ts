/**
 * A bucket that is unavailable or slow, or refuses access: uploads end with 503 and leave no incomplete file, and
 * records still work.
 */
import { hash, randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { fileScope, unreferencedGraceMilliseconds } from '../../src/base/blob-store.ts';
import { readConfig } from '../../src/base/config.ts';
import { runFilesCommand } from '../../src/cli-files.ts';
import { startServer } from '../../src/server.ts';
import { describeEngines, postgres, shareStore, sqlite } from '../support/engines.ts';
import { fetchBytes, sendFiles, uploadFile } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { bucket, S3Server, secretAccessKey } from '../support/s3-server.ts';
import { type Reply, TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';
import { serverSettings } from '../support/server-settings.ts';

const large = randomBytes(12_000_000);
const unavailable = { status: 503, code: 'FILES_UNAVAILABLE', retryAfter: '5' };
const readOutcome = ({ status, body, headers }: Reply): unknown => ({
  status,
  code: body.code,
  retryAfter: headers.get('retry-after'),
});

let s3: S3Server;
let server: TestServer;
beforeAll(async () => {
  s3 = await S3Server.start();
  server = await TestServer.start(sqlite, { env: s3.env('outage') });
});
afterAll(async () => {
  await server.stop();
  await s3.remove();
});
afterEach(() => {
  s3.fault = () => null;
});

const send = (content: Uint8Array<ArrayBuffer>): Promise<Reply> =>
  sendFiles(server, '/api/files:upload', { as: 'admin', files: [{ name: 'a.bin', content }] });
const countFiles = async (): Promise<number> => (await server.data('POST /api/files:list')).length;

test.each([
  ['refuses access in the middle of an upload', (line: string) => line.includes('partNumber=2')],
  ['refuses access at the end of an upload', (line: string) => line.startsWith('POST') && line.includes('uploadId=')],
  ['refuses access while it copies', (line: string) => /^PUT \S+\/[0-9a-f]{64}$/.test(line)],
])('a service that %s stores nothing', async (_, isRefused) => {
  const [files, keys] = [await countFiles(), s3.keys()];
  s3.fault = (line) => (isRefused(line) ? { status: 403, code: 'AccessDenied' } : null);
  const reply = await send(large);
  expect(readOutcome(reply)).toEqual(unavailable);
  expect(reply.text).not.toMatch(/AccessDenied|127\.0\.0\.1|test-files/);
  expect([await countFiles(), s3.keys(), s3.uploads()]).toEqual([files, keys, []]);
  expect(server.running.health.problems).toMatchObject([
    { source: 'files', severity: 'warning', message: expect.stringContaining('AccessDenied') },
  ]);
  s3.fault = () => null;
  expect((await send(Buffer.from('works again'))).status).toBe(200);
  expect(server.running.health.problems).toEqual([]);
});

test('temporary faults are retried, and requests succeed', async () => {
  const seen = new Map<string, number>();
  s3.fault = (line) => {
    const count = (seen.get(line) ?? 0) + 1;
    seen.set(line, count);
    return count > 1 ? null : seen.size % 2 === 0 ? 'close' : { status: 503, code: 'SlowDown' };
  };
  const content = randomBytes(6_000_000);
  const { body, status } = await send(content);
  expect(status).toBe(200);
  const read = await fetchBytes(server, body.data[0].url, { as: 'admin' });
  expect(Buffer.from(await read.arrayBuffer()).equals(content)).toBe(true);
  expect(Math.min(...seen.values())).toBe(2);
  expect(s3.uploads()).toEqual([]);
});

test('while the service is slow, other requests go on', async () => {
  const released = Promise.withResolvers<void>();
  s3.fault = () => ({ until: released.promise });
  const sending = Promise.all(Array.from({ length: 6 }, () => send(Buffer.from(randomBytes(10)))));
  await expect.poll(() => s3.waiting).toBe(6);
  expect((await server.call('POST /api/users:list', { as: 'admin' })).status).toBe(200);
  released.resolve();
  expect((await sending).map(({ status }) => status)).toEqual(Array(6).fill(200));
});

test('if the service is killed in the middle of an upload, nothing is stored, and uploads work again after its restart', async () => {
  const file = await uploadFile(server, { name: 'before.txt', content: 'before' }, 'admin');
  const [files, keys] = [await countFiles(), s3.keys()];
  s3.fault = (line) => {
    if (!line.includes('partNumber=2')) return null;
    void s3.kill();
    return 'close';
  };
  expect(readOutcome(await send(large))).toEqual(unavailable);
  expect(await countFiles()).toBe(files);
  const refused = await fetchBytes(server, file['url'], { as: 'admin' });
  expect([refused.status, ((await refused.json()) as Json)['code']]).toEqual([503, 'FILES_UNAVAILABLE']);
  expect((await server.call('POST /api/users:list', { as: 'admin' })).status).toBe(200);

  s3.fault = () => null;
  await s3.listen();
  expect(s3.keys()).toEqual(keys);
  expect(await (await fetchBytes(server, file['url'], { as: 'admin' })).text()).toBe('before');
  // The killed service could not receive the abort, so the incomplete upload is swept a day later.
  expect(s3.uploads()).toHaveLength(1);
  const { blobs } = server.running.applications.main.files;
  const left = (await blobs.findStoredBefore(fileScope, Date.now() + 60_000)).filter((name) => name.startsWith('in-'));
  expect(left).toHaveLength(1);
  await blobs.remove(fileScope, left, Date.now() - unreferencedGraceMilliseconds);
  expect(s3.uploads()).toHaveLength(1);
  await blobs.remove(fileScope, left, Date.now() + 60_000);
  expect(s3.uploads()).toEqual([]);
});

test('bytes that do not match the hash are not sent as a complete file', async () => {
  const file = await uploadFile(server, { name: 'c.txt', content: 'to be damaged' }, 'admin');
  const object = join(s3.folder, bucket, `outage/1/0/${hash('sha256', 'to be damaged')}._S3rver_object`);
  const before = readFileSync(object);
  writeFileSync(object, 'to be changed');
  await expect(fetchBytes(server, file['url'], { as: 'admin' }).then((reply) => reply.text())).rejects.toThrow();
  writeFileSync(object, 'shorter');
  await expect(fetchBytes(server, file['url'], { as: 'admin' }).then((reply) => reply.text())).rejects.toThrow();
  writeFileSync(object, before);
  expect(await (await fetchBytes(server, file['url'], { as: 'admin' })).text()).toBe('to be damaged');
});

test('a blob that another server stores again while it is being removed can still be read', async () => {
  const { blobs } = server.running.applications.main.files;
  const bytes = Buffer.from('stored again');
  const sha256 = hash('sha256', bytes);
  await blobs.put(7, [{ sha256, bytes }]);
  const key = `/${bucket}/outage/1/7/${sha256}`;
  s3.agesBy(`outage/1/7/${sha256}`, 2 * unreferencedGraceMilliseconds);
  const deleting = Promise.withResolvers<void>();
  const mayDelete = Promise.withResolvers<void>();
  s3.fault = (line) => {
    if (line !== `DELETE ${key}`) return null;
    deleting.resolve();
    return { until: mayDelete.promise };
  };
  const removing = blobs.remove(7, [sha256], Date.now() - unreferencedGraceMilliseconds);
  await deleting.promise;
  await blobs.put(7, [{ sha256, bytes }]);
  mayDelete.resolve();
  await removing;
  expect(s3.keys().filter((each) => each.includes('/7/'))).toEqual([`outage/1/7/removed-${sha256}`]);
  expect(String(await blobs.get(7, sha256))).toBe('stored again');
  await blobs.remove(7, [sha256], Date.now() - unreferencedGraceMilliseconds);
  expect(String(await blobs.get(7, sha256))).toBe('stored again'); // the second copy is not a day old
  await blobs.remove(7, [sha256], Date.now() + 60_000);
  expect(await blobs.get(7, sha256)).toBeNull();
});

test('it is not an error if another server removes the same blob at the same time', async () => {
  const { blobs } = server.running.applications.main.files;
  const bytes = Buffer.from('removed by two');
  const sha256 = hash('sha256', bytes);
  await blobs.put(8, [{ sha256, bytes }]);
  s3.agesBy(`outage/1/8/${sha256}`, 2 * unreferencedGraceMilliseconds);
  s3.fault = (line) => {
    if (line.startsWith('PUT') && line.includes('/removed-'))
      rmSync(join(s3.folder, bucket, `outage/1/8/${sha256}._S3rver_object`), { force: true });
    return null;
  };
  await blobs.remove(8, [sha256], Date.now() - unreferencedGraceMilliseconds);
  expect(await blobs.get(8, sha256)).toBeNull();
});

test('if a server is killed in the middle of an upload, the sweep removes the incomplete upload', async () => {
  const store = await sqlite.store(true);
  const own = await ServerProcess.start(store, s3.env('killed'));
  const arrived = Promise.withResolvers<void>();
  s3.fault = (line) => {
    if (line.includes('partNumber=2')) arrived.resolve();
    return null;
  };
  const form = new FormData();
  form.append('file', new Blob([large]), 'a.bin');
  const headers = { authorization: `Bearer ${own.token}` };
  const sending = fetch(`${own.url}/api/files:upload`, { method: 'POST', headers, body: form }).catch(() => null);
  await arrived.promise;
  await own.kill();
  expect(await sending).toBeNull();
  const again = await TestServer.start(shareStore(sqlite, store), { env: s3.env('killed') });
  const { blobs } = again.running.applications.main.files;
  const left = await blobs.findStoredBefore(fileScope, Date.now() + 60_000);
  await blobs.remove(fileScope, left, Date.now() + 60_000);
  expect([s3.uploads(), s3.keys().filter((key) => key.startsWith('killed/'))]).toEqual([[], ['killed/tablinum-owner']]);
  expect(await again.data('POST /api/files:list')).toEqual([]);
  await again.stop();
  await store.remove();
});

describeEngines('a bucket that is set later', (engine) => {
  test('a command moves the earlier files to it while the server runs', async () => {
    const store = await engine.store(true);
    const shared = shareStore(engine, store);
    const before = await TestServer.start(shared);
    const small = await uploadFile(before, { name: 'small.txt', content: 'small' }, 'admin');
    const big = await uploadFile(before, { name: 'big.bin', content: large }, 'admin');
    await before.stop();
    const env = s3.env(`moved-${engine.name}`);
    const config = readConfig({
      ...serverSettings,
      DATA_DIR: store.dataDir,
      ...(store.databaseUrl && { DATABASE_URL: store.databaseUrl }),
      ...env,
    });
    await expect(runFilesCommand(['move'], config)).rejects.toThrow('Start the server with these settings first');
    const after = await TestServer.start(shared, { env });
    const printed = vi.spyOn(console, 'log').mockImplementation(() => {});
    await runFilesCommand(['move'], config);
    await runFilesCommand(['move'], config); // there is nothing more to move
    expect(printed.mock.calls).toEqual([['1: 2 files, 11.4 MB moved.'], ['1: 0 files, 0.0 MB moved.']]);
    printed.mockRestore();
    const hashes = [hash('sha256', 'small'), hash('sha256', large)].sort();
    expect(s3.keys().filter((key) => key.startsWith(`moved-${engine.name}/1/`))).toEqual(
      hashes.map((each) => `moved-${engine.name}/1/0/${each}`),
    );
    expect(await (await fetchBytes(after, small['url'], { as: 'admin' })).text()).toBe('small');
    const read = await fetchBytes(after, big['url'], { as: 'admin' });
    expect(Buffer.from(await read.arrayBuffer()).equals(large)).toBe(true);
    await expect(runFilesCommand([], config)).rejects.toThrow('Usage');
    await expect(runFilesCommand(['move'], { ...config, s3: null })).rejects.toThrow('Usage');
    await after.stop();
    // The moved files exist nowhere else.
    const without = await TestServer.start(shared);
    expect(await without.running.applications.main.files.blobs.scopes()).toEqual(engine === postgres ? [] : [0]);
    expect((await fetchBytes(without, small['url'], { as: 'admin' })).status).toBe(404);
    await without.stop();
    await store.remove();
  });

  test('stores all new files, and earlier files are still read and removed in their previous storage', async () => {
    const store = await engine.store(true);
    const shared = shareStore(engine, store);
    const before = await TestServer.start(shared);
    const early = await uploadFile(before, { name: 'early.txt', content: 'early' }, 'admin');
    await before.stop();
    const prefix = `later-${engine.name}`;
    const after = await TestServer.start(shared, { env: s3.env(prefix) });
    const late = await uploadFile(after, { name: 'late.txt', content: 'late' }, 'admin');
    for (const [file, text] of [
      [early, 'early'],
      [late, 'late'],
    ] as const)
      expect(await (await fetchBytes(after, file['url'], { as: 'admin' })).text()).toBe(text);
    expect(s3.keys().filter((key) => key.startsWith(`${prefix}/1/`))).toEqual([
      `${prefix}/1/0/${hash('sha256', 'late')}`,
    ]);
    const { blobs } = after.running.applications.main.files;
    expect(await blobs.findStoredBefore(fileScope, Date.now() + 60_000)).toHaveLength(2);
    await blobs.remove(fileScope, [hash('sha256', 'early')], Date.now() + 60_000);
    expect(await blobs.get(fileScope, hash('sha256', 'early'))).toBeNull();
    // The files of a destroyed application are deleted with it.
    await after.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await after.data('POST /api/applications:enter?filterByTk=shop');
    after.tokens.set('shop', token);
    const files = [{ name: 'shop.txt', content: 'of the shop' }];
    await sendFiles(after, '/api/files:upload', { as: 'shop', files, headers: { 'x-app': 'shop' } });
    const others = (): string[] =>
      s3.keys().filter((key) => key.startsWith(`${prefix}/`) && !/\/(1\/|tablinum-owner)/.test(key));
    expect(others()).toHaveLength(1);
    await after.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    expect(others()).toEqual([]);
    await after.stop();
    await store.remove();
  });

  test('can be used by several servers with the same database, but not by a server with another database', async () => {
    const store = await engine.store(true);
    const env = s3.env(`shared-${engine.name}`);
    const one = await TestServer.start(shareStore(engine, store), { env });
    const file = await uploadFile(one, { name: 'one.txt', content: 'of one' }, 'admin');
    if (engine === postgres) {
      const two = await TestServer.start(shareStore(engine, store), { env });
      expect(await (await fetchBytes(two, file['url'], { as: 'admin' })).text()).toBe('of one');
      await two.stop();
    }
    await one.stop();
    await expect(TestServer.start(engine, { env, signIn: false })).rejects.toThrow(
      /already contains files of other data.*Set FILES_S3_PREFIX/,
    );
    const off = await TestServer.start(shareStore(engine, store), { env: { ...env, FILES_S3_REMOVE: 'off' } });
    const { blobs } = off.running.applications.main.files;
    await blobs.remove(fileScope, [hash('sha256', 'of one')], Date.now() + 60_000);
    expect(String(await blobs.get(fileScope, hash('sha256', 'of one')))).toBe('of one');
    await off.stop();
    await store.remove();
  });
});

test.each([
  ['a bucket that does not exist', { FILES_S3_BUCKET: 'no-such-bucket' }, /bucket does not exist. Create it/],
  ['a wrong secret', { FILES_S3_SECRET_ACCESS_KEY: 'a wrong secret' }, /secret is wrong. Correct FILES_S3_SECRET/],
  ['an unknown key', { FILES_S3_ACCESS_KEY_ID: 'nobody' }, /key is unknown. Correct FILES_S3_ACCESS_KEY_ID/],
  ['a service that is not there', { FILES_S3_ENDPOINT: 'http://127.0.0.1:9' }, /nothing listens there/],
  ['TLS where there is none', { FILES_S3_ENDPOINT: 'https' }, /does not speak TLS/],
])('%s is reported as a clear error at startup', async (name, wrong: Record<string, string>, sentence) => {
  const store = await sqlite.store(true);
  const prefix = `start-${name.replaceAll(' ', '-')}`;
  const env = { ...s3.env(prefix), ...wrong };
  if (env['FILES_S3_ENDPOINT'] === 'https') env['FILES_S3_ENDPOINT'] = s3.endpoint.replace('http:', 'https:');
  const config = readConfig({ ...serverSettings, DATA_DIR: store.dataDir, ...env });
  const failure = await startServer({ config }).then(
    () => null,
    (error: Error) => error,
  );
  expect(failure?.message).toMatch(sentence);
  expect(failure?.message).toContain('FILES_S3_');
  expect(failure?.message).not.toMatch(new RegExp(`${secretAccessKey}|a wrong secret|\\n`));
  expect(failure?.constructor.name).toBe('StartFailure');
  // The failed start does not block the next start on the same folder.
  const again = await TestServer.start(shareStore(sqlite, store), { env: s3.env(prefix), signIn: false });
  await again.stop();
  await store.remove();
});
