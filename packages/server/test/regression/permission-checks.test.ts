import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

/** Ways around the permission checks that existed in earlier versions. */
const scenarios: readonly Scenario[] = [
  ...['constructor', 'toString', 'valueOf', '__proto__', 'hasOwnProperty', '%63onstructor'].map(
    (action): Scenario => ({
      name: `"${action}" is not an action of a relation`,
      request: `POST /api/tasks/1/tags:${action}`,
      expect: { status: 404, code: 'ROUTE_UNKNOWN' },
    }),
  ),
  {
    name: 'values of a join record cannot move an existing link to another record',
    request: 'POST /api/tasks/1/tags:add',
    as: 'linker',
    body: [[1, { tasksId: 3 }]],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'values of a join record cannot move an existing link to another target',
    request: 'POST /api/tasks/1/tags:set',
    as: 'linker',
    body: [[1, { tagsId: 2 }]],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'values of a join record cannot move a link by a relation of the join',
    request: 'POST /api/tasks/1/tags:add',
    as: 'linker',
    body: [[1, { task: 3 }]],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'values of a join record cannot move a new link',
    request: 'POST /api/tasks/1/tags:add',
    as: 'linker',
    body: [[2, { tasksId: 3 }]],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  ...['targetScope=s1', 'targetScope=s2', 'targetId=4', 'targetId=2', 'targetId=4&targetScope=s1'].map(
    (query): Scenario => ({
      name: `move by ${query} needs a scope that the role may read`,
      request: `POST /api/tasks:move?sourceId=1&${query}`,
      as: 'mover',
      expect: { status: 403, code: 'FIELD_DENIED' },
    }),
  ),
  {
    name: 'move to the first position needs no scope',
    request: 'POST /api/tasks:move?sourceId=4&sticky=true&dryRun=true',
    as: 'mover',
    expect: { status: 200 },
  },
  {
    name: 'firstOrCreate refuses a denied field if it finds a record',
    request: 'POST /api/tasks:firstOrCreate?filterKeys=title',
    as: 'mover',
    body: { title: 'a', stage: 's9' },
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'firstOrCreate refuses a denied field if it finds no record',
    request: 'POST /api/tasks:firstOrCreate?filterKeys=title',
    as: 'mover',
    body: { title: 'nothing like it', stage: 's9' },
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'a denied relation with a nested record is refused before the record is searched',
    request: 'POST /api/tasks:create',
    as: 'mover',
    body: { title: 'x', tags: [{ id: 1, name: 'y' }] },
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'a denied field in "whitelist" is refused',
    request: 'POST /api/tasks:create?whitelist=title,stage',
    as: 'mover',
    body: { title: 'x' },
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'a denied relation in "updateAssociationValues" is refused',
    request: 'POST /api/tasks:create?updateAssociationValues=tags',
    as: 'mover',
    body: { title: 'x' },
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: '"blacklist" may contain any name',
    request: 'POST /api/tasks:create?blacklist=stage&dryRun=true',
    as: 'mover',
    body: { title: 'x', stage: 's9' },
    expect: { status: 200 },
  },
  {
    name: 'an API key without a permission on apiKeys does not learn that a role exists',
    request: 'POST /api/apiKeys:create',
    as: 'mover',
    body: { role: { name: 'linker' } },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'an API key without a permission on apiKeys does not learn that a role does not exist',
    request: 'POST /api/apiKeys:create',
    as: 'mover',
    body: { role: { name: 'there is none' } },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'a session whose user does not hold the role does not learn whether it exists',
    request: 'POST /api/apiKeys:create',
    as: 'login',
    body: { role: 'there is none' },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'an API key with a permission on apiKeys can still create keys',
    request: 'POST /api/apiKeys:create',
    as: 'login',
    body: { role: { name: 'mover' }, expiresIn: 'soon' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { expiresIn: expect.any(String) } } },
  },
  {
    name: 'rotate by an API key without the permission is refused with 403 before its parameters are checked',
    request: 'POST /api/apiKeys:rotate?nonsense=1',
    as: 'mover',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  ...[
    { parentId: 1, parent: 2 },
    { parent: 2, parentId: 1 },
    { parentId: 1, parent: { id: 2 } },
  ].map(
    (body): Scenario => ({
      name: `a relation and its foreign key must agree in any order: ${JSON.stringify(body)}`,
      request: 'POST /api/tasks:create',
      body: { title: 'x', ...body },
      expect: { status: 400, code: 'BODY_INVALID' },
    }),
  ),
  {
    name: 'a body below a path cannot name another parent by its relation',
    request: 'POST /api/tasks/1/children:create',
    body: { title: 'x', parent: 2 },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'If-Match is checked for update below a path',
    request: 'POST /api/tasks/1/tags:update?filterByTk=1',
    body: { name: 'other' },
    headers: { 'if-match': '"99.x"' },
    expect: { status: 412, code: 'VERSION_STALE' },
  },
  {
    name: 'If-Match is checked for destroy below a path',
    request: 'POST /api/tasks/1/tags:destroy?filterByTk=1',
    headers: { 'if-match': '"99.x"' },
    expect: { status: 412, code: 'VERSION_STALE' },
  },
  {
    name: 'If-Match is refused if a to-one relation has no record',
    request: 'POST /api/tasks/1/paper:update',
    body: { text: 'x' },
    headers: { 'if-match': '*' },
    expect: { status: 412, code: 'VERSION_STALE' },
  },
];

describeEngines('permission checks', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const make = (path: string, body: unknown): Promise<unknown> => server.data(`POST /api/${path}`, { body });
    await make('collections:create', { name: 'tags', fields: [{ name: 'name', type: 'string' }] });
    await make('collections:create', { name: 'papers', fields: [{ name: 'text', type: 'string' }] });
    const fields = [
      { name: 'title', type: 'string' },
      { name: 'mine', type: 'boolean' },
      { name: 'stage', type: 'string' },
      { name: 'sort', type: 'sort', scopeKey: 'stage' },
      { name: 'parent', type: 'belongsTo', target: 'tasks' },
      { name: 'children', type: 'hasMany', target: 'tasks', foreignKey: 'parentId' },
      { name: 'tags', type: 'belongsToMany', target: 'tags' },
      { name: 'paper', type: 'hasOne', target: 'papers' },
    ];
    await make('collections:create', { name: 'tasks', fields });
    const task = { name: 'task', type: 'belongsTo', target: 'tasks', foreignKey: 'tasksId' };
    await make('fields:create', { collectionName: 'tagsTasks', ...task });
    await make('tasks:create', [
      { title: 'a', mine: true, stage: 's1' },
      { title: 'b', mine: true, stage: 's2' },
      { title: 'c', mine: false, stage: 's1' },
      { title: 'd', mine: true, stage: 's1' },
    ]);
    await make('tags:create', [{ name: 'x' }, { name: 'y' }]);
    await make('tasks/1/tags:add', [1]);
    await make('roles:create', [{ name: 'linker' }, { name: 'mover' }]);
    await make('permissions:create', [
      { role: 'linker', resource: 'tasks', actions: ['view'] },
      { role: 'linker', resource: 'tasks', actions: ['update'], filter: { mine: true } },
      { role: 'linker', resource: 'tags', actions: ['view'] },
      { role: 'mover', resource: 'tasks', actions: ['view'], fields: ['title', 'sort'] },
      { role: 'mover', resource: 'tasks', actions: ['create', 'update'], fields: ['title', 'sort'] },
      { role: 'mover', resource: 'tags', actions: ['view', 'create', 'update'] },
    ]);
    await make('users:create', { email: 'mover@example.com', password: 'correct horse', roles: ['mover'] });
    server.tokens.set('login', await server.signIn('mover@example.com', 'correct horse'));
    for (const role of ['linker', 'mover']) await server.createKey(role);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));

  test('fields may have the names of built-in object properties', async () => {
    const names = ['toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf'];
    await server.data('POST /api/collections:create', {
      body: { name: 'odd', fields: names.map((name) => ({ name, type: 'string', defaultValue: 'd' })) },
    });
    const made = await server.data('POST /api/odd:create', { body: { toString: 'mine' } });
    expect(names.map((name) => made[name])).toEqual(['mine', 'd', 'd', 'd']);
    const changed = await server.data('POST /api/odd:update?filterByTk=1', { body: { valueOf: 'v' } });
    expect(names.map((name) => changed[name])).toEqual(['mine', 'v', 'd', 'd']);
    expect(await server.data('GET /api/odd:list?filter={"toString":"mine"}&sort=-valueOf')).toHaveLength(1);
  });
});
