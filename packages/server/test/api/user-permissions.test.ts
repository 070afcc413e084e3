import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';
import { startStaffServer } from '../support/staff-server.ts';

const protectedError = { error: 'Forbidden', code: 'SYSTEM_PROTECTED' };
const detail = (name: string): unknown => ({ error: 'Validation Error', details: { [name]: expect.any(String) } });

const powers: readonly Scenario[] = [
  {
    name: 'a role that may write some fields of users cannot write roles',
    request: 'POST /api/users:update?filterByTk=4',
    as: 'selfWriter',
    body: { roles: ['editor'] },
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'a role that may write some fields of users cannot add roles by the relation',
    request: 'POST /api/users/4/roles:add',
    as: 'selfWriter',
    body: ['editor'],
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'a role that may write some fields of users can write them',
    request: 'POST /api/users:update?filterByTk=4',
    as: 'selfWriter',
    body: { nickname: 'Me' },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'the status needs a permission like other fields',
    request: 'POST /api/users:update?filterByTk=4',
    as: 'selfWriter',
    body: { status: 'suspended' },
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'a role that may not configure cannot grant a role that its user does not hold',
    request: 'POST /api/users:update?filterByTk=3',
    as: 'clerk',
    body: { roles: ['clerk', 'editor'] },
    expect: { status: 403, code: 'ROLE_NOT_HELD' },
  },
  {
    name: 'a role that may not configure cannot grant such a role in a create',
    request: 'POST /api/users:create',
    as: 'clerk',
    body: { email: 'friend@example.com', roles: ['editor'] },
    expect: { status: 403, code: 'ROLE_NOT_HELD' },
  },
  {
    name: 'a role that may not configure cannot add such a role to its own user',
    request: 'POST /api/users/3/roles:add',
    as: 'clerk',
    body: ['editor'],
    expect: { status: 403, code: 'ROLE_NOT_HELD' },
  },
  {
    name: 'a role that may not configure can grant roles that its user holds, and keeps existing ones',
    request: 'POST /api/users:update?filterByTk=5',
    as: 'clerk',
    body: { roles: ['viewer', 'clerk'] },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'a role that may not configure cannot change the password of a user who may configure',
    request: 'POST /api/users:update?filterByTk=2',
    as: 'clerk',
    body: { password: 'mine from now on' },
    expect: { status: 403, code: 'SYSTEM_PROTECTED', body: protectedError },
  },
  {
    name: 'a role that may not configure cannot change the password of an administrator',
    request: 'POST /api/users:update?filterByTk=1',
    as: 'keeper',
    body: { password: 'mine from now on' },
    expect: { status: 403, code: 'SYSTEM_PROTECTED', body: protectedError },
  },
  ...(
    [
      ['password', 'users:update?filterByTk=6', { password: 'mine from now on' }],
      ['address', 'users:update?filterByTk=6', { email: 'clerk+6@example.com' }],
      ['password together with the roles', 'users:update?filterByTk=6', { password: 'mine from now on', roles: [] }],
      ['password together with those of other users', 'users:update?filterByTk=[3,6]', { password: null }],
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
      name: `the clerk cannot set the ${what} of a user who holds a role that the clerk does not hold`,
      request: `POST /api/${path}`,
      as: 'clerk',
      body,
      expect: { status: 403, code: 'ROLE_NOT_HELD' },
    }),
  ),
  {
    name: 'the clerk cannot set them by a batch',
    request: 'POST /api/batch',
    as: 'clerk',
    body: {
      operations: [{ op: 'update', resource: 'users', filterByTk: 6, values: { password: 'mine from now on' } }],
    },
    expect: { status: 403, code: 'ROLE_NOT_HELD' },
  },
  {
    name: 'the clerk can write the other fields of that user',
    request: 'POST /api/users:update?filterByTk=6',
    as: 'clerk',
    body: { nickname: 'Six' },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'the clerk can set the own address',
    request: 'POST /api/users:update?filterByTk=3',
    as: 'clerk',
    body: { email: 'Clerk@example.com' },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'an API key acts in its one role and cannot set the password of its creator, who holds another role',
    request: 'POST /api/users:update?filterByTk=3',
    as: 'clerkKey',
    body: { password: 'mine from now on' },
    expect: { status: 403, code: 'ROLE_NOT_HELD' },
  },
  {
    name: 'a role that may configure can set the password of a user who may not configure',
    request: 'POST /api/users:update?filterByTk=6',
    as: 'keeper',
    body: { password: 'another good one' },
    expect: { status: 200, events: ['users.updated'] },
  },
  {
    name: 'a role that may configure cannot set the password of a user with another such role',
    request: 'POST /api/users:update?filterByTk=7',
    as: 'keeper',
    body: { password: 'mine from now on' },
    expect: { status: 403, code: 'ROLE_NOT_HELD' },
  },
  {
    name: 'no user can hold the role public',
    request: 'POST /api/users:create',
    body: { email: 'p@example.com', roles: ['public'] },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('roles') },
  },
  {
    name: 'an unknown role is refused with 422',
    request: 'POST /api/users:create',
    body: { email: 'p@example.com', roles: [{ name: 'nobody' }] },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('roles') },
  },
  {
    name: 'an unknown defaultRole is refused with 422',
    request: 'POST /api/users:update?filterByTk=4',
    body: { defaultRole: 'nobody' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('defaultRole') },
  },
  {
    name: 'an unknown status is refused with 422',
    request: 'POST /api/users:update?filterByTk=4',
    body: { status: 'asleep' },
    expect: { status: 422, code: 'VALUE_INVALID', body: detail('status') },
  },
  {
    name: 'a role that may configure cannot become a default role',
    request: 'POST /api/roles:update?filterByTk=keeper',
    body: { default: true },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('default') },
  },
  {
    name: 'a default role that may configure cannot be created',
    request: 'POST /api/roles:create',
    body: { name: 'both', default: true, allowConfigure: true },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('default') },
  },
  ...['admin', 'public'].map(
    (role): Scenario => ({
      name: `${role} cannot become a default role`,
      request: `POST /api/roles:update?filterByTk=${role}`,
      body: { default: true },
      expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('default') },
    }),
  ),
  {
    name: 'a relation whose cascade would delete users is refused',
    request: 'POST /api/fields:create',
    body: { collectionName: 'users', name: 'team', type: 'belongsTo', target: 'posts', onDelete: 'cascade' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('onDelete') },
  },
  {
    name: 'an inverse relation whose cascade would delete users is refused',
    request: 'POST /api/fields:create',
    body: {
      collectionName: 'posts',
      name: 'people',
      type: 'hasMany',
      target: 'users',
      foreignKey: 'teamId',
      onDelete: 'cascade',
    },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: detail('onDelete') },
  },
  ...(
    ['seven77', 'x'.repeat(1025), ' '.repeat(9), 'P@Example.com', 'the name', 12345678, 'long enough\u0000'] as const
  ).map(
    (bad): Scenario => ({
      name: `the password ${JSON.stringify(bad).slice(0, 30)} is refused with 422`,
      request: 'POST /api/users:create',
      body: { email: 'p@example.com', username: 'the name', password: bad },
      expect: { status: 422, code: 'VALUE_INVALID', body: detail('password') },
    }),
  ),
  {
    name: 'a password that equals the existing user name is refused with 422',
    request: 'POST /api/users:update?filterByTk=4',
    body: { password: 'User4@example.com' },
    expect: { status: 422, code: 'VALUE_INVALID', body: detail('password') },
  },
];

describeEngines('permissions over users', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startStaffServer(engine);
  });
  afterAll(() => server?.stop());

  test.each(powers)('$name', async (scenario) => {
    await server.play(scenario);
  });
});
