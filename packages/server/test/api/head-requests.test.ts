/** Monitors and programs that check links send HEAD, which has the headers of GET and no body. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(sqlite);
});
afterAll(() => server.stop());

/** Headers that differ between two replies; `fetch` closes the connection after HEAD. */
const varying = ['date', 'x-request-id', 'content-security-policy', 'connection', 'keep-alive'];

async function fetchHead(path: string, method: string): Promise<object> {
  const reply = await fetch(server.running.url + path, { method, redirect: 'manual' });
  const headers = [...reply.headers].filter(([name]) => !varying.includes(name));
  const body = await reply.arrayBuffer();
  if (method === 'HEAD') expect(body.byteLength).toBe(0);
  return { status: reply.status, headers };
}

test.each([
  ['/', 200],
  ['/a/main/data', 200],
  ['/docs', 200],
  ['/live', 200],
  ['/ready', 200],
  ['/api/health', 200],
  ['/unsubscribe/invalid', 404],
  ['/campaign-open/invalid', 200],
  ['/campaign-link/invalid', 404],
  ['/nowhere/else', 404],
])('HEAD %s', async (path, status) => {
  const get = await fetchHead(path, 'GET');
  expect(get).toMatchObject({ status });
  expect(await fetchHead(path, 'HEAD')).toEqual(get);
});
