import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';
import { startStaff } from '../support/staff.ts';

const protectedError = { error: 'Forbidden', code: 'SYSTEM_PROTECTED' };
const detail = (name: string): unknown => ({ error: 'Validation Error', details: { [name]: expect.any(String) } });

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

describeEngines('powers over users', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startStaff(engine);
  });
  afterAll(() => server?.stop());

  test.each(powers)('$name', async (scenario) => {
    await server.play(scenario);
  });
});
