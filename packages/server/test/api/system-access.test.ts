import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { newsroom } from '../support/newsroom.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const noPermission = { error: 'No permissions', code: 'NO_PERMISSION' };
const fieldDenied = { error: 'Forbidden', code: 'FIELD_DENIED' };
const unauthorized = { error: 'Unauthorized', message: expect.stringContaining('invalid or missing token') };

/** The reader sees published posts without their secret, and may change the title of published ones. */
const scenarios: readonly Scenario[] = [
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
    name: 'permissions of a role are records of their own',
    request: 'POST /api/roles:update?filterByTk=reader',
    body: { permissions: [] },
    expect: { status: 400, body: { message: expect.stringContaining('the records of permissions instead') } },
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

describeEngines('access to system collections', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await newsroom(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
