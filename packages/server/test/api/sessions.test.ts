import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { applicationHasUsers } from '../../src/applications/bootstrap.ts';
import { setCheapHashing } from '../../src/identity/password.ts';
import type { ErrorCode } from '../../src/protocol/error-catalogue.ts';
import { describeEngines } from '../support/engines.ts';
import { day, hour, MovingClock } from '../support/moving-clock.ts';
import { TestServer } from '../support/scenario.ts';
import { compareDurations } from '../support/timing.ts';

const first = 'correct horse battery';
const second = 'another horse, another battery';

describeEngines('sessions', (engine) => {
  const clock = new MovingClock();
  let server: TestServer;
  let annId: number;
  const status = async (as: string): Promise<number> => (await server.call('GET /api/auth:check', { as })).status;
  const enter = (password = first): Promise<string> => server.signIn('ann@example.com', password);
  const sessions = (as: string): Promise<{ id: number; current: boolean; [name: string]: unknown }[]> =>
    server.data('GET /api/auth:sessions', { as });
  const change = (as: string, oldPassword: string, newPassword: string): ReturnType<TestServer['call']> =>
    server.call('POST /api/auth:changePassword', { as, body: { oldPassword, newPassword } });

  beforeAll(async () => {
    server = await TestServer.start(engine, { clock });
    const body = { email: 'ann@example.com', username: 'ann-the-first', password: first, roles: ['viewer'] };
    annId = (await server.data('POST /api/users:create', { body })).id;
    await server.createKey('viewer');
  });
  afterAll(() => server.stop());

  test('a user lists the own sessions newest first, with the current one marked', async () => {
    const [one, two] = [await enter(), await enter()];
    await server.running.applications.main.authenticator.flushLastUsed();
    await status(one);
    await server.running.applications.main.authenticator.flushLastUsed();
    const list = await sessions(one);
    expect(list.map(({ current }) => current)).toEqual([false, true]);
    expect(list[1]).toEqual({
      id: expect.any(Number),
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
      lastUsedAt: expect.any(String),
      current: true,
    });
    expect((await sessions(two)).map(({ current }) => current)).toEqual([true, false]);
  });

  test('a session is ended for the next request, also if it is cached', async () => {
    const [one, two] = [await enter(), await enter()];
    expect([await status(one), await status(two)]).toEqual([200, 200]);
    const [newest] = await sessions(one);
    await server.play({
      name: 'a session of the caller is ended',
      request: `POST /api/auth:endSession?filterByTk=${newest!.id}`,
      as: one,
      expect: { status: 200, body: { data: 1 } },
    });
    expect([await status(one), await status(two)]).toEqual([200, 401]);
  });

  test('a browser session is stored in a cookie that only auth:resume reads, and only for pages of the server', async () => {
    const page = { 'x-requested-with': 'tablinum' };
    const token = await enter();
    const keep = (headers: Record<string, string>, body: unknown = { persistent: true }, as = token) =>
      server.call('POST /api/auth:keep', { as, body, headers });
    const resume = (headers: Record<string, string>) => server.call('POST /api/auth:resume', { as: 'nobody', headers });
    for (const [reply, status] of [
      [await keep({}), 400],
      [await keep({ ...page, 'sec-fetch-site': 'same-site' }), 400],
      [await keep(page, {}), 400],
      [await keep(page, { persistent: true }, 'viewer'), 403],
    ] as const)
      expect([reply.status, reply.headers.get('set-cookie')]).toEqual([status, null]);
    const kept = (await keep({ ...page, origin: 'https://data.example.com' })).headers.get('set-cookie')!;
    expect(kept.split('; ').slice(1)).toEqual([
      'Path=/api/auth:resume',
      'HttpOnly',
      'SameSite=Strict',
      `Max-Age=${7 * 24 * 3600}`,
      'Secure',
    ]);
    expect((await keep(page, { persistent: false })).headers.get('set-cookie')).not.toMatch(/Max-Age|Secure/);
    const cookie = `theme=dark; ${kept.split('; ')[0]}`;
    const { body, headers } = await resume({ ...page, cookie });
    expect(body.data).toMatchObject({
      session: { token, persistent: true, user: { id: annId } },
      needsSetup: false,
      sendsMail: false,
    });
    expect(headers.get('set-cookie')).toContain(token);
    expect(headers.get('cache-control')).toBe('no-store');
    for (const from of [{}, { ...page, 'sec-fetch-site': 'cross-site' }])
      expect((await resume({ ...from, cookie })).status).toBe(400);
    const asked = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    const { headers: allowed } = await server.call('OPTIONS /api/auth:resume', { as: 'nobody', headers: asked });
    expect(allowed.get('access-control-allow-headers') ?? '').not.toMatch(/requested-with/i);
    // No other action accepts the cookie as a credential.
    expect((await server.call('GET /api/auth:check', { as: 'nobody', headers: { ...page, cookie } })).status).toBe(401);
    const left = await server.call('POST /api/auth:signOut', { as: token, headers: page });
    expect(left.headers.get('set-cookie')).toContain('Max-Age=0');
    const over = await resume({ ...page, cookie });
    expect([over.body.data.session, over.headers.get('set-cookie')]).toEqual([
      null,
      expect.stringContaining('Max-Age=0'),
    ]);
    expect((await resume({ ...page, cookie: 'a=b; =; tablinum_main=; x' })).body.data.session).toBeNull();
  });

  test('a second cookie of the same name, which a sub-domain can set, does not change the session', async () => {
    const headers = { 'x-requested-with': 'tablinum' };
    const [own, planted] = await Promise.all(
      [await enter(), await enter()].map(async (as) => {
        const reply = await server.call('POST /api/auth:keep', { as, body: { persistent: true }, headers });
        return reply.headers.get('set-cookie')!.split('; ')[0]!;
      }),
    );
    const resume = async (cookie: string) => {
      const reply = await server.call('POST /api/auth:resume', { as: 'nobody', headers: { ...headers, cookie } });
      return [reply.status, reply.body.data.session, reply.headers.get('set-cookie')];
    };
    for (const cookie of [`${own}; ${planted}`, `${planted}; ${own}`])
      expect(await resume(cookie)).toEqual([200, null, null]);
    expect(await resume(`${own}; ${own}`)).toEqual([200, expect.anything(), expect.any(String)]);
  });

  test('the check for existing users is a read, so that a visit before the setup does not wait for a write', async () => {
    const { main } = server.running.applications;
    const write = vi.spyOn(main.database, 'write');
    expect(await applicationHasUsers(main)).toBe(true);
    // The audit journal may chain earlier entries at the same time.
    expect(write.mock.calls.filter(([, options]) => options?.lockKey !== 'audit')).toEqual([]);
    write.mockRestore();
  });

  test('nobody can end the session of another user', async () => {
    const [root] = (await server.data('GET /api/auth:sessions')) as { id: number }[];
    await server.play({
      name: 'a session of another user is refused',
      request: `POST /api/auth:endSession?filterByTk=${root!.id}`,
      as: await enter(),
      expect: { status: 404, code: 'RECORD_UNKNOWN' },
    });
    expect(await status('admin')).toBe(200);
  });

  test('all other sessions are ended at once', async () => {
    const [one, two, three] = [await enter(), await enter(), await enter()];
    expect(await server.data('POST /api/auth:endOtherSessions', { as: two })).toBeGreaterThanOrEqual(2);
    expect([await status(one), await status(two), await status(three)]).toEqual([401, 200, 401]);
    expect(await sessions(two)).toHaveLength(1);
    expect(await server.data('POST /api/auth:endOtherSessions', { as: two })).toBe(0);
  });

  test.each(['GET /api/auth:sessions', 'POST /api/auth:endSession?filterByTk=1', 'POST /api/auth:endOtherSessions'])(
    'an API key has no sessions and cannot end any: %s',
    async (request) => {
      const expect = { status: 403, code: 'SESSION_NEEDED' } as const;
      await server.play({ name: 'a session is needed', request, as: 'viewer', expect });
    },
  );

  test.each([
    ['auth:endSession?filterByTk=x', 'PARAMETER_INVALID'],
    ['auth:endSession', 'PARAMETER_INVALID'],
    ['auth:endSession?filterByTk=[1]', 'PARAMETER_INVALID'],
    ['auth:endSession?id=1', 'PARAMETER_UNKNOWN'],
  ] as const)('%s is refused with 400', async (path, code) => {
    await server.play({
      name: 'the session is not named correctly',
      request: `POST /api/${path}`,
      expect: { status: 400, code },
    });
  });

  test.each(['GET auth:check', 'POST auth:check', 'POST auth:signOut', 'POST auth:signIn'])(
    '%s accepts no parameters and names an unknown one',
    async (request) => {
      await server.play({
        name: 'an unknown parameter is refused',
        request: `${request.replace(' ', ' /api/')}?fields=id`,
        ...(request.endsWith('signIn') && { body: { email: 'ann@example.com', password: first } }),
        expect: {
          status: 400,
          code: 'PARAMETER_UNKNOWN',
          body: { message: expect.stringContaining('"fields"') },
        },
      });
    },
  );

  test.each(['sessions', 'endSession', 'endOtherSessions', 'changePassword'])(
    'auth:%s needs a credential',
    async (action) => {
      await server.play({
        name: 'a request without a credential is refused',
        request: `POST /api/auth:${action}`,
        as: 'nobody',
        expect: { status: 401, code: 'TOKEN_MISSING' },
      });
    },
  );

  describe('expiry', () => {
    test('a session is extended while it is used, also if it is cached, and expires after seven days without use', async () => {
      const used = await enter();
      const unused = await enter();
      for (let days = 0; days < 9; days += 1) {
        clock.advance(day - 60_000);
        expect(await status(used)).toBe(200);
      }
      expect(await status(unused)).toBe(401);
      clock.advance(7 * day - 2 * hour);
      expect(await status(used)).toBe(200);
      clock.advance(7 * day);
      expect(await status(used)).toBe(401);
      server.tokens.set('admin', await server.signIn('root@example.com', first));
    });
  });

  describe('a changed password', () => {
    test('ends the other sessions, is recorded without its text, and invalidates the former one', async () => {
      const [one, two] = [await enter(), await enter()];
      const played = await server.play({
        name: 'the password is changed',
        request: 'POST /api/auth:changePassword',
        as: one,
        body: { oldPassword: first, newPassword: second },
        expect: { status: 200, body: { data: 1 }, events: ['users.updated'], absent: [second, 'argon2'] },
      });
      expect(played.body).toEqual({ data: 1 });
      expect([await status(one), await status(two)]).toEqual([200, 401]);
      expect(await enter(first).catch(() => null)).toBeNull();
      expect(await status(await enter(second))).toBe(200);
      expect((await change(one, second, first)).status).toBe(200);
    });

    const refusals: readonly [name: string, body: unknown, reply: object, code?: ErrorCode][] = [
      ['a wrong former password', { oldPassword: 'wrong', newPassword: second }, {}, 'PASSWORD_WRONG'],
      [
        'a short new password',
        { oldPassword: first, newPassword: 'seven77' },
        { details: { newPassword: expect.any(String) } },
      ],
      [
        'a new password of 1,025 characters',
        { oldPassword: first, newPassword: 'x'.repeat(1025) },
        { details: { newPassword: expect.any(String) } },
      ],
      [
        'white space',
        { oldPassword: first, newPassword: ' '.repeat(9) },
        { details: { newPassword: expect.any(String) } },
      ],
      [
        'the e-mail address',
        { oldPassword: first, newPassword: 'Ann@Example.COM' },
        { details: { newPassword: expect.any(String) } },
      ],
      [
        'the user name',
        { oldPassword: first, newPassword: ' ann-the-FIRST' },
        { details: { newPassword: expect.any(String) } },
      ],
      [
        'U+0000',
        { oldPassword: first, newPassword: 'long enough\u0000' },
        { details: { newPassword: expect.any(String) } },
      ],
      ['the same', { oldPassword: first, newPassword: first }, { details: { newPassword: expect.any(String) } }],
      ['a number', { oldPassword: first, newPassword: 123456789 }, { details: { newPassword: expect.any(String) } }],
      ['no former password', { newPassword: second }, { details: { oldPassword: expect.any(String) } }],
      ['another user', { oldPassword: first, newPassword: second, id: 1 }, { details: { id: expect.any(String) } }],
    ];
    test.each(refusals)(
      'with %s is refused with 422, and the session stays valid',
      async (_name, body, reply, code = 'VALUE_INVALID') => {
        const one = await enter();
        const request = 'POST /api/auth:changePassword';
        await server.play({
          name: 'the new password is refused',
          request,
          as: one,
          body,
          expect: { status: 422, code, body: reply },
        });
        expect(await status(one)).toBe(200);
        expect(await status(await enter(first))).toBe(200);
      },
    );

    test('in parallel requests succeeds once', async () => {
      const logins = [await enter(), await enter(), await enter()];
      const replies = await Promise.all(logins.map((login, index) => change(login, first, `a new password ${index}`)));
      const won = replies.findIndex((reply) => reply.status === 200);
      expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
      expect((await change(logins[won]!, `a new password ${won}`, first)).status).toBe(200);
    });

    test('is compared over its whole length', async () => {
      const long = 'ä'.repeat(500);
      expect((await change(await enter(), first, `${long}1`)).status).toBe(200);
      expect(await enter(`${long}2`).catch(() => null)).toBeNull();
      expect(await enter(long).catch(() => null)).toBeNull();
      expect((await change(await enter(`${long}1`), `${long}1`, first)).status).toBe(200);
    });

    test.each([
      ['an administrator’s change of it', { password: first }],
      ['a suspension', { status: 'suspended' }],
    ])('%s ends every session', async (_name, body) => {
      const [one, two] = [await enter(), await enter()];
      expect([await status(one), await status(two)]).toEqual([200, 200]);
      await server.data(`POST /api/users:update?filterByTk=${annId}`, { body });
      expect([await status(one), await status(two)]).toEqual([401, 401]);
      await server.data(`POST /api/users:update?filterByTk=${annId}`, { body: { status: 'active' } });
      expect([await status(one), await status(two)]).toEqual([401, 401]);
    });

    test('a changed nickname ends no session', async () => {
      const one = await enter();
      await server.data(`POST /api/users:update?filterByTk=${annId}`, { body: { nickname: 'Ann' } });
      expect(await status(one)).toBe(200);
    });
  });

  test('a user who is suspended during sign-in gets the reply of a wrong password', async () => {
    await server.data(`POST /api/users:update?filterByTk=${annId}`, { body: { status: 'suspended' } });
    const body = { email: 'ann@example.com', password: first };
    const reply = await server.call('POST /api/auth:signIn', { as: 'nobody', body });
    const wrong = await server.call('POST /api/auth:signIn', {
      as: 'nobody',
      body: { ...body, password: 'wrong wrong' },
    });
    expect([reply.status, reply.body.message, reply.body.code]).toEqual([401, wrong.body.message, wrong.body.code]);
    await server.data(`POST /api/users:update?filterByTk=${annId}`, { body: { status: 'active' } });
  });

  test('an unknown user and a wrong password take equally long', async () => {
    setCheapHashing(false);
    onTestFinished(() => setCheapHashing(true));
    await server.data(`POST /api/users:update?filterByTk=${annId}`, { body: { password: first } });
    const guess = (email: string): ReturnType<TestServer['call']> =>
      server.call('POST /api/auth:signIn', { as: 'nobody', body: { email, password: 'wrong wrong' } });
    const [known, unknown] = await compareDurations(
      () => guess('ann@example.com'),
      () => guess('who@example.com'),
      15,
    );
    // Without the hash, the reply for an unknown user would take a tenth of the time.
    expect(unknown).toBeGreaterThan(known * 0.5);
    expect(unknown).toBeLessThan(known * 2);
  });
});
