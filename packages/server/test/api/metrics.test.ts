/** `/metrics`: who may read it, and that requests of all threads are counted; slow requests in the log; Server-Timing. */
import { Writable } from 'node:stream';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { RequestMetrics } from '../../src/base/metrics.ts';
import { startServer } from '../../src/server.ts';
import { describeEngines, sqlite } from '../support/engines.ts';
import { sendRequest } from '../support/http-client.ts';
import type { Json } from '../support/json.ts';
import { startReaderServer, WireConnection } from '../support/reader-server.ts';
import { TestServer } from '../support/scenario.ts';
import { serverSettings } from '../support/server-settings.ts';

const token = 'a-token-for-scrapes';

async function scrape(url: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  const { status, text } = await sendRequest(`${url}/metrics`, { method: 'GET', headers });
  return { status, text };
}

/** The value of one series; undefined if it does not exist. */
function readSeries(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

async function read(server: TestServer, series: string): Promise<number> {
  return readSeries((await scrape(server.running.url)).text, series) ?? 0;
}

describeEngines('metrics', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const fields = [{ name: 'title', type: 'string' }];
    await server.data('POST /api/collections:create', { body: { name: 'posts', fields } });
    await server.data('POST /api/posts:create', { body: { title: 'a' } });
  });
  afterAll(() => server.stop());

  test('requests are counted by action and class of status, with their durations', async () => {
    const before = await scrape(server.running.url);
    for (let index = 0; index < 3; index += 1) await server.data('GET /api/posts:get/1');
    await server.call('GET /api/posts:get/99');
    await server.call('POST /api/posts:list', { as: 'nobody', body: {} });
    await server.call('GET /api/posts:nothing');
    const { text } = await scrape(server.running.url);
    const added = (series: string): number => (readSeries(text, series) ?? 0) - (readSeries(before.text, series) ?? 0);
    expect(added('tablinum_requests_total{action="get",status="2xx"}')).toBe(3);
    expect(added('tablinum_requests_total{action="get",status="4xx"}')).toBe(1);
    expect(added('tablinum_requests_total{action="list",status="4xx"}')).toBe(1);
    expect(added('tablinum_requests_total{action="other",status="4xx"}')).toBe(1);
    expect(added('tablinum_request_duration_seconds_count{action="get"}')).toBe(4);
    expect(added('tablinum_request_duration_seconds_bucket{le="+Inf",action="get"}')).toBe(4);
    expect(added('tablinum_request_duration_seconds_sum{action="get"}')).toBeGreaterThan(0);
    expect(readSeries(text, 'tablinum_requests_total{action="collections:create",status="2xx"}')).toBe(1);
    expect(text).not.toContain('nothing');
  });

  test('the state of the server is exported', async () => {
    const { text } = await scrape(server.running.url);
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes', 'tablinum_writes_queued'])
      expect(readSeries(text, name), name).toBeDefined();
    expect(readSeries(text, 'tablinum_store_bytes{part="database"}')).toBeGreaterThan(10_000);
    expect(readSeries(text, 'tablinum_disk_free_bytes')).toBeGreaterThan(0);
    expect(readSeries(text, 'tablinum_connections')).toBeGreaterThan(0);
    if (engine.name === 'sqlite') expect(readSeries(text, 'tablinum_syncs_total')).toBeGreaterThan(0);
    else expect(readSeries(text, 'tablinum_database_connections{state="open"}')).toBeGreaterThan(0);
    expect(text.split('\n').length).toBeLessThan(2000);
  });

  test('administrators see the requests of the last hour, and nobody else does', async () => {
    const get = (as?: string) => server.call('GET /api/serverActivity:get', as === undefined ? {} : { as });
    const countGets = (activity: Json): number =>
      activity.actions.find(({ action }: Json) => action === 'get')?.requests ?? 0;
    const before = (await get()).body.data;
    for (let index = 0; index < 5; index += 1) await server.data('GET /api/posts:get/1');
    await server.call('GET /api/posts:get/99');
    const { status, body } = await get();
    expect(status).toBe(200);
    expect(countGets(body.data) - countGets(before)).toBe(6);
    const { minutes, storage, now, startedAt } = body.data;
    expect(minutes.at(-1)).toMatchObject({ failed: 0 });
    const sum = (of: string): number => minutes.reduce((total: number, each: Json) => total + each[of], 0);
    expect(sum('requests')).toBeGreaterThan(6);
    expect(sum('refused')).toBeGreaterThan(0);
    expect(storage.databaseBytes).toBeGreaterThan(10_000);
    expect(now).toMatchObject({ requestsInProgress: 1, importsRunning: 0 });
    expect(Date.parse(startedAt)).toBeLessThanOrEqual(Date.now());
    for (const as of ['viewer', 'nobody']) expect((await get(as)).status).toBeGreaterThanOrEqual(401);
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const inShop = await server.call('GET /api/serverActivity:get', { headers: { 'x-app': 'shop' } });
    expect(inShop.status).toBeGreaterThanOrEqual(400);
    expect((await server.call('GET /api/serverActivity:get?minutes=5')).status).toBe(400);
  });

  test('Server-Timing is only for administrators, and only on request', async () => {
    await server.createKey('viewer').catch(() => {});
    const send = async (as: string, asks = true): Promise<string | null> => {
      const headers: Record<string, string> = asks ? { 'x-server-timing': '1' } : {};
      return (await server.call('GET /api/posts:get/1', { as, headers })).headers.get('server-timing');
    };
    expect(await send('admin')).toMatch(/^auth;dur=[\d.]+, action;dur=[\d.]+, total;dur=[\d.]+$/);
    expect(await send('admin', false)).toBeNull();
    expect(await send('viewer')).toBeNull();
    expect(await send('nobody')).toBeNull();
  });
});

test('without METRICS_TOKEN, only direct requests from this machine with a loopback Host get metrics', async () => {
  const server = await TestServer.start(sqlite);
  const { url } = server.running;
  const statuses = async (headers: Record<string, string>): Promise<number> => (await scrape(url, headers)).status;
  expect(await statuses({})).toBe(200);
  expect(await statuses({ host: 'localhost:4180' })).toBe(200);
  expect(await statuses({ host: '[::1]:4180' })).toBe(200);
  for (const headers of [
    { host: 'evil.example' },
    { host: '127.0.0.1.evil.example' },
    { 'x-forwarded-for': '203.0.113.7' },
    { forwarded: 'for=203.0.113.7' },
    { via: '1.1 proxy' },
  ])
    expect(await statuses(headers as unknown as Record<string, string>), JSON.stringify(headers)).toBe(404);
  await server.stop();
});

test('with METRICS_TOKEN, every scrape needs it', async () => {
  const server = await TestServer.start(sqlite, { env: { METRICS_TOKEN: token } });
  const { url } = server.running;
  expect((await scrape(url)).status).toBe(401);
  expect((await scrape(url, { authorization: `Bearer ${token}x` })).status).toBe(401);
  expect((await scrape(url, { authorization: `Bearer ${server.tokens.get('admin')}` })).status).toBe(401);
  expect((await scrape(url, { authorization: `Bearer ${token}`, 'x-forwarded-for': '203.0.113.7' })).status).toBe(200);
  await server.stop();
  expect(() => readConfig({ METRICS_TOKEN: 'short' })).toThrow('METRICS_TOKEN must have at least 16 characters');
});

describe('reader threads', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startReaderServer();
    await server.data('POST /api/collections:create', {
      body: { name: 'posts', fields: [{ name: 'title', type: 'string' }] },
    });
    await server.data('POST /api/posts:create', { body: { title: 'a' } });
  });
  afterAll(() => server.stop());

  test('every request is counted once, whichever thread answers it', async () => {
    const series = 'tablinum_requests_total{action="get",status="2xx"}';
    const before = await read(server, series);
    const answeredBefore = server.running.readers!.answered;
    const connections = Array.from({ length: 8 }, () => new WireConnection(server.running.url));
    for (let round = 0; round < 25; round += 1)
      await Promise.all(
        connections.map(async (each) => {
          const { status } = await each.send('GET /api/posts:get/1', { token: server.tokens.get('admin') });
          expect(status).toBe(200);
        }),
      );
    await expect.poll(async () => (await read(server, series)) - before).toBe(200);
    expect(server.running.readers!.answered).toBeGreaterThan(answeredBefore);
    for (const each of connections) each.close();
  });
});

test('the log has the shape of slow requests, and none of their values', async () => {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done): void {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const store = await sqlite.store(true);
  const config = readConfig({ ...serverSettings, DATA_DIR: store.dataDir, SLOW_REQUEST_MS: '1' });
  const running = await startServer({ config, logger: pino({ level: 'warn' }, sink) });
  const filter = encodeURIComponent(JSON.stringify({ email: { $includes: 'private value' } }));
  const body = JSON.stringify({ email: 'root@example.com', password: 'private value' });
  const listSlow = () => lines.filter(({ msg }) => msg === 'A request was slow.');
  // On a fast machine only some of these requests take a millisecond.
  for (let index = 0; index < 300 && listSlow().length < 3; index += 1) {
    await sendRequest(`${running.url}/api/users:list?filter=${filter}`, { method: 'GET', headers: {} });
    await sendRequest(`${running.url}/api/auth:signIn`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
  }
  const slow = listSlow();
  expect(slow.length).toBeGreaterThan(0);
  for (const each of slow) expect(each).toMatchObject({ action: expect.any(String), milliseconds: expect.any(Number) });
  expect(JSON.stringify(lines)).not.toContain('private');
  await running.stop();
});

test('durations are counted in the first bucket that is large enough, and classes of status by their first digit', () => {
  const metrics = new RequestMetrics(['get', 'list']);
  metrics.count(metrics.find('get'), 200, 0.5);
  metrics.count(metrics.find('get'), 503, 20_000);
  metrics.count(metrics.find('no such action'), 404, 3);
  const [other, get] = metrics.list();
  expect(other).toMatchObject({ action: 'other', statuses: [0, 0, 0, 1, 0] });
  expect(get).toMatchObject({ action: 'get', statuses: [0, 1, 0, 0, 1], seconds: 20.0005 });
  expect([get?.buckets[0], get?.buckets.at(-1)]).toEqual([1, 1]);
  const sum = new RequestMetrics(['get']);
  sum.add(metrics.drain());
  expect(metrics.drain()).toEqual([]);
  expect(sum.list().map(({ action }) => action)).toEqual(['other', 'get']);
});
