import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { newsroom } from '../support/newsroom.ts';
import type { TestServer } from '../support/scenario.ts';

const unauthorized = { error: 'Unauthorized', message: expect.stringContaining('invalid or missing token') };

describeEngines('the life of credentials', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await newsroom(engine);
  });
  afterAll(() => server.stop());

  test('a revoked key fails at the next request', async () => {
    const { id, token } = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'viewer' } } });
    expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(200);
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`);
    await server.play({
      name: '',
      request: 'GET /api/posts:list',
      as: token,
      expect: { status: 401, body: unauthorized },
    });
  });

  test('a permission taken away is gone at the next request', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'brief' } });
    const { id } = await server.data('POST /api/permissions:create', {
      body: { role: 'brief', resource: 'posts', actions: 'list' },
    });
    const token = await server.key('brief');
    expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(200);
    await server.data(`POST /api/permissions:destroy?filterByTk=${id}`);
    expect((await server.call('GET /api/posts:list', { as: token })).status).toBe(403);
  });

  test('a session ends with signOut', async () => {
    const token = await server.signIn('root@example.com', 'correct horse battery');
    await server.data('POST /api/auth:signOut', { as: token });
    expect((await server.call('GET /api/auth:check', { as: token })).status).toBe(401);
  });

  test('keys survive a restart under the same APP_KEY and die under another', async () => {
    const token = await server.key('viewer');
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

  test('a row filter by the current user', async () => {
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
