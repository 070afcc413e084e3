import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { fileScope } from '../../src/base/blob-store.ts';
import { limits } from '../../src/protocol/limits.ts';
import { parseCsv } from '../support/csv-parser.ts';
import { describeEngines, sqlite } from '../support/engines.ts';
import { startLargeCollectionServer } from '../support/large-collection-server.ts';
import { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';

const tablinum = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));

const formats = ['csv', 'xlsx', 'json', 'ndjson'] as const;
type Format = (typeof formats)[number];

/** Exports that take long: permissions change while they run. */
describeEngines('long-running exports', (engine) => {
  const records = 3000;
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { LIMIT_FILE_MB: '1' } });
    const fields = [
      { name: 'n', type: 'integer' },
      { name: 'text', type: 'text' },
    ];
    await server.data('POST /api/collections:create', { body: { name: 'items', fields } });
    await server.data('POST /api/roles:create', { body: { name: 'reader' } });
    const permission = { role: 'reader', resource: 'items', actions: ['list', 'get', 'export'] };
    await server.data('POST /api/permissions:create', { body: permission });
    // These texts do not compress, so most of the export is still unread when its first bytes arrive.
    const text = (): string => randomBytes(5700).toString('base64');
    for (let from = 0; from < records; from += 500)
      await server.data('POST /api/items:create', {
        body: Array.from({ length: 500 }, (_, index) => ({ n: from + index, text: text() })),
      });
  }, 60_000);
  afterAll(() => server.stop());

  /** Reads an export. `meanwhile` runs after the first bytes have arrived. */
  async function read(
    format: Format,
    token: string,
    meanwhile: () => Promise<unknown>,
  ): Promise<{ text: string; isComplete: boolean; requestId: string | null }> {
    const reply = await fetch(`${server.running.url}/api/items:export?format=${format}`, {
      headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'identity' },
    });
    expect(reply.status).toBe(200);
    const reader = reply.body!.getReader();
    const pieces = [(await reader.read()).value!];
    await meanwhile();
    const requestId = reply.headers.get('x-request-id');
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) pieces.push(piece.value);
      return { text: Buffer.concat(pieces).toString('latin1'), isComplete: true, requestId };
    } catch {
      return { text: Buffer.concat(pieces).toString('latin1'), isComplete: false, requestId };
    }
  }

  for (const format of formats)
    test(`${format}: an export ends when the permission is revoked, and the client can detect that it is incomplete`, async () => {
      const token = await server.createKey('reader');
      const [{ id }] = await server.data('GET /api/permissions:list?filter={"role":"reader"}');
      const change = (actions: string[]): Promise<unknown> =>
        server.data(`POST /api/permissions:update?filterByTk=${id}`, { body: { actions } });
      const { text, isComplete, requestId } = await read(format, token, () => change(['list', 'get']));
      await change(['list', 'get', 'export']);
      if (format !== 'ndjson') return expect(isComplete).toBe(false);
      const last = JSON.parse(text.trimEnd().split('\n').at(-1)!);
      expect(last).toMatchObject({ error: 'No permissions', requestId });
    });

  for (const format of ['csv', 'xlsx'] as const)
    test(`${format}: the export ends when the role may no longer read one of its columns`, async () => {
      const token = await server.createKey('reader');
      const [{ id }] = await server.data('GET /api/permissions:list?filter={"role":"reader"}');
      const change = (exceptFields: string[] | null): Promise<unknown> =>
        server.data(`POST /api/permissions:update?filterByTk=${id}`, { body: { exceptFields } });
      const { isComplete } = await read(format, token, () => change(['n']));
      await change(null);
      expect(isComplete).toBe(false);
    });

  /** Stores an export as a file. `meanwhile` runs after the first bytes have been stored. */
  async function store(
    format: Format,
    token: string,
    meanwhile: () => Promise<unknown>,
    signal?: AbortSignal,
  ): Promise<{ readonly status: number; readonly code: string; readonly failure: Promise<unknown> }> {
    const { blobs } = server.running.applications.main.files;
    const receive = blobs.receive.bind(blobs);
    const stored = Promise.withResolvers<unknown>();
    const watch = vi.spyOn(blobs, 'receive').mockImplementation((scope, bytes) => {
      async function* withPause(): AsyncGenerator<Uint8Array> {
        let isFirst = true;
        for await (const piece of bytes) {
          yield piece;
          if (isFirst) await meanwhile();
          isFirst = false;
        }
      }
      const received = receive(scope, withPause());
      received.catch((error: unknown) => error).then(stored.resolve);
      return received;
    });
    try {
      const reply = await fetch(`${server.running.url}/api/items:storeExport?format=${format}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        ...(signal && { signal }),
      }).catch(() => null);
      const code = reply ? ((await reply.json()) as { code: string }).code : '';
      return { status: reply?.status ?? 0, code, failure: stored.promise };
    } finally {
      watch.mockRestore();
    }
  }

  /** The blobs of files, also incomplete ones. */
  const listBlobs = (): Promise<string[]> =>
    server.running.applications.main.files.blobs.findStoredBefore(fileScope, Date.now() + 60_000);

  test('a stored export that fails or is aborted leaves neither bytes nor a file', async () => {
    const [{ id }] = await server.data('GET /api/permissions:list?filter={"role":"reader"}');
    await server.data('POST /api/permissions:create', {
      body: { role: 'reader', resource: 'files', actions: ['create'] },
    });
    const change = (actions: string[]): Promise<unknown> =>
      server.data(`POST /api/permissions:update?filterByTk=${id}`, { body: { actions } });
    const token = await server.createKey('reader');
    for (const format of formats) {
      const refused = await store(format, token, () => change(['list', 'get']));
      expect(refused, format).toMatchObject({ status: 403, code: 'NO_PERMISSION' });
      await change(['list', 'get', 'export']);
    }
    const tooLarge = await store('csv', token, () => Promise.resolve());
    expect(tooLarge).toMatchObject({ status: 400, code: 'LIMIT_EXCEEDED' });
    const abort = new AbortController();
    const closed = async (): Promise<void> => {
      abort.abort();
      await new Promise((resolve) => setTimeout(resolve, 200)); // until the server has noticed the abort
    };
    const { status, failure } = await store('ndjson', token, closed, abort.signal);
    expect([status, await failure]).toEqual([0, expect.objectContaining({ code: 'STOPPING' })]);
    await vi.waitFor(async () => expect(await listBlobs()).toEqual([]));
    const { database, exportSlots } = server.running.applications.main;
    expect(exportSlots.acquire('other', limits.exports)).toBe(limits.exportsOfSender);
    exportSlots.release('other', limits.exportsOfSender);
    const [rows] = await database.read([{ text: 'SELECT count(*) FROM files', values: [] }]);
    expect(Number(rows![0]![0])).toBe(0);
  });
});

describeEngines('a server that is killed while it exports', (engine) => {
  test('ends every file so that the client can detect the error, and leaves nothing', { timeout: 60_000 }, async () => {
    const store = await engine.store();
    const server = await ServerProcess.start(store);
    const fields = [{ name: 'text', type: 'text' }];
    await server.data('collections:create', { name: 'items', fields });
    const makeText = (): string => randomBytes(3000).toString('hex');
    for (let batch = 0; batch < 6; batch += 1)
      await server.data(
        'items:create',
        Array.from({ length: 500 }, () => ({ text: makeText() })),
      );
    const listFiles = (): string[] => readdirSync(store.dataDir, { recursive: true, encoding: 'utf8' }).sort();
    const temporary = (): string[] =>
      readdirSync(tmpdir()).filter((name) => /\.(?:xlsx|csv|json|zip|part)$/.test(name));
    const [filesBefore, temporaryBefore] = [listFiles(), temporary()];

    const headers = { authorization: `Bearer ${server.token}`, 'accept-encoding': 'identity' };
    const open = async (format: Format): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
      const { status, body } = await fetch(`${server.url}/api/items:export?format=${format}`, { headers });
      expect(status).toBe(200);
      const reader = body!.getReader();
      expect((await reader.read()).done).toBe(false);
      return reader;
    };
    const folder = mkdtempSync(join(tmpdir(), 'killed-export-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const command = spawn(
      process.execPath,
      [tablinum, 'export', 'items', '--url', server.url, '--out', join(folder, 'items.csv')],
      { env: { PATH: process.env['PATH'] ?? '', TABLINUM_TOKEN: server.token }, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const exitCode = new Promise((resolve) => command.once('close', resolve));
    const printed = command.stderr.toArray();
    await vi.waitFor(() => expect(statSync(join(folder, 'items.csv.part')).size).toBeGreaterThan(0), {
      timeout: 20_000,
      interval: 1,
    });
    command.kill('SIGSTOP'); // so that the command cannot have read everything before the server is killed
    const readers = await Promise.all(formats.map(open));
    await server.kill();
    command.kill('SIGCONT');
    for (const reader of readers)
      await expect(
        (async () => {
          while (!(await reader.read()).done);
        })(),
      ).rejects.toThrow();
    expect(await exitCode).toBe(1);
    expect((await printed).join('')).toMatch(/incomplete|broke off|terminated|ended/);
    expect(readdirSync(folder)).toEqual([]);
    expect(temporary()).toEqual(temporaryBefore);

    const restarted = await ServerProcess.start(store);
    onTestFinished(async () => {
      await restarted.kill();
      await store.remove();
    });
    expect(listFiles()).toEqual(filesBefore);
    const complete = await restarted.call('items:export', { format: 'csv', fields: ['id'] });
    expect((await complete!.text()).trimEnd().split('\r\n')).toHaveLength(1 + 3000);
  });
});

test('an export of many records needs bounded memory, and an aborted export leaves nothing', {
  timeout: 120_000,
}, async () => {
  const records = Number(process.env['EXPORT_RECORDS'] ?? 40_000);
  const store = await startLargeCollectionServer(sqlite, records);
  onTestFinished(() => store.remove());
  const send = (query: string, signal?: AbortSignal): Promise<Response> =>
    fetch(`${store.server.url}/api/items:export?${query}`, {
      headers: { ...store.headers, 'accept-encoding': 'identity' },
      ...(signal && { signal }),
    });
  const files = (): string[] => readdirSync(tmpdir()).filter((name) => /\.(?:xlsx|csv|zip|part)$/.test(name));
  const filesBefore = files();
  const before = store.server.peakMemory;
  const csv = parseCsv(await (await send('sort=id')).text());
  expect([csv.length, csv.at(-1)![1]!.text]).toEqual([records + 1, String(records)]);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const abort = new AbortController();
    const { body } = await send('format=xlsx', abort.signal);
    await body!.getReader().read();
    abort.abort();
  }
  let bytes = 0;
  for await (const chunk of (await send('format=xlsx')).body!) bytes += chunk.length;
  expect(bytes).toBeGreaterThan(records * 10);
  expect(files()).toEqual(filesBefore);
  const after = store.server.peakMemory;
  process.stdout.write(`exports of ${records} records: at most ${before?.toFixed(0)}, then ${after?.toFixed(0)} MB\n`);
  if (after !== null) expect(after).toBeLessThan(350);
});
