import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const explain = (query: string): string => `GET /api/permissions:explain?${query}`;
const says = (allowed: boolean, id: number | null, reason: string): Scenario['expect'] => ({
  status: 200,
  body: { data: { allowed, permission: id === null ? null : { id }, reason: expect.stringContaining(reason) } },
});
let rows: Record<string, number> = {};

/** The expected replies are functions, because the rows are only created before the first test. */
const answers: readonly [name: string, query: string, () => Scenario['expect']][] = [
  [
    'the permission of the role is named',
    'role=reader&resource=posts&action=list',
    () => says(true, rows['list']!, 'decides: it names list on posts'),
  ],
  [
    'a row filter is shown',
    'role=reader&resource=posts&action=list',
    () => says(true, rows['list']!, 'row filter narrows'),
  ],
  [
    'a record that the row filter admits is allowed',
    'role=reader&resource=posts&action=list&filterByTk=1',
    () => says(true, rows['list']!, 'its filter matches record 1'),
  ],
  [
    'a record that the row filter does not admit is denied',
    'role=reader&resource=posts&action=list&filterByTk=2',
    () => says(false, rows['list']!, 'its filter does not match record 2'),
  ],
  [
    'each action has its own permission',
    'role=reader&resource=posts&action=update&filterByTk=2',
    () => says(true, rows['update']!, 'no row filter'),
  ],
  [
    'a row filter that refers to the user is explained without a user',
    'role=reader&resource=posts&action=destroy&filterByTk=1',
    () => says(false, rows['destroy']!, 'name a user by user='),
  ],
  [
    'a row filter that refers to the user is explained for a given user',
    'role=reader&resource=posts&action=destroy&filterByTk=1&user=1',
    () => says(true, rows['destroy']!, 'matches record 1'),
  ],
  [
    'an action without a permission is denied',
    'role=reader&resource=posts&action=export',
    () => says(false, null, 'No permission of "reader" or of "public" is for export on posts'),
  ],
  [
    'a public action is allowed',
    'role=reader&resource=notices&action=list',
    () => says(true, rows['public']!, 'of "public"'),
  ],
  [
    'the wildcard',
    'role=viewer&resource=posts&action=get&filterByTk=2',
    () => says(true, expect.any(Number) as never, 'all collections that users defined'),
  ],
  [
    'a wildcard permission does not include system collections',
    'role=viewer&resource=users&action=list',
    () => says(false, null, 'No permission'),
  ],
  ['admin', 'role=admin&resource=posts&action=destroy&filterByTk=1', () => says(true, null, 'admin may do everything')],
  [
    'a role that may configure is allowed to change definitions',
    'role=keeper&resource=users&action=list',
    () => says(true, null, 'may configure'),
  ],
  [
    'a role that may configure has no permission on records',
    'role=keeper&resource=posts&action=list',
    () => says(false, null, 'No permission'),
  ],
  [
    'definitions',
    'role=developer&resource=collections&action=create',
    () => says(true, expect.any(Number) as never, 'names create on collections'),
  ],
];

const refusals: readonly Scenario[] = [
  {
    name: 'an unknown role is refused with 400',
    request: explain('role=x&resource=posts&action=list'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'an unknown resource is refused with 400',
    request: explain('role=reader&resource=x&action=list'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'an unknown action is refused with 400',
    request: explain('role=reader&resource=posts&action=x'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a missing parameter is refused with 400',
    request: explain('role=reader&resource=posts'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'an unknown parameter is refused with 400',
    request: explain('role=reader&resource=posts&action=list&of=1'),
    expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
  },
  {
    name: 'an unknown user is refused with 400',
    request: explain('role=reader&resource=posts&action=list&user=99'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'an unknown record is refused with 404',
    request: explain('role=reader&resource=posts&action=list&filterByTk=99'),
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a record is refused for create',
    request: explain('role=reader&resource=posts&action=create&filterByTk=1'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a record is refused for definitions',
    request: explain('role=developer&resource=collections&action=get&filterByTk=1'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a role that may not configure is refused with 403',
    request: explain('role=reader&resource=posts&action=list'),
    as: 'reader',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'a request without a credential is refused with 401',
    request: explain('role=reader&resource=posts&action=list'),
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'a role that may configure learns nothing about a record that it cannot see',
    request: explain('role=reader&resource=posts&action=list&filterByTk=1'),
    as: 'keeper',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
];

describeEngines('permissions:explain', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    rows = {};
    for (const name of ['posts', 'notices']) {
      const fields = [
        { name: 'published', type: 'boolean' },
        { name: 'ownerId', type: 'integer' },
      ];
      await server.data('POST /api/collections:create', { body: { name, fields } });
    }
    const posts = [
      { published: true, ownerId: 1 },
      { published: false, ownerId: 1 },
    ];
    await server.data('POST /api/posts:create', { body: posts });
    await server.data('POST /api/roles:create', {
      body: [{ name: 'reader' }, { name: 'keeper', allowConfigure: true }],
    });
    const permit = async (name: string, body: object): Promise<void> => {
      const made = await server.data('POST /api/permissions:create', {
        body: { role: 'reader', resource: 'posts', ...body },
      });
      rows[name] = made.id;
    };
    await permit('list', { actions: 'list', filter: { published: true }, fields: ['published'] });
    await permit('update', { actions: 'update' });
    await permit('destroy', { actions: 'destroy', filter: { ownerId: '{{$user.id}}' } });
    await permit('public', { role: 'public', resource: 'notices', actions: 'list' });
    for (const role of ['reader', 'keeper']) await server.createKey(role);
  });
  afterAll(() => server.stop());

  for (const [name, query, expected] of answers)
    test(name, async () => {
      await server.play({ name, request: explain(query), expect: expected() });
    });
  for (const scenario of refusals) test(scenario.name, () => server.play(scenario));

  test('the record is shown as get shows it', async () => {
    const { permission } = await server.data(explain('role=reader&resource=posts&action=list'));
    expect(permission).toEqual(await server.data(`GET /api/permissions:get?filterByTk=${rows['list']}`));
  });

  test('the explanation agrees with the actual permission', async () => {
    for (const action of ['list', 'get', 'update', 'destroy'])
      for (const tk of [1, 2]) {
        const query = `role=reader&resource=posts&action=${action}&filterByTk=${tk}&user=1`;
        const { allowed } = await server.data(explain(query));
        const [method, body] = action === 'list' || action === 'get' ? ['GET', undefined] : ['POST', {}];
        const path = `${method} /api/posts:${action}?filterByTk=${tk}${method === 'POST' ? '&dryRun=true' : ''}`;
        if (action === 'list') continue;
        expect([query, (await server.call(path, { as: 'reader', body })).status === 200]).toEqual([query, allowed]);
      }
  });
});
