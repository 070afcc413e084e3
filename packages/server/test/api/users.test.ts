import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const password = 'correct horse battery';
const protectedError = { error: 'Forbidden', code: 'SYSTEM_PROTECTED' };
const detail = (name: string): unknown => ({ error: 'Validation Error', details: { [name]: expect.any(String) } });

/** User 1 is the only admin; 2 the keeper, who may configure; 3 the clerk, who may write users; 4 to 6 plain ones; 7 may configure too. */
const lockouts: readonly Scenario[] = (
  [
    ['destroyed', 'users:destroy?filterByTk=1', undefined],
    ['destroyed with others', 'users:destroy?filterByTk=[1,4]', undefined],
    ['destroyed by filter', 'users:destroy?filter={"id":{"$lt":3}}', undefined],
    ['suspended', 'users:update?filterByTk=1', { status: 'suspended' }],
    ['suspended with others', 'users:update?filterByTk=[4,1]', { status: 'suspended' }],
    ['suspended by filter', 'users:update?filter={"id":{"$gt":0}}', { status: 'suspended' }],
    ['stripped by an update', 'users:update?filterByTk=1', { roles: ['viewer'] }],
    ['stripped by an empty list', 'users:update?filterByTk=1', { roles: [] }],
    ['stripped by null', 'users:update?filterByTk=1', { roles: null }],
    ['stripped by roles:remove', 'users/1/roles:remove', ['admin']],
    ['stripped by roles:set', 'users/1/roles:set', ['viewer']],
    ['stripped by roles:toggle', 'users/1/roles:toggle', ['admin']],
    ['left without a password', 'users:update?filterByTk=1', { password: null }],
    ['left without a name', 'users:update?filterByTk=1', { email: null, username: null }],
    [
      'suspended by updateOrCreate',
      'users:updateOrCreate?filterKeys=email',
      { email: 'root@example.com', status: 'suspended' },
    ],
    [
      'suspended by a nested value',
      'posts:create?updateAssociationValues=writer',
      { writer: { id: 1, status: 'suspended' } },
    ],
    ['destroyed by a relation', 'posts/1/writer:destroy', undefined],
    ['suspended by a relation', 'posts/1/writer:update', { status: 'suspended' }],
    ['left without the role, when that is destroyed', 'roles:destroy?filterByTk=admin', undefined],
    [
      'left without the role, when that is destroyed by filter',
      'roles:destroy?filter={"allowConfigure":true}',
      undefined,
    ],
    ['weakened by the role', 'roles:update?filterByTk=admin', { allowConfigure: false }],
    ['renamed away from the role', 'roles:update?filterByTk=admin', { name: 'nobody' }],
  ] as const
).map(([how, path, body]) => ({
  name: `the last admin is not ${how}`,
  request: `POST /api/${path}`,
  ...(body !== undefined && { body }),
  expect: {
    status: path === 'roles:update?filterByTk=admin' && 'name' in body ? 400 : 403,
    ...(!('name' in (body ?? {})) && { body: protectedError }),
  },
}));

const powers: readonly Scenario[] = [
  {
    name: 'who may write some fields of users writes no roles',
    request: 'POST /api/users:update?filterByTk=4',
    as: 'selfWriter',
    body: { roles: ['editor'] },
    expect: { status: 403, body: { code: 'FIELD_DENIED' } },
  },
  {
    name: 'nor by the relation',
    request: 'POST /api/users/4/roles:add',
    as: 'selfWriter',
    body: ['editor'],
    expect: { status: 403 },
  },
  {
    name: 'but the fields',
    request: 'POST /api/users:update?filterByTk=4',
    as: 'selfWriter',
    body: { nickname: 'Me' },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'the status is a field like others',
    request: 'POST /api/users:update?filterByTk=4',
    as: 'selfWriter',
    body: { status: 'suspended' },
    expect: { status: 403, body: { code: 'FIELD_DENIED' } },
  },
  {
    name: 'a role that may not configure grants none that it does not hold',
    request: 'POST /api/users:update?filterByTk=3',
    as: 'clerk',
    body: { roles: ['clerk', 'editor'] },
    expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
  },
  {
    name: 'nor in a create',
    request: 'POST /api/users:create',
    as: 'clerk',
    body: { email: 'friend@example.com', roles: ['editor'] },
    expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
  },
  {
    name: 'nor by the relation, for itself',
    request: 'POST /api/users/3/roles:add',
    as: 'clerk',
    body: ['editor'],
    expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
  },
  {
    name: 'it grants what it holds, and leaves what is held',
    request: 'POST /api/users:update?filterByTk=5',
    as: 'clerk',
    body: { roles: ['viewer', 'clerk'] },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'and changes no password of one who may configure',
    request: 'POST /api/users:update?filterByTk=2',
    as: 'clerk',
    body: { password: 'mine from now on' },
    expect: { status: 403, body: protectedError },
  },
  {
    name: 'nor of an admin, who may configure neither',
    request: 'POST /api/users:update?filterByTk=1',
    as: 'keeper',
    body: { password: 'mine from now on' },
    expect: { status: 403, body: protectedError },
  },
  ...(
    [
      ['password', 'users:update?filterByTk=6', { password: 'mine from now on' }],
      ['address', 'users:update?filterByTk=6', { email: 'clerk+6@example.com' }],
      ['password, along with its roles', 'users:update?filterByTk=6', { password: 'mine from now on', roles: [] }],
      ['password, among others', 'users:update?filterByTk=[3,6]', { password: null }],
      ['password, by filter', 'users:update?filter={"email":"user6@example.com"}', { password: 'mine from now on' }],
      [
        'password, by a nested value',
        'posts:update?filterByTk=2&updateAssociationValues=writer',
        { writer: { id: 6, password: 'mine from now on' } },
      ],
      ['password, by a relation', 'posts/2/writer:update', { password: 'mine from now on' }],
      [
        'password, by updateOrCreate',
        'users:updateOrCreate?filterKeys=email',
        { email: 'user6@example.com', password: 'mine from now on' },
      ],
    ] as const
  ).map(
    ([what, path, body]): Scenario => ({
      name: `the clerk sets no ${what}, of a user who holds a role that the clerk does not`,
      request: `POST /api/${path}`,
      as: 'clerk',
      body,
      expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
    }),
  ),
  {
    name: 'nor does a batch',
    request: 'POST /api/batch',
    as: 'clerk',
    body: {
      operations: [{ op: 'update', resource: 'users', filterByTk: 6, values: { password: 'mine from now on' } }],
    },
    expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
  },
  {
    name: 'its other fields the clerk writes',
    request: 'POST /api/users:update?filterByTk=6',
    as: 'clerk',
    body: { nickname: 'Six' },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'the clerk sets its own address',
    request: 'POST /api/users:update?filterByTk=3',
    as: 'clerk',
    body: { email: 'Clerk@example.com' },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'a key acts as its one role: it sets no password of its own creator, who holds another one',
    request: 'POST /api/users:update?filterByTk=3',
    as: 'clerkKey',
    body: { password: 'mine from now on' },
    expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
  },
  {
    name: 'who may configure sets the password of one who may not, whatever the roles',
    request: 'POST /api/users:update?filterByTk=6',
    as: 'keeper',
    body: { password: 'another good one' },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'but not of one who holds another role that may configure',
    request: 'POST /api/users:update?filterByTk=7',
    as: 'keeper',
    body: { password: 'mine from now on' },
    expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
  },
  {
    name: 'nobody holds public',
    request: 'POST /api/users:create',
    body: { email: 'p@example.com', roles: ['public'] },
    expect: { status: 422, body: detail('roles') },
  },
  {
    name: 'an unknown role is 422',
    request: 'POST /api/users:create',
    body: { email: 'p@example.com', roles: [{ name: 'nobody' }] },
    expect: { status: 422, body: detail('roles') },
  },
  {
    name: 'an unknown defaultRole is 422',
    request: 'POST /api/users:update?filterByTk=4',
    body: { defaultRole: 'nobody' },
    expect: { status: 422, body: detail('defaultRole') },
  },
  {
    name: 'an unknown status is 422',
    request: 'POST /api/users:update?filterByTk=4',
    body: { status: 'asleep' },
    expect: { status: 422, body: detail('status') },
  },
  {
    name: 'a role that may configure is never given by default',
    request: 'POST /api/roles:update?filterByTk=keeper',
    body: { default: true },
    expect: { status: 422, body: detail('default') },
  },
  {
    name: 'nor made so',
    request: 'POST /api/roles:create',
    body: { name: 'both', default: true, allowConfigure: true },
    expect: { status: 422, body: detail('default') },
  },
  ...['admin', 'public'].map(
    (role): Scenario => ({
      name: `nor is ${role}`,
      request: `POST /api/roles:update?filterByTk=${role}`,
      body: { default: true },
      expect: { status: 422, body: detail('default') },
    }),
  ),
  {
    name: 'a relation that would take users along is refused',
    request: 'POST /api/fields:create',
    body: { collectionName: 'users', name: 'team', type: 'belongsTo', target: 'posts', onDelete: 'cascade' },
    expect: { status: 422, body: detail('onDelete') },
  },
  {
    name: 'from the other side too',
    request: 'POST /api/fields:create',
    body: {
      collectionName: 'posts',
      name: 'people',
      type: 'hasMany',
      target: 'users',
      foreignKey: 'teamId',
      onDelete: 'cascade',
    },
    expect: { status: 422, body: detail('onDelete') },
  },
  ...(
    ['seven77', 'x'.repeat(1025), ' '.repeat(9), 'P@Example.com', 'the name', 12345678, 'long enough\u0000'] as const
  ).map(
    (bad): Scenario => ({
      name: `the password ${JSON.stringify(bad).slice(0, 30)} is 422`,
      request: 'POST /api/users:create',
      body: { email: 'p@example.com', username: 'the name', password: bad },
      expect: { status: 422, body: detail('password') },
    }),
  ),
  {
    name: 'a password that is the name that the user has already is 422',
    request: 'POST /api/users:update?filterByTk=4',
    body: { password: 'User4@example.com' },
    expect: { status: 422, body: detail('password') },
  },
];

describeEngines('users', (engine) => {
  let server: TestServer;
  const check = (as: string, role?: string): ReturnType<TestServer['call']> =>
    server.call('GET /api/auth:check', { as, ...(role !== undefined && { headers: { 'x-role': role } }) });

  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/roles:create', {
      body: [
        { name: 'keeper', allowConfigure: true },
        { name: 'clerk' },
        { name: 'selfWriter' },
        { name: 'warden', allowConfigure: true },
        { name: 'archivist' },
      ],
    });
    const person = (name: string, roles: readonly string[]): unknown => ({
      email: `${name}@example.com`,
      password,
      roles,
    });
    await server.data('POST /api/users:create', {
      body: [
        person('keeper', ['keeper']),
        person('clerk', ['clerk', 'archivist']),
        person('user4', ['selfWriter', 'viewer']),
        person('user5', ['viewer']),
        person('user6', ['editor']),
        person('warden', ['warden']),
      ],
    });
    await server.data('POST /api/permissions:create', {
      body: [
        { role: 'clerk', resource: 'users', actions: ['list', 'get', 'create', 'update'] },
        { role: 'clerk', resource: 'roles', actions: ['list', 'get'] },
        { role: 'selfWriter', resource: 'users', actions: 'view' },
        { role: 'selfWriter', resource: 'roles', actions: 'view' },
        {
          role: 'selfWriter',
          resource: 'users',
          actions: 'update',
          fields: ['nickname'],
          filter: { id: '{{$user.id}}' },
        },
      ],
    });
    const names = { keeper: 'keeper', clerk: 'clerk', selfWriter: 'user4' };
    for (const [as, name] of Object.entries(names))
      server.tokens.set(as, await server.signIn(`${name}@example.com`, password));
    await server.data('POST /api/collections:create', {
      body: { name: 'posts', fields: [{ name: 'writer', type: 'belongsTo', target: 'users' }] },
    });
    await server.data('POST /api/posts:create', { body: [{ writerId: 1 }, { writerId: 6 }] });
    await server.data('POST /api/permissions:create', {
      body: { role: 'clerk', resource: 'posts', actions: ['list', 'get', 'update'] },
    });
    const made = await server.data('POST /api/apiKeys:create', { as: 'clerk', body: { role: 'clerk' } });
    server.tokens.set('clerkKey', made.token);
  });
  afterAll(() => server.stop());
  for (const scenario of [...lockouts, ...powers]) test(scenario.name, () => server.play(scenario));

  describe('admins', () => {
    test('go where another one stays, who can sign in', async () => {
      const make = (body: object): Promise<{ id: number }> =>
        server.data('POST /api/users:create', { body: { roles: ['admin'], ...body } });
      const destroy = (id: number): Promise<number> =>
        server.call(`POST /api/users:destroy?filterByTk=${id}`).then((reply) => reply.status);
      const mute = await make({ email: 'mute@example.com' });
      expect(await destroy(1)).toBe(403);
      const other = await make({ email: 'other@example.com', password });
      await server.data(`POST /api/users:update?filterByTk=${other.id}`, { body: { status: 'suspended' } });
      expect(await destroy(1)).toBe(403);
      await server.data(`POST /api/users:update?filterByTk=${other.id}`, { body: { status: 'active' } });
      const both = await server.call(`POST /api/users:destroy?filterByTk=[1,${other.id}]`);
      expect(both.body).toMatchObject(protectedError);
      expect(await destroy(mute.id)).toBe(200);
      const some = await make({ email: 'some@example.com', password });
      const one = await server.data('POST /api/users:create', { body: { email: 'one@example.com' } });
      const two = await server.data('POST /api/users:create', { body: { email: 'two@example.com' } });
      const gone = await server.data(`POST /api/users:destroy?filterByTk=[${some.id},${one.id},${two.id}]`);
      expect(gone).toBe(3);
      await server.data(`POST /api/users:destroy?filterByTk=${other.id}`);
    });

    test('who strip each other at once leave one', async () => {
      const second = await server.data('POST /api/users:create', {
        body: { email: 'second@example.com', password, roles: ['admin'] },
      });
      const login = await server.signIn('second@example.com', password);
      const strip = (id: number, as: string): ReturnType<TestServer['call']> =>
        server.call(`POST /api/users:update?filterByTk=${id}`, { as, body: { roles: ['viewer'] } });
      const replies = await Promise.all([strip(1, login), strip(second.id, 'admin')]);
      expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
      const winner = replies[0]!.status === 200 ? login : 'admin';
      expect((await check(winner)).body.data.roles).toContain('admin');
      await server.data('POST /api/users:update?filterByTk=1', { as: winner, body: { roles: ['admin'] } });
      await server.data(`POST /api/users:destroy?filterByTk=${second.id}`);
    });
  });

  describe('roles of a session', () => {
    test('the default role is the one that it starts with, X-Role takes another held one', async () => {
      const body = { email: 'two-roles@example.com', password, roles: ['viewer', 'editor'], defaultRole: 'editor' };
      const { id } = await server.data('POST /api/users:create', { body });
      const login = await server.signIn(body.email, password);
      expect((await check(login)).body.data).toMatchObject({ currentRole: 'editor', roles: ['viewer', 'editor'] });
      expect((await check(login, 'viewer')).body.data.currentRole).toBe('viewer');
      for (const other of ['admin', 'clerk', 'public', 'nobody', 'Viewer', '', 'viewer,editor'])
        expect(await check(login, other)).toMatchObject({ status: 403, body: { code: 'ROLE_NOT_HELD' } });
      await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { roles: ['viewer'] } });
      expect((await check(login)).body.data.currentRole).toBe('viewer');
      expect((await check(login, 'editor')).status).toBe(403);
      await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { roles: [] } });
      expect((await check(login)).body.data).toMatchObject({ currentRole: 'public', roles: [] });
      expect((await server.call('GET /api/posts:list', { as: login })).status).toBe(403);
    });

    test('an API key ignores X-Role', async () => {
      const token = await server.key('viewer');
      expect((await check(token, 'admin')).body.data.currentRole).toBe('viewer');
    });

    test('users without roles get those that are given by default, and no others', async () => {
      await server.data('POST /api/roles:create', { body: { name: 'everyone', default: true } });
      const make = async (body: object): Promise<unknown> => {
        const { id } = await server.data('POST /api/users:create', { body });
        const user = await server.data(`GET /api/users:get?filterByTk=${id}&appends=roles`);
        return user.roles.map(({ name }: { name: string }) => name);
      };
      expect(await make({ email: 'd1@example.com' })).toEqual(['everyone']);
      expect(await make({ email: 'd2@example.com', roles: ['viewer'] })).toEqual(['viewer']);
      expect(await make({ email: 'd3@example.com', roles: [] })).toEqual([]);
      await server.data('POST /api/roles:update?filterByTk=everyone', { body: { default: false } });
      expect(await make({ email: 'd4@example.com' })).toEqual([]);
    });
  });

  test('passwords that come nested are hashed before the transaction', async () => {
    await server.data('POST /api/fields:create', {
      body: { collectionName: 'posts', name: 'readers', type: 'belongsToMany', target: 'users' },
    });
    const { database } = server.running.applications.main;
    const { write } = database;
    let longest = 0;
    database.write = (work, options) =>
      write.call(
        database,
        async (transaction) => {
          const began = performance.now();
          const result = await (work as (inside: typeof transaction) => Promise<unknown>)(transaction);
          longest = Math.max(longest, performance.now() - began);
          return result;
        },
        options,
      ) as never;
    const people = (part: string): unknown =>
      Array.from({ length: 12 }, (_, index) => ({ email: `${part}${index}@example.com`, password }));
    const began = performance.now();
    await server.data('POST /api/posts:create', { body: { readers: people('a') } });
    const { id } = await server.data('POST /api/posts:create', { body: {} });
    await server.data(`POST /api/posts:update?filterByTk=${id}`, { body: { readers: people('b') } });
    await server.data(`POST /api/posts/${id}/readers:create`, { body: people('c') });
    await server.data('POST /api/posts:create?dryRun=true', { body: { readers: people('n') } });
    database.write = write;
    // Forty-eight hashes; within a transaction twelve of them would be most of its time.
    expect(longest).toBeLessThan((performance.now() - began) / 8);
    for (const name of ['a0', 'a11', 'b3', 'c7'])
      expect(await server.signIn(`${name}@example.com`, password)).toMatch(/^tbs_/);
    const [rows] = await database.read([
      { text: "SELECT count(DISTINCT password) FROM users WHERE email LIKE 'a%'", values: [] },
    ]);
    expect(Number(rows![0]![0])).toBe(12);
  });
});
