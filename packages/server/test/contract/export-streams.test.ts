import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parseCsv } from '../support/csv-parser.ts';
import { describeEngines, sqlite } from '../support/engines.ts';
import { startLargeCollectionServer } from '../support/large-collection-server.ts';
import { TestServer } from '../support/scenario.ts';

const formats = ['csv', 'xlsx', 'json', 'ndjson'] as const;
type Format = (typeof formats)[number];

/** Exports that last: what happens to the caller's rights meanwhile. */
describeEngines('long-running exports', (engine) => {
  const records = 3000;
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const fields = [
      { name: 'n', type: 'integer' },
      { name: 'text', type: 'text' },
    ];
    await server.data('POST /api/collections:create', { body: { name: 'items', fields } });
    await server.data('POST /api/roles:create', { body: { name: 'reader' } });
    const permission = { role: 'reader', resource: 'items', actions: ['list', 'get', 'export'] };
    await server.data('POST /api/permissions:create', { body: permission });
    // Texts that do not compress, so that the export is far from its end when its first bytes arrive.
    const text = (): string => Array.from({ length: 700 }, () => Math.random().toString(36).slice(2)).join('');
    for (let from = 0; from < records; from += 500)
      await server.data('POST /api/items:create', {
        body: Array.from({ length: 500 }, (_, index) => ({ n: from + index, text: text() })),
      });
  }, 60_000);
  afterAll(() => server.stop());

  /** What arrives of an export; `meanwhile` runs after its first bytes. */
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
    test(`${format}: an export ends when the permission is withdrawn, and the client notices it`, async () => {
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
    test(`${format}: a table ends when the role may no longer read one of its columns`, async () => {
      const token = await server.createKey('reader');
      const [{ id }] = await server.data('GET /api/permissions:list?filter={"role":"reader"}');
      const change = (exceptFields: string[] | null): Promise<unknown> =>
        server.data(`POST /api/permissions:update?filterByTk=${id}`, { body: { exceptFields } });
      const { isComplete } = await read(format, token, () => change(['n']));
      await change(null);
      expect(isComplete).toBe(false);
    });
});

test('an export of many records needs bounded memory, and one that is abandoned leaves nothing', {
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
