import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeToken } from '../../src/base/token.ts';
import { describeEngines } from '../support/engines.ts';
import { type Reply, TestServer } from '../support/scenario.ts';

/**
 * Credentials in every spelling except the correct one. Other tests: guessing and its limits in `api/limits.test.ts`;
 * resets and sessions
 * in `api/password-reset.test.ts` and `api/sessions.test.ts`; keys and their end in `api/api-keys.test.ts`; enumeration
 * by response
 * times in `contract/sign-in-flood.test.ts`.
 */
describeEngines('credentials', (engine) => {
  let server: TestServer;
  let key: string;
  let login: string;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', { body: { name: 'posts' } });
    key = await server.createKey('viewer');
    login = server.tokens.get('admin')!;
  });
  afterAll(() => server.stop());

  const last = (token: string): string => (token.endsWith('a') ? 'b' : 'a');
  const middle = (token: string): string => token.slice(0, 10) + (token[10] === 'x' ? 'y' : 'x') + token.slice(11);
  const spellings: readonly (readonly [string, (token: string) => string])[] = [
    ['the token alone', (token) => token],
    ['lower-case bearer', (token) => `bearer ${token}`],
    ['upper-case BEARER', (token) => `BEARER ${token}`],
    ['two spaces', (token) => `Bearer  ${token}`],
    ['a tab', (token) => `Bearer\t${token}`],
    ['no space', (token) => `Bearer${token}`],
    ['a comma', (token) => `Bearer, ${token}`],
    ['a colon', (token) => `Bearer: ${token}`],
    ['quotes', (token) => `Bearer "${token}"`],
    ['another scheme', (token) => `Token ${token}`],
    ['Basic', (token) => `Basic ${Buffer.from(`${token}:`).toString('base64')}`],
    ['a parameter', (token) => `Bearer token=${token}`],
    ['two tokens', (token) => `Bearer ${token} ${token}`],
    ['two credentials', (token) => `Bearer ${token}, Bearer ${token}`],
    ['a tail', (token) => `Bearer ${token}.x`],
    ['a tail of one character', (token) => `Bearer ${token}0`],
    ['without its last character', (token) => `Bearer ${token.slice(0, -1)}`],
    ['without its first character', (token) => `Bearer ${token.slice(1)}`],
    ['a changed last character', (token) => `Bearer ${token.slice(0, -1)}${last(token)}`],
    ['a changed character in the middle', (token) => `Bearer ${middle(token)}`],
    ['a token of the other kind', (token) => `Bearer ${token.startsWith('tbk') ? 'tbs' : 'tbk'}${token.slice(3)}`],
    ['another kind', (token) => `Bearer tbx${token.slice(3)}`],
    ['upper case', (token) => `Bearer ${token.toUpperCase()}`],
    ['percent-encoded', (token) => `Bearer ${encodeURIComponent(token).replace('_', '%5F')}`],
    ['null', () => 'Bearer null'],
    ['undefined', () => 'Bearer undefined'],
    ['nothing', () => 'Bearer '],
    ['an empty header', () => ''],
    ['an unsigned JWT', () => 'Bearer eyJhbGciOiJub25lIn0.eyJyb2xlIjoiYWRtaW4ifQ.'],
    ['a very long token', () => `Bearer tbk_${'a'.repeat(20_000)}`],
    ['its hash', (token) => `Bearer ${Buffer.from(token).toString('hex')}`],
    ['LIKE wildcards', () => 'Bearer tbk_%'],
    ['SQL', () => `Bearer ' OR 1=1 --`],
  ];

  describe.each(spellings)('in a wrong place or spelling: %s', (_name, spelled) => {
    test.each(['key', 'login'])('with a %s is refused with 401', async (kind) => {
      const header = spelled(kind === 'key' ? key : login);
      await server.play({
        name: header,
        request: 'GET /api/posts:list',
        as: `header:${header}`,
        expect: {
          status: 401,
          code: 'TOKEN_INVALID',
          body: { error: 'Unauthorized', message: expect.stringContaining('invalid or missing token') },
          absent: [key.slice(8), login.slice(8)],
        },
      });
    });
  });

  test.each([
    'token',
    'access_token',
    'apiKey',
    'api_key',
    'key',
    'auth',
    'authorization',
    'Authorization',
    'bearer',
    'session',
  ])('in a URL as %s is never read', async (name) => {
    for (const token of [key, login, `Bearer ${key}`, `Bearer%20${login}`]) {
      const reply = await server.call(`GET /api/posts:list?${name}=${token}`, { as: 'nobody' });
      expect([reply.status, reply.text.includes(key)]).toEqual([401, false]);
    }
  });

  test.each(['cookie', 'x-api-key', 'x-auth-token', 'x-authorization', 'proxy-authorization', 'x-access-token'])(
    'in the header %s is never read',
    async (name) => {
      for (const value of [key, `Bearer ${key}`, `token=${key}`, `authorization=Bearer ${login}`]) {
        const { status } = await server.call('GET /api/posts:list', { as: 'nobody', headers: { [name]: value } });
        expect(status).toBe(401);
      }
    },
  );

  test('in a body is never read', async () => {
    const body = { token: key, authorization: `Bearer ${key}`, apiKey: key };
    expect((await server.call('POST /api/posts:list', { as: 'nobody', body })).status).toBe(401);
  });

  test('a revoked API key gets the same reply as an unknown one', async () => {
    const made = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'viewer' } } });
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${made.id}`);
    const said = async (token: string): Promise<Reply['body']> => {
      const headers = { 'x-request-id': 'same' };
      return (await server.call('GET /api/posts:list', { as: token, headers })).body;
    };
    expect(await said(made.token)).toEqual(await said(makeToken('tbk')));
  });

  test('unknown accounts and wrong passwords get the same reply in any spelling', async () => {
    const replies = new Set<string>();
    for (const email of [
      'root@example.com',
      'ROOT@EXAMPLE.COM',
      ' root@example.com',
      'who@example.com',
      `root@example.com'--`,
      '%',
      '*',
    ])
      for (const password of [
        'wrong',
        ' correct horse battery',
        'correct horse battery ',
        'Correct horse battery',
        `' OR 1=1 --`,
      ]) {
        const headers = { 'x-request-id': 'same' };
        const { status, text } = await server.call('POST /api/auth:signIn', {
          as: 'nobody',
          headers,
          body: { email, password },
        });
        expect(status).toBe(401);
        replies.add(text);
      }
    expect([...replies]).toHaveLength(1);
  });

  test('a value that is not text is not a credential', async () => {
    for (const value of [null, 1, true, [], {}, { $ne: '' }, ['root@example.com'], { $gt: '' }])
      for (const body of [
        { email: value, password: 'x' },
        { email: 'root@example.com', password: value },
      ]) {
        const { status } = await server.call('POST /api/auth:signIn', { as: 'nobody', body });
        expect([JSON.stringify(body), status >= 400 && status < 500]).toEqual([JSON.stringify(body), true]);
      }
  });

  test('all bytes of a password are compared', async () => {
    const long = 'ü'.repeat(100);
    await server.data('POST /api/users:create', {
      body: { email: 'long@example.com', password: `${long}1`, roles: ['viewer'] },
    });
    const signIn = async (password: string): Promise<number> =>
      (await server.call('POST /api/auth:signIn', { as: 'nobody', body: { email: 'long@example.com', password } }))
        .status;
    expect(await signIn(`${long}1`)).toBe(200);
    for (const wrong of [long, `${long}2`, `${long}11`, long.slice(0, 36), `${long}1\u0000`])
      expect(await signIn(wrong)).toBe(401);
  });
});
