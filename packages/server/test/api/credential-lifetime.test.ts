import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startNewsroomServer } from '../support/newsroom-server.ts';
import type { TestServer } from '../support/scenario.ts';

const unauthorized = { error: 'Unauthorized', message: expect.stringContaining('invalid or missing token') };

describeEngines('the life of credentials', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startNewsroomServer(engine);
  });
  afterAll(() => server.stop());

  test('a revoked key fails at the next request', async () => {
    const { id, token } = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'viewer' } } });
    expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(200);
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`);
    await server.play({
      name: 'a revoked key is refused',
      request: 'GET /api/posts:list',
      as: token,
      expect: { status: 401, code: 'TOKEN_INVALID', body: unauthorized },
    });
  });

  test('a key created by a user who is no administrator is valid only while that user holds the role', async () => {
    const as = 'keeper';
    for (const role of ['kept', 'other']) await server.data('POST /api/roles:create', { body: { name: role } });
    await server.data('POST /api/permissions:create', { body: { role: 'kept', resource: 'posts', actions: ['list'] } });
    const body = { email: 'keeper@example.com', password: 'correct horse', roles: ['kept', 'other'] };
    const { id } = await server.data('POST /api/users:create', { body });
    server.tokens.set(as, await server.signIn(body.email, body.password));
    const keyBody = { role: { name: 'kept' }, expiresIn: 'never' };
    const { token, ...made } = await server.data('POST /api/apiKeys:create', { as, body: keyBody });
    expect(made).not.toHaveProperty('bound');
    const list = (): ReturnType<TestServer['call']> => server.call('GET /api/posts:list', { as: token });
    const reason = async (key = made.id): Promise<unknown> =>
      (await server.data(`GET /api/apiKeys:get?filterByTk=${key}`)).inactiveReason;
    const change = (to: object): Promise<unknown> =>
      server.data(`POST /api/users:update?filterByTk=${id}`, { body: to });
    expect([(await list()).status, await reason()]).toEqual([200, null]);
    // The new key of a rotation also depends on the creator of the old key, no matter who rotates it.
    const next = await server.data(`POST /api/apiKeys:rotate?filterByTk=${made.id}`, { body: { overlap: '1d' } });
    // A key that an administrator created for the same role does not depend on this user.
    const stays = await server.createKey('kept');

    await change({ roles: ['other'] });
    const dead = await list();
    expect([dead.status, dead.body]).toMatchObject([
      401,
      { ...unauthorized, code: 'TOKEN_INVALID', message: expect.stringContaining('no longer has its role') },
    ]);
    expect([await reason(), await reason(next.id)]).toEqual(['roleLost', 'roleLost']);
    expect((await server.call('GET /api/posts:list', { as: next.token })).status).toBe(401);
    expect((await server.call('GET /api/posts:list', { as: stays })).status).toBe(200);
    const found = await server.data('GET /api/apiKeys:list?filter={"inactiveReason":"roleLost"}&fields=id');
    expect(found).toEqual([{ id: made.id }, { id: next.id }]);

    await change({ roles: ['kept'] });
    expect([(await list()).status, await reason()]).toEqual([200, null]);
    await change({ status: 'suspended' });
    expect([(await list()).status, await reason()]).toEqual([401, 'makerSuspended']);
    await change({ status: 'active', roles: ['admin'] });
    expect([(await list()).status, await reason()]).toEqual([200, null]);
    await change({ roles: ['other'] });
    expect((await list()).status).toBe(401); // The key still depends on the role, although its creator was an administrator.
    await change({ roles: ['kept'] });
    expect((await list()).status).toBe(200);
    expect((await server.call('GET /api/posts:list', { as: stays })).status).toBe(200);
    await server.play({
      name: 'a caller who may list API keys can filter by the creator, and nobody can write it',
      request: `POST /api/apiKeys:update?filterByTk=${made.id}`,
      body: { inactiveReason: 'roleLost' },
      expect: { status: 422, code: 'DEFINITION_INVALID' },
    });
    await server.data(`POST /api/users:destroy?filterByTk=${id}`);
    expect((await list()).status).toBe(401);
  });

  test('a key that an administrator created stays valid when that user is no longer an administrator', async () => {
    const body = { email: 'boss@example.com', password: 'correct horse', roles: ['admin', 'viewer'] };
    const { id } = await server.data('POST /api/users:create', { body });
    server.tokens.set('boss', await server.signIn(body.email, body.password));
    const headers = { 'x-role': 'viewer' };
    const one = await server.data('POST /api/apiKeys:create', { as: 'boss', body: { role: 'editor' } });
    const two = await server.data('POST /api/apiKeys:create', { as: 'boss', body: { role: 'viewer' }, headers });
    await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { roles: [] } });
    for (const { token } of [one, two])
      expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(200);
    await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { status: 'suspended' } });
    expect((await server.call('GET /api/posts:list', { as: one.token })).status).toBe(401);
  });

  test('a removed permission is no longer effective at the next request', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'brief' } });
    const { id } = await server.data('POST /api/permissions:create', {
      body: { role: 'brief', resource: 'posts', actions: 'list' },
    });
    const token = await server.createKey('brief');
    expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(200);
    await server.data(`POST /api/permissions:destroy?filterByTk=${id}`);
    expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(403);
  });

  test('a session ends with signOut', async () => {
    const token = await server.signIn('root@example.com', 'correct horse battery');
    await server.data('POST /api/auth:signOut', { as: token });
    expect((await server.call('GET /api/auth:check', { as: token })).status).toBe(401);
  });

  test('API keys are valid after a restart with the same APP_KEY and invalid with another', async () => {
    const token = await server.createKey('viewer');
    await server.running.stop();
    await server.boot();
    expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(200);
    await server.running.stop();
    await server.boot({ APP_KEY: 'quite another key for tests, long enough' });
    expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(401);
    await server.running.stop();
    await server.boot({
      APP_KEY: 'quite another key for tests, long enough',
      APP_KEY_PREVIOUS: 'a key for tests only, long enough to be quiet',
    });
    expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(200);
    await server.running.stop();
    await server.boot();
  });

  test('a row filter can refer to the current user', async () => {
    await server.data('POST /api/collections:create', {
      body: {
        name: 'notes',
        fields: [
          { name: 'text', type: 'string' },
          { name: 'ownerId', type: 'integer' },
        ],
      },
    });
    await server.data('POST /api/roles:create', { body: { name: 'owner' } });
    const filter = { ownerId: '{{$user.id}}' };
    await server.data('POST /api/permissions:create', {
      body: { role: 'owner', resource: 'notes', actions: ['list', 'get', 'create'], filter },
    });
    const user = await server.data('POST /api/users:create', {
      body: { email: 'Owner@Example.com', password: 'long enough', roles: ['owner'] },
    });
    await server.data('POST /api/notes:create', {
      body: [{ text: 'mine', ownerId: user.id }, { text: 'theirs', ownerId: 1 }, { text: 'nobody' }],
    });
    const token = await server.signIn('owner@example.com', 'long enough');
    expect(await server.data('GET /api/notes:list?fields=text', { as: token })).toEqual([{ text: 'mine' }]);
    expect((await server.call('POST /api/notes:create', { as: token, body: { text: 'x', ownerId: 1 } })).status).toBe(
      403,
    );
    await server.data(`POST /api/users:update?filterByTk=${user.id}`, { body: { status: 'suspended' } });
    expect((await server.call('GET /api/notes:list', { as: token })).status).toBe(401);
  });
});
