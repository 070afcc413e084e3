import { afterAll, beforeAll, expect, test } from 'vitest';
import { batch, order, startBatchServer } from '../support/batch-server.ts';
import { describeEngines } from '../support/engines.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const refused = (
  name: string,
  operations: readonly object[],
  expected: Scenario['expect'],
  as = 'clerk',
): Scenario => ({
  name,
  as,
  ...batch(...operations),
  expect: expected,
});
const refusals: readonly Scenario[] = [
  refused(
    'a batch without a credential is refused with 401',
    [order],
    { status: 401, code: 'TOKEN_MISSING' },
    'nobody',
  ),
  refused('a batch without operations is refused with 400', [], { status: 400, code: 'BODY_INVALID' }, 'admin'),
  refused('an unknown op is refused with 400', [{ op: 'move', resource: 'orders' }], {
    status: 400,
    code: 'BODY_INVALID',
    body: { details: { 'operations[0]': expect.stringContaining('"op"') } },
  }),
  refused(
    'an unknown member of an operation is refused with 400 and named',
    [order, { op: 'list', resource: 'orders', sort: 'no' }],
    {
      status: 400,
      code: 'BODY_INVALID',
      body: { details: { 'operations[1]': expect.stringContaining('"sort"') } },
    },
  ),
  {
    name: 'an unknown member of a batch is refused with 400',
    request: 'POST /api/batch',
    body: { operations: [order], mode: 1 },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  refused(
    'more than 200 operations are refused with 400',
    Array.from({ length: 201 }, () => ({ op: 'list', resource: 'orders' })),
    { status: 400, code: 'LIMIT_EXCEEDED' },
  ),
  refused('a relation without "of" is refused with 400', [{ op: 'add', resource: 'orders', relation: 'tags' }], {
    status: 400,
    code: 'BODY_INVALID',
  }),
  refused('add without a relation is refused with 400', [{ op: 'add', resource: 'orders', values: [1] }], {
    status: 400,
    code: 'BODY_INVALID',
  }),
  refused('a duplicate name is refused with 400', [order, { ...order, values: { no: 51 } }], {
    status: 400,
    code: 'BODY_INVALID',
  }),
  refused(
    'a reference to a later operation is refused with 400',
    [{ op: 'create', resource: 'items', values: { name: 'x', orderId: '$order.id' } }, order],
    {
      status: 400,
      code: 'BODY_INVALID',
      body: { details: { 'operations[0]': expect.stringContaining('$order.id') } },
    },
  ),
  refused(
    'a reference to an unknown name is refused with 400',
    [{ ...order, values: { no: 50, note: '$nobody.id' } }],
    {
      status: 400,
      code: 'BODY_INVALID',
    },
  ),
  refused(
    'a text that begins with one $ is refused with 400, and the message names $$',
    [{ ...order, values: { no: 50, note: '$5' } }],
    {
      status: 400,
      code: 'BODY_INVALID',
      body: { message: expect.stringContaining('$$') },
    },
  ),
  refused(
    'a refused operation rolls back the one before it',
    [order, { op: 'create', resource: 'items', values: {} }, { op: 'list', resource: 'orders' }],
    {
      status: 422,
      code: 'VALUE_INVALID',
    },
  ),
  refused(
    'an invalid value is refused with 422 and its error path',
    [order, { op: 'create', resource: 'items', values: { name: null } }],
    {
      status: 422,
      code: 'VALUE_INVALID',
      body: { details: { 'operations[1]': expect.any(String), 'operations[1].values.name': expect.any(String) } },
    },
  ),
  refused(
    'problems of several records have error paths below the operation',
    [{ op: 'create', resource: 'items', values: [{ name: 'a' }, {}] }],
    {
      status: 422,
      code: 'VALUE_INVALID',
      body: { details: { 'operations[0].values[1].name': expect.any(String) } },
    },
  ),
  refused('a duplicate of a unique value is refused with 409', [{ ...order, values: { no: 1 } }], {
    status: 409,
    code: 'UNIQUE_CONFLICT',
  }),
  refused(
    'an action that is not granted is refused with 403',
    [order, { op: 'destroy', resource: 'orders', filterByTk: 1 }],
    {
      status: 403,
      code: 'NO_PERMISSION',
      body: { error: 'No permissions', details: { 'operations[1]': expect.any(String) } },
    },
  ),
  refused('a denied field is refused with 403', [{ ...order, values: { no: 50, cost: 1 } }], {
    status: 403,
    code: 'FIELD_DENIED',
  }),
  refused('a denied field in a filter is refused with 403', [{ op: 'list', resource: 'orders', filter: { cost: 1 } }], {
    status: 403,
    code: 'FIELD_DENIED',
  }),
  refused(
    'a record outside the row filter is refused with 403',
    [{ op: 'update', resource: 'orders', filterByTk: 2, values: { note: 'x' } }],
    {
      status: 403,
      code: 'NO_PERMISSION',
    },
  ),
  refused(
    'a record created in the batch must also satisfy the row filter',
    [
      { ...order, values: { no: 500 } },
      { op: 'update', resource: 'orders', filterByTk: '$order.id', values: { note: 'x' } },
    ],
    { status: 403, code: 'NO_PERMISSION' },
  ),
  refused(
    'a member that get does not show cannot be referred to',
    [
      { op: 'get', resource: 'orders', filterByTk: 1, as: 'seen' },
      { op: 'create', resource: 'items', values: { name: '$seen.cost' } },
    ],
    { status: 400, code: 'BODY_INVALID', absent: ['777'] },
  ),
  refused('an existing collection without a grant is refused with 403', [{ op: 'list', resource: 'secrets' }], {
    status: 403,
    code: 'NO_PERMISSION',
  }),
  refused('a missing collection without a grant is refused with the same 403', [{ op: 'list', resource: 'nothing' }], {
    status: 403,
    code: 'NO_PERMISSION',
  }),
  refused(
    'a role without the permission cannot create a role by a batch',
    [{ op: 'create', resource: 'roles', values: { name: 'x', title: 'x' } }],
    {
      status: 403,
      code: 'NO_PERMISSION',
    },
  ),
  refused(
    'a role without the permission cannot create a permission by a batch',
    [
      { op: 'create', resource: 'permissions', values: { role: 'clerk', resource: '*', actions: ['*'] } },
      { op: 'list', resource: 'secrets' },
    ],
    { status: 403, code: 'NO_PERMISSION' },
  ),
  refused(
    'an API key cannot be created by a batch',
    [{ op: 'create', resource: 'apiKeys', values: { role: { name: 'admin' } } }],
    { status: 400, code: 'BODY_INVALID' },
  ),
  refused(
    'an administrator cannot create an API key by a batch',
    [{ op: 'create', resource: 'apiKeys', values: { role: { name: 'admin' } } }],
    {
      status: 400,
      code: 'BODY_INVALID',
      absent: ['tbk_'],
    },
    'admin',
  ),
  refused(
    'a collection cannot be defined by a batch',
    [{ op: 'create', resource: 'collections', values: { name: 'x' } }],
    { status: 400, code: 'BODY_INVALID' },
    'admin',
  ),
  refused(
    'the last administrator cannot be destroyed by a batch',
    [{ op: 'destroy', resource: 'users', filterByTk: 1 }],
    { status: 403, code: 'SYSTEM_PROTECTED' },
    'admin',
  ),
  refused(
    'a password cannot be named in a filter',
    [{ op: 'list', resource: 'users', filter: { password: 'x' } }],
    { status: 403, code: 'FIELD_DENIED' },
    'admin',
  ),
  refused(
    'a password of an earlier operation cannot be referred to',
    [
      { ...order, values: { no: 50, note: 'a long password' } },
      { op: 'create', resource: 'vaults', values: { code: '$order.note' } },
    ],
    { status: 400, code: 'BODY_INVALID', body: { details: { 'operations[1]': expect.stringContaining('password') } } },
    'admin',
  ),
  refused(
    'a record with a password cannot be referred to as a whole',
    [
      { ...order, values: { no: 50, data: [{ code: 'a long password' }] } },
      { op: 'create', resource: 'vaults', values: '$order.data' },
    ],
    { status: 400, code: 'BODY_INVALID' },
    'admin',
  ),
  refused(
    'an outdated ifMatch is refused with 412',
    [{ op: 'update', resource: 'orders', filterByTk: 1, ifMatch: '"9.x"', values: { note: 'x' } }],
    {
      status: 412,
      code: 'VERSION_STALE',
    },
  ),
  {
    name: 'a batch by GET is refused with 405',
    request: 'GET /api/batch',
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
  },
  {
    name: 'an unknown parameter is refused with 400',
    ...batch(order),
    request: 'POST /api/batch?mode=x',
    expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
  },
];

describeEngines('refusals of a batch', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startBatchServer(engine);
  });
  afterAll(() => server.stop());

  for (const scenario of refusals) test(scenario.name, async () => void (await server.play(scenario)));
});
