import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type ExpectedOutcome, TestServer } from '../support/scenario.ts';

/**
 * Relation actions and nested values can also write to system collections. The rules for an update of these
 * collections must apply to them, too.
 */
describeEngines('relations do not give additional permissions', (engine) => {
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
    await server.createKey('plain');
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

  const attacks: readonly [string, string, unknown, ExpectedOutcome][] = [
    ['keeper', 'users/2/roles:add', ['admin'], { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['keeper', 'users/2/roles:set', { values: ['admin'] }, { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['keeper', 'users/2/roles:toggle?filterByTk=admin', undefined, { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['keeper', 'users/1/roles:remove', ['admin'], { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['keeper', 'users/1/roles:set', { values: [] }, { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['plain', 'users/3/roles:add', ['admin'], { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['plain', 'users/3/roles:add', ['keeper'], { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['plain', 'users/3/roles:add', ['public'], { status: 422, code: 'DEFINITION_INVALID' }],
    ['plain', 'users/3/roles:create', { name: 'mine', allowConfigure: true }, { status: 403, code: 'NO_PERMISSION' }],
    [
      'keeper',
      'roles/admin/permissions:create',
      { resource: 'posts', actions: ['list'] },
      { status: 403, code: 'SYSTEM_PROTECTED' },
    ],
    [
      'keeper',
      'roles/keeper/permissions:create',
      { resource: 'posts', actions: ['destroy'] },
      { status: 403, code: 'SYSTEM_PROTECTED' },
    ],
    ['keeper', 'roles/keeper/permissions:add', [1], { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['keeper', 'apiKeys/1/roleOf:set', ['admin'], { status: 422, code: 'DEFINITION_INVALID' }],
    ['keeper', 'permissions/1/roleOf:set', ['keeper'], { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['keeper', 'applications/main/errorLog:create', { stage: 'x' }, { status: 403, code: 'SYSTEM_PROTECTED' }],
    [
      'keeper',
      'applicationErrors:create',
      { application: 'main', stage: 'x' },
      { status: 403, code: 'SYSTEM_PROTECTED' },
    ],
    ['keeper', 'applicationErrors/1/applicationOf:destroy', undefined, { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['admin', 'applicationErrors/1/applicationOf:destroy', undefined, { status: 403, code: 'SYSTEM_PROTECTED' }],
    ['admin', 'apiKeys:create?dryRun=true', { role: { name: 'viewer' } }, { status: 400, code: 'PARAMETER_UNKNOWN' }],
    [
      'keeper',
      'users:firstOrCreate?filterKeys=email',
      { email: 'new@example.com', roles: ['admin'] },
      { status: 403, code: 'SYSTEM_PROTECTED' },
    ],
    [
      'keeper',
      'apiKeys:firstOrCreate?filterKeys=name',
      { name: 'k', role: 'admin' },
      { status: 404, code: 'ROUTE_UNKNOWN' },
    ],
    [
      'plain',
      'posts:create',
      { writer: { email: 'n@example.com', roles: ['admin'] } },
      { status: 403, code: 'SYSTEM_PROTECTED' },
    ],
    [
      'plain',
      'posts:create?updateAssociationValues=writer',
      { writer: { id: 1, password: 'mine now' } },
      { status: 403, code: 'SYSTEM_PROTECTED' },
    ],
    [
      'plain',
      'posts:create?updateAssociationValues=writer',
      { writer: { id: 3, roles: ['admin'] } },
      { status: 403, code: 'SYSTEM_PROTECTED' },
    ],
    ['keeper', 'fields:create', through('permissions', 'role'), { status: 422, code: 'DEFINITION_INVALID' }],
    ['keeper', 'fields:create', through('apiKeys', 'role'), { status: 422, code: 'DEFINITION_INVALID' }],
    ['keeper', 'fields:create', through('usersRoles', 'role'), { status: 422, code: 'DEFINITION_INVALID' }],
  ];

  function through(join: string, otherKey: string): unknown {
    return { collectionName: 'posts', name: 'r', type: 'belongsToMany', target: 'roles', through: join, otherKey };
  }

  for (const [as, path, body, outcome] of attacks)
    test(`${as}: ${path} ${JSON.stringify(body) ?? ''}`, async () => {
      await server.play({
        name: path,
        request: `POST /api/${path}`,
        as,
        ...(body !== undefined && { body }),
        expect: outcome,
      });
    });

  test('relation actions change the roles of a user immediately, like an update', async () => {
    await server.play({
      name: 'an administrator grants a role by the relation',
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
