import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/**
 * Power by a side door: relation actions and nested values reach system collections too, and must meet the rules that an
 * update of them meets.
 */
describeEngines('nobody gains power through a relation', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/roles:create', {
      body: [{ name: 'keeper', allowConfigure: true }, { name: 'plain' }],
    });
    await server.data('POST /api/users:create', {
      body: [
        { email: 'keeper@example.com', password: 'correct horse', roles: ['keeper'] },
        { email: 'plain@example.com', password: 'correct horse', roles: ['plain'] },
      ],
    });
    server.tokens.set('keeper', await server.signIn('keeper@example.com', 'correct horse'));
    await server.key('plain');
    await server.data('POST /api/permissions:create', {
      body: { role: 'plain', resource: 'users', actions: ['list', 'get', 'update', 'create'] },
    });
    await server.data('POST /api/permissions:create', {
      body: { role: 'plain', resource: 'roles', actions: ['list', 'get'] },
    });
    await server.data('POST /api/collections:create', {
      body: { name: 'posts', fields: [{ name: 'writer', type: 'belongsTo', target: 'users' }] },
    });
    const { database } = server.running.applications.main;
    const failed = `INSERT INTO "applicationErrors" (application,stage) VALUES ('main','x')`;
    await database.write((transaction) => transaction.run({ text: failed, values: [] }));
    await server.data('POST /api/permissions:create', {
      body: { role: 'plain', resource: 'posts', actions: ['create', 'get', 'update'] },
    });
  });
  afterAll(() => server.stop());

  const attacks: readonly [string, string, unknown, number][] = [
    ['keeper', 'users/2/roles:add', ['admin'], 403],
    ['keeper', 'users/2/roles:set', { values: ['admin'] }, 403],
    ['keeper', 'users/2/roles:toggle?filterByTk=admin', undefined, 403],
    ['keeper', 'users/1/roles:remove', ['admin'], 403],
    ['keeper', 'users/1/roles:set', { values: [] }, 403],
    ['plain', 'users/3/roles:add', ['admin'], 403],
    ['plain', 'users/3/roles:add', ['keeper'], 403],
    ['plain', 'users/3/roles:add', ['public'], 422],
    ['plain', 'users/3/roles:create', { name: 'mine', allowConfigure: true }, 403],
    ['keeper', 'roles/admin/permissions:create', { resource: 'posts', actions: ['list'] }, 403],
    ['keeper', 'roles/keeper/permissions:create', { resource: 'posts', actions: ['destroy'] }, 403],
    ['keeper', 'roles/keeper/permissions:add', [1], 403],
    ['keeper', 'apiKeys/1/roleOf:set', ['admin'], 422],
    ['keeper', 'permissions/1/roleOf:set', ['keeper'], 403],
    ['keeper', 'applications/main/errorLog:create', { stage: 'x' }, 403],
    ['keeper', 'applicationErrors:create', { application: 'main', stage: 'x' }, 403],
    ['keeper', 'applicationErrors/1/applicationOf:destroy', undefined, 403],
    ['admin', 'applicationErrors/1/applicationOf:destroy', undefined, 403],
    ['admin', 'apiKeys:create?dryRun=true', { role: { name: 'viewer' } }, 400],
    ['keeper', 'users:firstOrCreate?filterKeys=email', { email: 'new@example.com', roles: ['admin'] }, 403],
    ['keeper', 'apiKeys:firstOrCreate?filterKeys=name', { name: 'k', role: 'admin' }, 404],
    ['plain', 'posts:create', { writer: { email: 'n@example.com', roles: ['admin'] } }, 403],
    ['plain', 'posts:create?updateAssociationValues=writer', { writer: { id: 1, password: 'mine now' } }, 403],
    ['plain', 'posts:create?updateAssociationValues=writer', { writer: { id: 3, roles: ['admin'] } }, 403],
    ['keeper', 'fields:create', through('permissions', 'role'), 422],
    ['keeper', 'fields:create', through('apiKeys', 'role'), 422],
    ['keeper', 'fields:create', through('usersRoles', 'role'), 422],
  ];

  function through(join: string, otherKey: string): unknown {
    return { collectionName: 'posts', name: 'r', type: 'belongsToMany', target: 'roles', through: join, otherKey };
  }

  for (const [as, path, body, status] of attacks)
    test(`${as}: ${path} ${JSON.stringify(body) ?? ''}`, async () => {
      await server.play({
        name: path,
        request: `POST /api/${path}`,
        as,
        ...(body !== undefined && { body }),
        expect: { status },
      });
    });

  test('the roles of a user change by the relation as by an update, at once', async () => {
    await server.play({
      name: 'an admin grants',
      request: 'POST /api/users/3/roles:add',
      body: ['viewer'],
      expect: { status: 200, body: { data: ['plain', 'viewer'] }, events: ['users.updated'] },
    });
    expect((await server.data('GET /api/users:get?filterByTk=3&appends=roles')).roles).toHaveLength(2);
    const login = await server.signIn('plain@example.com', 'correct horse');
    const list = { as: login, headers: { 'x-role': 'viewer' } };
    expect((await server.call('GET /api/auth:check', list)).status).toBe(200);
    await server.data('POST /api/users/3/roles:remove', { body: ['viewer'] });
    expect((await server.call('GET /api/auth:check', list)).status).toBe(403);
  });
});
