import { afterAll, beforeAll, expect, test } from 'vitest';
import { sqlite } from '../support/engines.ts';
import { type Reply, TestServer } from '../support/scenario.ts';

const page = { origin: 'https://app.example.com' };
const asks = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };
const corsOf = ({ headers }: Reply): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(sqlite, { env: { CORS_ORIGINS: 'https://app.example.com, http://localhost:5173' } });
});
afterAll(() => server.stop());

test('a listed origin may send a preflight, and call with its token', async () => {
  const asked = await server.call('OPTIONS /api/users:list', { as: 'nobody', headers: { ...page, ...asks } });
  expect([asked.status, asked.text]).toEqual([204, '']);
  expect(corsOf(asked)).toMatchObject({
    'access-control-allow-origin': page.origin,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': expect.stringMatching(/Authorization, Content-Type, X-App, X-Role/),
    'access-control-max-age': '600',
  });
  expect(asked.headers.get('vary')).toContain('Origin');
  const reply = await server.call('GET /api/users:list', { headers: page });
  expect(reply.status).toBe(200);
  expect(corsOf(reply)).toMatchObject({
    'access-control-allow-origin': page.origin,
    'access-control-expose-headers': expect.stringMatching(
      /ETag.*Retry-After, RateLimit, RateLimit-Policy, X-Request-Id/,
    ),
  });
  expect(reply.headers.get('vary')).toBe('Authorization, X-App, X-Role, Origin, Accept-Encoding');
});

test('a listed origin can read refusals, 304, streams and health in their usual form', async () => {
  const etag = (await server.call('GET /api/users:list')).headers.get('etag')!;
  const replies = [
    await server.call('GET /api/users:list', { as: 'nobody', headers: page }),
    await server.call('GET /api/users:list', { headers: { ...page, 'if-none-match': etag } }),
    await server.call('GET /api/users:list?paginate=false', { headers: page }),
    await server.call('GET /api/health', { as: 'nobody', headers: page }),
    await server.call('GET /nowhere', { as: 'nobody', headers: page }),
  ];
  expect(replies.map((reply) => reply.status)).toEqual([401, 304, 200, 200, 404]);
  for (const reply of replies) expect(corsOf(reply)['access-control-allow-origin']).toBe(page.origin);
  expect(replies[0]!.body).toMatchObject({ error: 'Unauthorized', code: 'TOKEN_MISSING' });
  const document = await server.call('GET /api/docs:openapi', { headers: page });
  expect(document.headers.get('vary')).toBe('Authorization, X-App, X-Role, Origin, Accept-Encoding');
});

test.each([
  'https://evil.example.com',
  'http://app.example.com',
  'https://app.example.com:8443',
  'https://app.example.com.evil.com',
  'https://APP.example.com',
  'null',
  '*',
])('the origin %s may neither send a preflight nor read replies', async (origin) => {
  const asked = await server.call('OPTIONS /api/users:list', { as: 'nobody', headers: { origin, ...asks } });
  expect([asked.status, corsOf(asked)]).toEqual([404, {}]);
  const reply = await server.call('GET /api/users:list', { headers: { origin } });
  expect(corsOf(reply)).toEqual({});
  expect(reply.headers.get('vary')).toContain('Origin');
});

test('with *, any origin may call without cookies', async () => {
  const open = await TestServer.start(sqlite, { env: { CORS_ORIGINS: '*' } });
  const reply = await open.call('GET /api/users:list', { headers: { origin: 'https://any.example.com' } });
  expect(corsOf(reply)['access-control-allow-origin']).toBe('*');
  expect(corsOf(reply)['access-control-allow-credentials']).toBeUndefined();
  await open.stop();
});

test('CORS is off by default', async () => {
  const closed = await TestServer.start(sqlite);
  const asked = await closed.call('OPTIONS /api/users:list', { as: 'nobody', headers: { ...page, ...asks } });
  expect([asked.status, corsOf(asked)]).toEqual([404, {}]);
  const reply = await closed.call('GET /api/users:list', { headers: page });
  expect(corsOf(reply)).toEqual({});
  expect(reply.headers.get('vary')).toBe('Authorization, X-App, X-Role, Accept-Encoding');
  await closed.stop();
});
