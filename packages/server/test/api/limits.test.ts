import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeToken } from '../../src/base/token.ts';
import { sqlite } from '../support/engines.ts';
import { type Reply, TestServer } from '../support/scenario.ts';

const password = 'correct horse battery';
let server: TestServer;
let addresses = 0;
/** An address that nobody has used yet, as the proxy passes it on. */
const fresh = (): string => {
  addresses += 1;
  return `198.51.${addresses >> 8}.${addresses & 255}`;
};
const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });
const signIn = (account: string, address: string, secret = 'wrong wrong', path = '/api/auth:signIn'): Promise<Reply> =>
  server.call(`POST ${path}`, { as: 'nobody', body: { account, password: secret }, headers: from(address) });
const statuses = async (replies: readonly Promise<Reply>[]): Promise<number[]> =>
  (await Promise.all(replies)).map((reply) => reply.status).sort();

beforeAll(async () => {
  server = await TestServer.start(sqlite, {
    env: {
      TRUSTED_PROXIES: '127.0.0.1',
      RATE_LIMIT_SIGN_IN: '5/60s',
      RATE_LIMIT_ANONYMOUS: '40/60s',
      RATE_LIMIT_CREDENTIAL: '300/60s',
    },
  });
  await server.data('POST /api/users:create', {
    body: [
      { email: 'ann@example.com', username: 'Ann', password },
      { email: 'bob@example.com', password },
      { email: 'cid@example.com', password },
      { email: 'dot@example.com', password },
    ],
  });
});
afterAll(() => server.stop());

test('cookies are marked secure if a trusted proxy reports https', async () => {
  const secure = async (headers: Record<string, string>): Promise<boolean> => {
    const reply = await server.call('POST /api/auth:keep', {
      body: { persistent: true },
      headers: { 'x-requested-with': 'tablinum', ...headers },
    });
    expect(reply.status).toBe(200);
    return /; Secure/.test(reply.headers.get('set-cookie')!);
  };
  expect(await secure({ 'x-forwarded-proto': 'https' })).toBe(true);
  expect(await secure({ 'x-forwarded-proto': 'http' })).toBe(false);
  expect(await secure({})).toBe(false);
});

test('a reached limit states the waiting time in the body and in headers', async () => {
  const address = fresh();
  for (let failed = 0; failed < 5; failed += 1)
    expect((await signIn(`x${failed}@example.com`, address)).status).toBe(401);
  const reply = await signIn('y@example.com', address);
  expect(reply).toMatchObject({
    status: 429,
    body: {
      error: 'Too Many Requests',
      code: 'RATE_LIMITED',
      retryAfter: expect.any(Number),
      message: expect.any(String),
    },
  });
  const seconds = reply.body.retryAfter as number;
  expect(seconds).toBeGreaterThan(50);
  expect(reply.headers.get('retry-after')).toBe(String(seconds));
  expect(reply.headers.get('ratelimit')).toBe(`"sign-in";r=0;t=${seconds}`);
  expect(reply.headers.get('ratelimit-policy')).toBe('"sign-in";q=5;w=60');
});

describe('the limit of one account', () => {
  test('is shared by every spelling, e-mail and user name, address and path', async () => {
    const spellings = ['ann@example.com', ' ANN@Example.COM ', '\u00a0ann@example.com\t', 'Ann', 'aNN@example.com'];
    for (const spelling of spellings) expect((await signIn(spelling, fresh())).status).toBe(401);
    for (const path of [
      '/api/auth:signIn',
      '/api/auth%3AsignIn',
      '/api/auth%3asignIn',
      '/api/%61uth:signIn',
      '/api/auth:signIn/1',
    ])
      expect([path, (await signIn('ann@example.com', fresh(), 'wrong wrong', path)).status]).toEqual([path, 429]);
    for (const path of [
      '/API/auth:signIn',
      '//api/auth:signIn',
      '/api//auth:signIn',
      '/api/auth:signin',
      '/api/Auth:signIn',
    ])
      expect([404, 401]).toContain((await signIn('ann@example.com', fresh(), password, path)).status);
  });

  test('exists for unknown accounts too', async () => {
    for (const spelling of [
      'who@example.com',
      'WHO@example.com',
      ' who@example.com',
      'who@EXAMPLE.com',
      'Who@example.com ',
    ])
      expect((await signIn(spelling, fresh())).status).toBe(401);
    expect((await signIn('who@example.com', fresh())).status).toBe(429);
  });

  test('counts parallel attempts before they are checked', async () => {
    const replies = await statuses(Array.from({ length: 25 }, () => signIn('bob@example.com', fresh())));
    expect(replies.filter((status) => status === 401)).toHaveLength(5);
    expect(replies.filter((status) => status === 429)).toHaveLength(20);
  });

  test('does not lock out an owner who signs in from a known address', async () => {
    const home = fresh();
    expect((await signIn('cid@example.com', home, password)).status).toBe(200);
    for (let failed = 0; failed < 8; failed += 1) await signIn('cid@example.com', fresh());
    expect((await signIn('cid@example.com', fresh(), password)).status).toBe(429);
    expect((await signIn('cid@example.com', home, password)).status).toBe(200);
    for (let failed = 0; failed < 5; failed += 1) expect((await signIn('cid@example.com', home)).status).toBe(401);
    expect((await signIn('cid@example.com', home, password)).status).toBe(429);
  });

  test('is not used up by correct passwords', async () => {
    const home = fresh();
    for (let run = 0; run < 12; run += 1) expect((await signIn('dot@example.com', home, password)).status).toBe(200);
  });

  test('applies to the former password in a password change', async () => {
    const { email } = { email: 'eve@example.com' };
    await server.data('POST /api/users:create', { body: { email, password } });
    const address = fresh();
    const { token } = (await signIn(email, address, password)).body.data;
    const guess = (): Promise<Reply> => {
      const body = { oldPassword: 'wrong wrong', newPassword: 'another password' };
      return server.call('POST /api/auth:changePassword', { as: token, body, headers: from(address) });
    };
    expect(await statuses(Array.from({ length: 8 }, guess))).toEqual([422, 422, 422, 422, 422, 429, 429, 429]);
  });
});

describe('the limit of one address', () => {
  const health = (headers: Record<string, string>): Promise<Reply> =>
    server.call('GET /api/users:list', { as: 'nobody', headers });
  const spent = async (headers: (index: number) => Record<string, string>): Promise<number[]> => {
    const replies: number[] = [];
    for (let index = 0; index < 42; index += 1) replies.push((await health(headers(index))).status);
    return replies.slice(39);
  };

  test('ignores entries that the client adds before the address in X-Forwarded-For', async () => {
    const address = fresh();
    expect(await spent((index) => from(`10.1.1.${index}, ${address}`))).toEqual([401, 429, 429]);
    const other = fresh();
    expect(await spent((index) => from(`junk${index},,  ::1 , "x", ${other}`))).toEqual([401, 429, 429]);
  });

  test('is used if X-Forwarded-For is given twice', async () => {
    const address = fresh();
    const replies: number[] = [];
    for (let index = 0; index < 42; index += 1) replies.push(await raw([`10.2.2.${index}`, address]));
    expect(replies.slice(39)).toEqual([401, 429, 429]);
  });

  test('is not affected by other headers', async () => {
    const address = fresh();
    const names = [
      'x-real-ip',
      'forwarded',
      'client-ip',
      'x-client-ip',
      'true-client-ip',
      'cf-connecting-ip',
      'x-cluster-client-ip',
    ];
    expect(await spent((index) => ({ ...from(address), [names[index % names.length]!]: `10.3.3.${index}` }))).toEqual([
      401, 429, 429,
    ]);
  });

  test('is shared by a /64 network, and an IPv4 address has one in every spelling', async () => {
    expect(await spent((index) => from(`2001:db8:7:7:${index.toString(16)}::${index}`))).toEqual([401, 429, 429]);
    const mapped = [
      '203.0.113.9',
      '::ffff:203.0.113.9',
      '::FFFF:203.0.113.9',
      '::ffff:cb00:7109',
      '0:0:0:0:0:ffff:cb00:7109',
    ];
    expect(await spent((index) => from(mapped[index % mapped.length]!))).toEqual([401, 429, 429]);
  });

  test('is that of the proxy if the header contains no address', async () => {
    // The proxy has already used points, because the setup of this test has signed in.
    expect(await spent((index) => from(`host-${index}`))).toEqual([429, 429, 429]);
  });

  test('counts attempts with invalid tokens', async () => {
    const address = fresh();
    const guess = (): Promise<Reply> =>
      server.call('GET /api/users:list', { as: `header:Bearer ${makeToken('tbk')}`, headers: from(address) });
    for (let index = 0; index < 40; index += 1) expect((await guess()).status).toBe(401);
    expect((await guess()).status).toBe(429);
  });

  function raw(forwarded: readonly string[]): Promise<number> {
    const headers = forwarded.flatMap((each) => ['X-Forwarded-For', each]);
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        `${server.running.url}/api/users:list`,
        { headers: ['Host', 'x', ...headers] },
        (reply) => {
          reply.resume();
          resolve(reply.statusCode!);
        },
      );
      sent.on('error', reject).end();
    });
  }
});

test('a client that is not a trusted proxy cannot choose its address', async () => {
  const other = await TestServer.start(sqlite, { env: { RATE_LIMIT_ANONYMOUS: '20/60s' } });
  const replies: number[] = [];
  for (let index = 0; index < 22; index += 1)
    replies.push((await other.call('GET /api/users:list', { as: 'nobody', headers: from(`10.4.4.${index}`) })).status);
  expect(replies.slice(-3)).toEqual([429, 429, 429]);
  await other.stop();
});

test('a credential has its own limit, whatever address uses it', async () => {
  const key = await server.createKey('viewer');
  const list = (): Promise<Reply> => server.call('GET /api/auth:check', { as: key, headers: from(fresh()) });
  const replies = await statuses(Array.from({ length: 305 }, list));
  expect(replies.filter((status) => status === 429)).toHaveLength(5);
  const reply = await list();
  expect(reply.headers.get('ratelimit-policy')).toBe('"credential";q=300;w=60');
  expect((await server.call('GET /api/auth:check')).status).toBe(200);
});

test('health is never limited', async () => {
  const address = fresh();
  for (let index = 0; index < 60; index += 1)
    expect((await server.call('GET /api/health', { as: 'nobody', headers: from(address) })).status).toBe(200);
});
