import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const noPermission = { error: 'No permissions', code: 'NO_PERMISSION' };
const fieldDenied = { error: 'Forbidden', code: 'FIELD_DENIED' };
const unauthorized = { error: 'Unauthorized', message: expect.stringContaining('invalid or missing token') };
const secret = 'nobody may read this';

/** The reader sees published posts without their secret, and may change the title of published ones. */
const scenarios: readonly Scenario[] = [
  {
    name: 'no header is 401',
    request: 'GET /api/posts:list',
    as: 'nobody',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'an unknown collection without a credential is 401 too',
    request: 'GET /api/nothing:list',
    as: 'nobody',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'an unknown application without a credential is 401',
    request: 'GET /api/posts:list',
    as: 'nobody',
    headers: { 'x-app': 'nope' },
    expect: { status: 401 },
  },
  {
    name: 'two spaces after Bearer are 401',
    request: 'GET /api/posts:list',
    as: 'header:Bearer  x',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'lower-case bearer is 401',
    request: 'GET /api/posts:list',
    as: 'header:bearer x',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'a malformed token is 401',
    request: 'GET /api/posts:list',
    as: 'header:Bearer tbk_short',
    expect: { status: 401, body: { code: 'TOKEN_INVALID' } },
  },
  {
    name: 'a token in the URL is never read',
    request: 'GET /api/posts:list?token=x',
    as: 'nobody',
    expect: { status: 401 },
  },
  {
    name: 'a list shows the rows of the filter and the fields of the list',
    request: 'GET /api/posts:list',
    as: 'reader',
    expect: {
      status: 200,
      body: {
        data: [
          { id: 1, title: 'Open', published: true },
          { id: 3, title: 'Open too', published: true },
        ],
        meta: { count: 2 },
      },
      absent: [secret, 'secret'],
    },
  },
  {
    name: 'get of a row in sight',
    request: 'GET /api/posts:get?filterByTk=1',
    as: 'reader',
    expect: { status: 200, absent: [secret] },
  },
  {
    name: 'get of a row out of sight is 403',
    request: 'GET /api/posts:get?filterByTk=2',
    as: 'reader',
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'get of a row that does not exist is the same 403',
    request: 'GET /api/posts:get?filterByTk=99',
    as: 'reader',
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'a denied field in fields is 403',
    request: 'GET /api/posts:list?fields=secret',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field in filter is 403',
    request: 'GET /api/posts:list?filter={"secret":{"$like":"n%25"}}',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field under $not is 403',
    request: 'GET /api/posts:list?filter={"$not":{"$or":[{"secret":"x"}]}}',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field in bracket spelling is 403',
    request: 'GET /api/posts:list?filter[secret][$null]=true',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field in sort is 403',
    request: 'GET /api/posts:list?sort=-secret',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field in except changes nothing',
    request: 'GET /api/posts:list?except=secret',
    as: 'reader',
    expect: { status: 200 },
  },
  {
    name: 'a denied relation in appends is 403',
    request: 'GET /api/posts:list?appends=author',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied foreign key falls with its relation',
    request: 'GET /api/posts:list?fields=authorId',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'the relation from the other side falls too',
    request: 'GET /api/writers:list?appends=posts',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a filter through the other side falls too',
    request: 'GET /api/writers:list?filter={"posts.title":"Open"}',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a read by POST passes the same gate',
    request: 'POST /api/posts:list',
    as: 'reader',
    body: { filter: { secret: 'x' } },
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'streaming passes the same gate',
    request: 'GET /api/posts:list?paginate=false',
    as: 'reader',
    expect: { status: 200, absent: [secret, 'Hidden'] },
  },
  {
    name: 'an action that is not granted is 403',
    request: 'POST /api/posts:create',
    as: 'reader',
    body: { title: 'x' },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'update of a granted field on a row in sight',
    request: 'POST /api/posts:update?filterByTk=3',
    as: 'reader',
    body: { title: 'Open three' },
    expect: {
      status: 200,
      body: { data: { id: 3, title: 'Open three' } },
      absent: [secret],
      events: ['posts.updated'],
    },
  },
  {
    name: 'update of a row out of sight is 403',
    request: 'POST /api/posts:update?filterByTk=2',
    as: 'reader',
    body: { title: 'x' },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'update of a field that is not granted is 403',
    request: 'POST /api/posts:update?filterByTk=1',
    as: 'reader',
    body: { secret: 'x' },
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'update that takes the row out of the filter is 403',
    request: 'POST /api/posts:update?filterByTk=1',
    as: 'mover',
    body: { published: false },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'update by filter reaches rows in sight alone',
    request: 'POST /api/posts:update?filter={"id":{"$gt":0}}',
    as: 'reader',
    body: { title: 'Same' },
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 3 }] }, events: ['posts.updated', 'posts.updated'] },
  },
  {
    name: 'update of several of which one is out of sight changes none',
    request: 'POST /api/posts:update?filterByTk=[1,2]',
    as: 'reader',
    body: { title: 'x' },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'create of a row that the filter does not admit is 403',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'x', published: false },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'create of a row that it admits',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'Mine', published: true },
    expect: { status: 200, events: ['posts.created'] },
  },
  {
    name: 'a foreign key to a row out of sight answers as one that does not exist',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'x', published: true, authorId: 2 },
    expect: { status: 400, body: { code: 'REFERENCE_MISSING' } },
  },
  {
    name: 'a foreign key to a row in sight',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'By Ann', published: true, authorId: 1 },
    expect: { status: 200, events: ['posts.created'] },
  },
  {
    name: 'destroy of a row out of sight is 403',
    request: 'POST /api/posts:destroy?filterByTk=2',
    as: 'mover',
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'a resource without any grant is 403 whether it exists',
    request: 'GET /api/users:list',
    as: 'reader',
    expect: { status: 403, body: noPermission },
  },
  { name: 'or not', request: 'GET /api/nothing:list', as: 'reader', expect: { status: 403, body: noPermission } },
  {
    name: 'collections are closed to it',
    request: 'GET /api/collections:list',
    as: 'reader',
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'a viewer may not define',
    request: 'POST /api/collections:create',
    as: 'viewer',
    body: { name: 'x' },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'a viewer may not make keys',
    request: 'POST /api/apiKeys:create',
    as: 'viewer',
    body: { role: { name: 'viewer' } },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'a viewer may not revoke',
    request: 'POST /api/apiKeys:destroy?filterByTk=1',
    as: 'viewer',
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'a viewer does not see users through a wildcard',
    request: 'GET /api/users:list',
    as: 'viewer',
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'a password is 403 wherever it is named, for admin too',
    request: 'GET /api/users:list?filter={"password":{"$notNull":true}}',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a password never leaves',
    request: 'GET /api/users:list',
    expect: { status: 200, absent: ['argon2', 'password'] },
  },
  {
    name: 'the hash of a token cannot be named',
    request: 'GET /api/apiKeys:list?fields=tokenHash',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'lists of keys hold no token',
    request: 'GET /api/apiKeys:list',
    expect: { status: 200, absent: ['tbk_', 'tokenHash', 'creatorId'] },
  },
  {
    name: 'a role that does not exist is 422',
    request: 'POST /api/apiKeys:create',
    body: { role: { name: 'nobody' } },
    expect: { status: 422, body: { details: { role: expect.any(String) } } },
  },
  {
    name: 'a bad expiresIn is 422',
    request: 'POST /api/apiKeys:create',
    body: { role: { name: 'viewer' }, expiresIn: '5 days' },
    expect: { status: 422, body: { details: { expiresIn: expect.any(String) } } },
  },
  {
    name: 'two permission rows for one action are 409',
    request: 'POST /api/permissions:create',
    body: { role: 'reader', resource: 'posts', actions: 'list' },
    expect: { status: 409, body: { code: 'PERMISSION_EXISTS' } },
  },
  {
    name: 'a permission on nothing is 422',
    request: 'POST /api/permissions:create',
    body: { role: 'reader', resource: 'nothing', actions: 'list' },
    expect: { status: 422 },
  },
  {
    name: 'an unknown variable is 422',
    request: 'POST /api/permissions:create',
    body: { role: 'viewer', resource: 'posts', actions: 'list', filter: { title: '{{$secret}}' } },
    expect: { status: 422, body: { details: { filter: expect.any(String) } } },
  },
  {
    name: 'a built-in role stays',
    request: 'POST /api/roles:destroy?filterByTk=editor',
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'a role that a key holds stays',
    request: 'POST /api/roles:destroy?filterByTk=reader',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST' } },
  },
  {
    name: 'the last admin stays',
    request: 'POST /api/users:destroy?filterByTk=1',
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'the last admin cannot be suspended',
    request: 'POST /api/users:update?filterByTk=1',
    body: { status: 'suspended' },
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'a system collection cannot be destroyed',
    request: 'POST /api/collections:destroy?filterByTk=users',
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'a wrong password is 401',
    request: 'POST /api/auth:signIn',
    as: 'nobody',
    body: { email: 'root@example.com', password: 'wrong' },
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'an unknown user is the same 401',
    request: 'POST /api/auth:signIn',
    as: 'nobody',
    body: { email: 'who@example.com', password: 'wrong' },
    expect: { status: 401, body: unauthorized },
  },
];

async function prepare(server: TestServer): Promise<void> {
  const make = (path: string, body: unknown): Promise<unknown> => server.data(`POST /api/${path}`, { body });
  await make('collections:create', {
    name: 'writers',
    fields: [
      { name: 'name', type: 'string' },
      { name: 'open', type: 'boolean' },
    ],
  });
  const fields = [
    { name: 'title', type: 'string' },
    { name: 'secret', type: 'string' },
    { name: 'published', type: 'boolean' },
    { name: 'author', type: 'belongsTo', target: 'writers' },
  ];
  await make('collections:create', { name: 'posts', fields });
  await make('fields:create', {
    collectionName: 'writers',
    name: 'posts',
    type: 'hasMany',
    target: 'posts',
    foreignKey: 'authorId',
  });
  await make('writers:create', [
    { name: 'Ann', open: true },
    { name: 'Bob', open: false },
  ]);
  await make('posts:create', [
    { title: 'Open', secret, published: true, authorId: 1 },
    { title: 'Hidden', secret, published: false, authorId: 2 },
    { title: 'Open too', secret, published: true },
  ]);
  const published = { published: true };
  await make('roles:create', { name: 'reader' });
  await make('permissions:create', {
    role: 'reader',
    resource: 'posts',
    actions: 'view',
    filter: published,
    fields: ['title', 'published'],
  });
  await make('permissions:create', {
    role: { name: 'reader' },
    resource: 'posts',
    actions: ['update'],
    filter: published,
    fields: ['title'],
  });
  await make('permissions:create', { role: 'reader', resource: 'writers', actions: 'view' });
  await make('roles:create', { name: 'mover' });
  await make('permissions:create', {
    role: 'mover',
    resource: 'posts',
    actions: ['list', 'get', 'create', 'update', 'destroy'],
    filter: published,
  });
  await make('permissions:create', { role: 'mover', resource: 'writers', actions: ['get'], filter: { open: true } });
  for (const role of ['reader', 'mover', 'viewer']) await server.key(role);
}

describeEngines('access', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await prepare(server);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));

  describe('the life of credentials', () => {
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
});
