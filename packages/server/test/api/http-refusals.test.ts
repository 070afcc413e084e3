import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/** Refusals of the HTTP library itself have the common form too. */
describe('refusals of HTTP', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(sqlite, { env: { RATE_LIMIT_ANONYMOUS: '5/10s', RATE_LIMIT_SIGN_IN: '3/60s' } });
    await server.data('POST /api/collections:create', {
      body: { name: 'things', fields: [{ name: 'name', type: 'text' }] },
    });
  });
  afterAll(() => server.stop());

  async function raw(text: string): Promise<{ status: number; body: { error: string; code: string } }> {
    const { port } = new URL(server.running.url);
    const reply = await new Promise<string>((resolve, reject) => {
      let all = '';
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
      socket.on('data', (chunk) => {
        all += chunk;
      });
      socket.on('close', () => resolve(all));
      socket.on('error', reject);
    });
    const [head = '', body = '{}'] = reply.split('\r\n\r\n');
    return { status: Number(head.slice(9, 12)), body: JSON.parse(body) as { error: string; code: string } };
  }

  test('headers over 80 KiB are refused with 431', async () => {
    const reply = await raw(`GET /api/things:list HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(90_000)}\r\n\r\n`);
    expect(reply).toMatchObject({ status: 431, body: { error: 'Headers Too Large', code: 'HEADERS_TOO_LARGE' } });
  });

  test('a malformed HTTP request is refused with 400', async () => {
    expect(await raw('HELLO\r\n\r\n')).toMatchObject({ status: 400, body: { error: 'Bad Request' } });
  });

  test('a repeated Authorization or X-App header is refused with 400', async () => {
    const twice = (name: string): string =>
      `GET /api/things:list HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${name}: main\r\n${name}: main\r\n\r\n`;
    expect(await raw(twice('X-App'))).toMatchObject({ status: 400, body: { code: 'HEADER_INVALID' } });
    expect(await raw(twice('Authorization'))).toMatchObject({ status: 400, body: { code: 'HEADER_INVALID' } });
  });

  test('a body over 10 MiB is refused with 413', async () => {
    const reply = await server.call('POST /api/things:create', { body: { name: 'a'.repeat(11 * 1024 * 1024) } });
    expect(reply).toMatchObject({ status: 413, body: { error: 'Payload Too Large', code: 'BODY_TOO_LARGE' } });
  });

  test('a percent escape that is not UTF-8 is refused with 400', async () => {
    expect(await server.call('GET /api/things:list?filter=%ff')).toMatchObject({
      status: 400,
      body: { code: 'PARAMETER_INVALID' },
    });
    expect(await server.call('GET /api/%ff:list')).toMatchObject({ status: 400 });
  });

  test('405 lists the permitted methods', async () => {
    const reply = await server.call('GET /api/things:create');
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await server.call('DELETE /api/things:list')).headers.get('allow')).toBe('GET, HEAD, POST');
  });

  test('unknown routes are refused with 404 in the common form', async () => {
    for (const path of ['/api', '/api/', '/api/things', '/api/:list', '/api/things:', '/nothing'])
      expect(await server.call(`GET ${path}`), path).toMatchObject({
        status: 404,
        body: { error: 'Not Found', code: 'ROUTE_UNKNOWN' },
      });
  });

  test('HEAD of a read has no body', async () => {
    const reply = await server.call('HEAD /api/things:list');
    expect([reply.status, reply.text]).toEqual([200, '']);
  });

  test('X-Request-Id is echoed, also in an error', async () => {
    const reply = await server.call('GET /api/nothing:list', { headers: { 'x-request-id': 'mine-1' } });
    expect([reply.headers.get('x-request-id'), reply.body.requestId]).toEqual(['mine-1', 'mine-1']);
  });

  test('health needs no credential and no database', async () => {
    expect(await server.call('GET /api/health', { as: 'nobody' })).toMatchObject({
      status: 200,
      body: { data: { status: 'ok', uptime: expect.any(Number) } },
    });
    for (const path of ['/api/health', '/live', '/ready']) {
      const { headers } = await fetch(server.running.url + path, { headers: { 'x-request-id': 'mine-2' } });
      expect([headers.get('x-request-id'), headers.get('x-api-version')]).toEqual(['mine-2', '1']);
    }
  });

  test('callers without a credential are rate-limited with Retry-After', async () => {
    const replies = [];
    for (let index = 0; index < 8; index += 1)
      replies.push(await server.call('GET /api/things:list', { as: 'nobody' }));
    expect(replies.at(-1)).toMatchObject({
      status: 429,
      body: { error: 'Too Many Requests', retryAfter: expect.any(Number) },
    });
    expect(Number(replies.at(-1)!.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await server.call('GET /api/things:list')).status).toBe(200);
  });

  test('failed sign-ins are rate-limited by account', async () => {
    const failedSignIn: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      const body = { email: 'x@example.com', password: 'wrong' };
      failedSignIn.push((await server.call('POST /api/auth:signIn', { as: 'nobody', body })).status);
    }
    expect(failedSignIn.every((status) => status === 401 || status === 429)).toBe(true);
    expect(failedSignIn.at(-1)).toBe(429);
  });
});
