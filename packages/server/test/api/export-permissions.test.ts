import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { readCsv } from '../support/csv-parser.ts';
import { describeEngines } from '../support/engines.ts';
import { type Reply, type Scenario, TestServer } from '../support/scenario.ts';
import { readSheetValues, readWorkbook } from '../support/workbook.ts';

const definitions = [
  {
    name: 'teams',
    fields: [
      { name: 'name', type: 'string' },
      { name: 'budget', type: 'integer' },
    ],
    options: { timestamps: false },
  },
  {
    name: 'people',
    fields: [
      { name: 'name', type: 'string' },
      { name: 'salary', type: 'integer' },
      { name: 'level', type: 'integer' },
      { name: 'team', type: 'belongsTo', target: 'teams' },
      { name: 'reports', type: 'hasMany', target: 'people', foreignKey: 'leadId' },
    ],
    options: { timestamps: false },
  },
];

/** Permissions by role, each a resource with its actions and limits. */
const permissions: Readonly<Record<string, readonly object[]>> = {
  lister: [{ resource: 'people', actions: ['list', 'get'] }],
  exporter: [{ resource: 'people', actions: ['export'] }],
  clerk: [
    { resource: 'people', actions: ['list', 'get'], filter: { level: { $lt: 3 } }, exceptFields: ['salary'] },
    { resource: 'people', actions: ['export'], filter: { level: { $gt: 1 } } },
    { resource: 'teams', actions: ['get'], fields: ['name'], filter: { name: { $ne: 'Board' } } },
  ],
  auditor: [
    { resource: 'people', actions: ['list', 'get'] },
    { resource: 'people', actions: ['export'], fields: ['name', 'level'] },
  ],
  reader: [{ resource: 'people', actions: ['list', 'get', 'export'], exceptFields: ['salary'] }],
};

describeEngines('exports and permissions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:apply', { body: definitions });
    for (const [role, rows] of Object.entries(permissions)) {
      await server.data('POST /api/roles:create', { body: { name: role } });
      for (const row of rows) await server.data('POST /api/permissions:create', { body: { role, ...row } });
      await server.createKey(role);
    }
    await server.data('POST /api/teams:create', {
      body: [
        { name: 'Board', budget: 900 },
        { name: 'Sales', budget: 800 },
      ],
    });
    const salary = 77_777;
    await server.data('POST /api/people:create', {
      body: [
        { name: 'Ann', level: 1, salary, teamId: 1 },
        { name: 'Bob', level: 2, salary, teamId: 2, leadId: 1 },
        { name: 'Cy', level: 2, salary, teamId: 1, leadId: 1 },
        { name: 'Di', level: 3, salary, teamId: 2, leadId: 1 },
      ],
    });
  });
  afterAll(() => server.stop());

  const refusals: readonly Scenario[] = [
    ...['lister', 'exporter'].map(
      (as): Scenario => ({
        name: `an export needs the permissions list and export, so the ${as} is refused`,
        request: 'GET /api/people:export',
        as,
        expect: { status: 403, code: 'NO_PERMISSION', absent: ['Ann', '77777'] },
      }),
    ),
    {
      name: 'a caller without a credential is refused',
      request: 'GET /api/people:export',
      as: 'nobody',
      expect: { status: 401, code: 'TOKEN_MISSING' },
    },
    {
      name: 'a role without permissions does not learn which collections exist',
      request: 'GET /api/nothing:export',
      as: 'lister',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'a refusal of the permission precedes that of a parameter',
      request: 'GET /api/people:export?format=pdf',
      as: 'lister',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    ...['fields=salary', 'sort=salary', 'filter={"salary":1}'].map(
      (query): Scenario => ({
        name: `a field that only the permission to export leaves out cannot be used: ${query}`,
        request: `GET /api/people:export?${query}`,
        as: 'auditor',
        expect: { status: 403, code: 'FIELD_DENIED' },
      }),
    ),
    {
      name: 'a field that the permission to list leaves out cannot be exported',
      request: 'GET /api/people:export?fields=name,salary',
      as: 'clerk',
      expect: { status: 403, code: 'FIELD_DENIED' },
    },
    {
      name: 'a related record needs permissions of its own',
      request: 'GET /api/people:export?appends=team',
      as: 'reader',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'a field of a related record needs permission',
      request: 'GET /api/people:export?fields=team.budget',
      as: 'clerk',
      expect: { status: 403, code: 'FIELD_DENIED' },
    },
  ];
  for (const scenario of refusals) test(scenario.name, async () => void (await server.play(scenario)));

  test('concurrent exports are limited, and each export frees its slot, however it ends', async () => {
    const { exportSlots } = server.running.applications.main;
    const read = (query: string, method = 'GET'): Promise<Reply> =>
      server.call(`${method} /api/people:export?${query}`, { as: 'reader' });
    for (let round = 0; round < limits.exportsOfSender; round += 1) {
      expect((await read('format=csv')).status).toBe(200);
      expect((await read('format=ndjson', 'HEAD')).status).toBe(200);
      expect((await read('format=pdf')).status).toBe(400);
      expect((await read('fields=salary')).status).toBe(403);
    }
    const others = Array.from({ length: limits.exports / limits.exportsOfSender }, (_, index) => `other ${index}`);
    for (const other of others) expect(exportSlots.acquire(other, limits.exports)).toBe(limits.exportsOfSender);
    const refused = await read('format=csv');
    expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).toEqual([503, 'BUSY', '5']);
    for (const other of others) exportSlots.release(other, limits.exportsOfSender);
    expect((await read('format=csv')).status).toBe(200);
  });

  const csv = async (query: string, as: string): Promise<(string | null)[][]> => {
    const { status, text } = await server.call(`GET /api/people:export?${query}`, { as });
    expect({ status, text }).toMatchObject({ status: 200 });
    expect(text).not.toContain('77777');
    return readCsv(text);
  };

  test('the row filters and field lists of both permissions apply in every format', async () => {
    expect(await csv('sort=id', 'clerk')).toEqual([
      ['id', 'name', 'level', 'teamId', 'leadId'],
      ['2', 'Bob', '2', '2', '1'],
      ['3', 'Cy', '2', '1', '1'],
    ]);
    expect(await csv('sort=id&filter={"level":{"$ne":2}}', 'clerk')).toHaveLength(1);
    const audited = await csv('sort=id', 'auditor');
    expect([audited[0], audited.length]).toEqual([['id', 'name', 'level'], 5]);
    const listed = { id: 2, name: 'Bob', level: 2, teamId: 2, leadId: 1 };
    const json = await server.call('GET /api/people:export?format=json&sort=id', { as: 'clerk' });
    expect(json.body).toEqual([listed, { ...listed, id: 3, name: 'Cy', teamId: 1 }]);
    const lines = await server.call('GET /api/people:export?format=ndjson&sort=-id', { as: 'clerk' });
    expect(lines.text.split('\n')).toMatchObject([expect.stringContaining('"Cy"'), JSON.stringify(listed), '']);
    const file = await fetch(`${server.running.url}/api/people:export?format=xlsx&sort=id`, {
      headers: { authorization: `Bearer ${server.tokens.get('clerk')}` },
    });
    const [sheet] = readWorkbook(Buffer.from(await file.arrayBuffer()));
    expect(readSheetValues(sheet!).map((row) => row[1])).toEqual(['name', 'Bob', 'Cy']);
  });

  test('related records are shown under the permissions on their own collection', async () => {
    expect(await csv('fields=name,team.name&sort=id', 'clerk')).toEqual([
      ['name', 'team.name'],
      ['Bob', 'Sales'],
      ['Cy', null], // the role may not get this team
    ]);
    const [, bob] = await csv('fields=name,reports&sort=id&filter={"name":"Bob"}', 'reader');
    expect(bob).toEqual(['Bob', '[]']);
    const [, ann] = await csv('fields=name,reports.name&sort=id&filter={"name":"Ann"}', 'reader');
    expect(ann).toEqual(['Ann', '[{"name":"Bob"},{"name":"Cy"},{"name":"Di"}]']);
  });

  test('system collections are exported with list and export, without their secrets', async () => {
    const users = await server.call('GET /api/users:export');
    expect(users.status).toBe(200);
    expect(users.text).toContain('root@example.com');
    expect(users.text).not.toMatch(/argon|password/i);
    const keys = await server.call('GET /api/apiKeys:export?format=json');
    expect(keys.body.length).toBe(Object.keys(permissions).length);
    for (const token of server.tokens.values()) expect(keys.text).not.toContain(token);
    for (const name of ['users', 'roles', 'apiKeys'])
      expect((await server.call(`GET /api/${name}:export`, { as: 'reader' })).status).toBe(403);
  });

  test('the OpenAPI document describes an export only to roles that may use it', async () => {
    const paths = async (as: string): Promise<string[]> =>
      Object.keys((await server.call('GET /api/docs:openapi', { as })).body.paths);
    for (const role of ['clerk', 'auditor', 'reader', 'admin'])
      expect(await paths(role), role).toContain('/api/people:export');
    for (const role of ['lister', 'exporter']) expect(await paths(role), role).not.toContain('/api/people:export');
  });
});
