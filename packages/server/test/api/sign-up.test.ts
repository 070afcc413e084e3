import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const password = 'correct horse battery';
const ann = { email: 'ann@example.com', password };

const refusals: readonly Scenario[] = [
  ...[
    { roles: ['admin'] },
    { role: 'admin' },
    { status: 'active' },
    { defaultRole: 'admin' },
    { confirmed: true },
    { id: 1 },
    { createdAt: '2020-01-01T00:00:00.000Z' },
    { isAdmin: true },
    { usersRoles: [{ role: 'admin' }] },
    { posts: [{}] },
    { Roles: ['admin'] },
  ].map(
    (more): Scenario => ({
      name: `a sign-up is refused with ${JSON.stringify(more)}`,
      request: 'POST /api/auth:signUp',
      as: 'nobody',
      body: { ...ann, ...more },
      expect: {
        status: 422,
        code: 'VALUE_INVALID',
        body: { details: { [Object.keys(more)[0]!]: expect.any(String) } },
      },
    }),
  ),
  ...[
    [{ password }, 'email'],
    [{ email: ann.email }, 'password'],
    [{ ...ann, email: 'ann' }, 'email'],
    [{ ...ann, email: ['ann@example.com'] }, 'email'],
    [{ ...ann, password: 'seven77' }, 'password'],
    [{ ...ann, password: 'Ann@example.com' }, 'password'],
    [{ ...ann, username: 'x'.repeat(101) }, 'username'],
    [[ann], 'email'],
    [null, 'email'],
  ].map(
    ([body, name]): Scenario => ({
      name: `a sign-up with ${JSON.stringify(body).slice(0, 60)} is refused with 422`,
      request: 'POST /api/auth:signUp',
      as: 'nobody',
      body,
      expect: { status: 422, code: 'VALUE_INVALID', body: { details: { [name as string]: expect.any(String) } } },
    }),
  ),
  {
    name: 'a query parameter does not allow the sign-up',
    request: 'POST /api/auth:signUp?roles=admin',
    as: 'nobody',
    body: ann,
    expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
  },
  {
    name: 'an existing address is refused with 409 in any spelling',
    request: 'POST /api/auth:signUp',
    as: 'nobody',
    body: { ...ann, email: ' ROOT@Example.com' },
    expect: { status: 409, code: 'UNIQUE_CONFLICT', body: { details: { email: expect.any(String) } } },
  },
];

describeEngines('sign-up', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { ALLOW_SIGN_UP: 'main' } });
    await server.data('POST /api/collections:create', { body: { name: 'posts' } });
    await server.data('POST /api/roles:create', { body: { name: 'member', default: true } });
  });
  afterAll(() => server.stop());
  for (const scenario of refusals) test(scenario.name, () => server.play(scenario));

  test('creates an active user with the default roles and signs in', async () => {
    const { body } = await server.play({
      name: 'the sign-up creates a user',
      request: 'POST /api/auth:signUp',
      as: 'nobody',
      body: { email: ' Ann@Example.com', username: 'ann', nickname: 'Ann', password },
      expect: { status: 200, events: ['users.created'], absent: ['argon2', password] },
    });
    expect(body.data).toMatchObject({
      user: { email: 'ann@example.com', username: 'ann', nickname: 'Ann', status: 'active', roles: ['member'] },
      token: expect.stringMatching(/^tbs_/),
    });
    expect((await server.data('GET /api/auth:check', { as: body.data.token })).currentRole).toBe('member');
    expect(await server.signIn('ann', password)).toMatch(/^tbs_/);
  });

  test('a credential in the request has no effect', async () => {
    const reply = await server.call('POST /api/auth:signUp', { body: { email: 'bob@example.com', password } });
    expect(reply.body.data.user.roles).toEqual(['member']);
  });

  test('one of several parallel sign-ups with one address succeeds', async () => {
    const body = { email: 'many@example.com', password };
    const replies = await Promise.all(
      [0, 1, 2].map(() => server.call('POST /api/auth:signUp', { as: 'nobody', body })),
    );
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 409, 409]);
  });

  test('a role that is named like the internal grant of a sign-up does not get the cached plans of that grant', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'sign-up' } });
    const permission = { role: 'sign-up', resource: 'users', actions: ['create', 'get'] };
    await server.data('POST /api/permissions:create', { body: permission });
    const as = await server.createKey('sign-up');
    // Compiles the plan of a sign-up with these members, which returns the key only; a refusal leaves it in the cache.
    const taken = { email: 'root@example.com', password };
    expect((await server.call('POST /api/auth:signUp', { as: 'nobody', body: taken })).status).toBe(409);
    const made = await server.data('POST /api/users:create', { as, body: { email: 'second@example.com', password } });
    expect(made).toMatchObject({ id: expect.any(Number), email: 'second@example.com' });
  });

  test('a sign-up cannot name another application', async () => {
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const headers = { 'x-app': 'shop' };
    const reply = await server.call('POST /api/auth:signUp', { as: 'nobody', body: ann, headers });
    expect(reply).toMatchObject({ status: 403, body: { code: 'SIGN_UP_CLOSED' } });
  });

  test('sign-up is off unless it is enabled', async () => {
    await server.running.stop();
    await server.boot({ ALLOW_SIGN_UP: '' });
    await server.play({
      name: 'a sign-up is refused while it is off',
      request: 'POST /api/auth:signUp',
      as: 'nobody',
      body: { ...ann, email: 'late@example.com' },
      expect: { status: 403, code: 'SIGN_UP_CLOSED' },
    });
  });
});
