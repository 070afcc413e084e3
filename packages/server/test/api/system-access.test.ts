import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startNewsroomServer } from '../support/newsroom-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const noPermission = { error: 'No permissions', code: 'NO_PERMISSION' };
const fieldDenied = { error: 'Forbidden', code: 'FIELD_DENIED' };
const unauthorized = { error: 'Unauthorized', message: expect.stringContaining('invalid or missing token') };

/** The reader sees published posts without their secret, and may change the title of published ones. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a role without the permission cannot list collections',
    request: 'GET /api/collections:list',
    as: 'reader',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a viewer cannot define collections',
    request: 'POST /api/collections:create',
    as: 'viewer',
    body: { name: 'x' },
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a viewer cannot create API keys',
    request: 'POST /api/apiKeys:create',
    as: 'viewer',
    body: { role: { name: 'viewer' } },
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a viewer cannot revoke API keys',
    request: 'POST /api/apiKeys:destroy?filterByTk=1',
    as: 'viewer',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a viewer does not see users through a wildcard permission',
    request: 'GET /api/users:list',
    as: 'viewer',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a password is refused with 403 wherever it is named, also for an administrator',
    request: 'GET /api/users:list?filter={"password":{"$notNull":true}}',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'a password is never shown',
    request: 'GET /api/users:list',
    expect: { status: 200, absent: ['argon2', 'password'] },
  },
  {
    name: 'the hash of a token cannot be named',
    request: 'GET /api/apiKeys:list?fields=tokenHash',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'lists of API keys contain no token',
    request: 'GET /api/apiKeys:list',
    expect: { status: 200, absent: ['tbk_', 'tokenHash', 'creatorId'] },
  },
  {
    name: 'an unknown role is refused with 422',
    request: 'POST /api/apiKeys:create',
    body: { role: { name: 'nobody' } },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { role: expect.any(String) } } },
  },
  {
    name: 'an invalid expiresIn is refused with 422',
    request: 'POST /api/apiKeys:create',
    body: { role: { name: 'viewer' }, expiresIn: '5 days' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { expiresIn: expect.any(String) } } },
  },
  {
    name: 'two permissions for one action are refused with 409',
    request: 'POST /api/permissions:create',
    body: { role: 'reader', resource: 'posts', actions: 'list' },
    expect: { status: 409, code: 'PERMISSION_EXISTS' },
  },
  {
    name: 'a permission on an unknown resource is refused with 422',
    request: 'POST /api/permissions:create',
    body: { role: 'reader', resource: 'nothing', actions: 'list' },
    expect: { status: 422, code: 'DEFINITION_INVALID' },
  },
  {
    name: 'an unknown variable is refused with 422',
    request: 'POST /api/permissions:create',
    body: { role: 'viewer', resource: 'posts', actions: 'list', filter: { title: '{{$secret}}' } },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { filter: expect.any(String) } } },
  },
  {
    name: 'the permissions of a role cannot be written as nested values',
    request: 'POST /api/roles:update?filterByTk=reader',
    body: { permissions: [] },
    expect: {
      status: 400,
      code: 'BODY_INVALID',
      body: { message: expect.stringContaining('the records of permissions instead') },
    },
  },
  {
    name: 'a built-in role cannot be destroyed',
    request: 'POST /api/roles:destroy?filterByTk=editor',
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'a role that an API key has cannot be destroyed',
    request: 'POST /api/roles:destroy?filterByTk=reader',
    expect: { status: 409, code: 'DEPENDANTS_EXIST' },
  },
  {
    name: 'the last administrator cannot be destroyed',
    request: 'POST /api/users:destroy?filterByTk=1',
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'the last administrator cannot be suspended',
    request: 'POST /api/users:update?filterByTk=1',
    body: { status: 'suspended' },
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'a system collection cannot be destroyed',
    request: 'POST /api/collections:destroy?filterByTk=users',
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'a wrong password is refused with 401',
    request: 'POST /api/auth:signIn',
    as: 'nobody',
    body: { email: 'root@example.com', password: 'wrong' },
    expect: { status: 401, code: 'SIGN_IN_FAILED', body: unauthorized },
  },
  {
    name: 'an unknown user is refused with the same 401',
    request: 'POST /api/auth:signIn',
    as: 'nobody',
    body: { email: 'who@example.com', password: 'wrong' },
    expect: { status: 401, code: 'SIGN_IN_FAILED', body: unauthorized },
  },
];

describeEngines('access to system collections', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startNewsroomServer(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
