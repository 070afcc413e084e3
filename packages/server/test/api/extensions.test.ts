import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { installExtensions, startWithExtensions } from '../support/orders-extension.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const failed: Scenario['expect'] = {
  status: 500,
  code: 'EXTENSION_FAILED',
  absent: ['the secret of the extension'],
};
const create = (name: string, body: object, expected: Scenario['expect'], as = 'admin'): Scenario => ({
  name,
  request: 'POST /api/orders:create',
  as,
  body,
  expect: expected,
});

const scenarios: readonly Scenario[] = [
  create(
    'a hook changes the values of a create',
    { pieces: 5, note: '  wide  ' },
    { status: 200, body: { data: { id: 1, note: 'wide' } }, events: ['orders.created'] },
  ),
  create(
    'a hook refuses a create with details',
    { pieces: 101 },
    {
      status: 422,
      code: 'EXTENSION_REFUSED',
      body: {
        error: 'Validation Error',
        code: 'EXTENSION_REFUSED',
        message: 'More than 100 pieces are sold by telephone.',
        details: { pieces: 'Give at most 100.' },
      },
    },
  ),
  create('a refused record refuses all records of the create', [{ pieces: 1 }, { pieces: 101 }] as never, {
    status: 422,
    code: 'EXTENSION_REFUSED',
  }),
  create('a nested record is refused too', { pieces: 1, lines: [{ note: 'throws' }] }, failed),
  create('a hook that throws is answered with 500', { note: 'throws' }, failed),
  create('a hook that never ends is answered with 500', { note: 'hangs' }, failed),
  create('a hook that returns an invalid value is answered with 500', { note: 'nonsense' }, failed),
  create('the values that a hook returns are validated', { note: 'unknown' }, { status: 400, code: 'FIELD_UNKNOWN' }),
  create(
    'a hook receives the application, the action and the caller',
    { note: 'who' },
    { status: 200, body: { data: { note: 'main,create,,editor' } }, events: ['orders.created'] },
    'editor',
  ),
  create(
    'a role that may not write is refused before hooks are called',
    { note: 'throws' },
    { status: 403, code: 'NO_PERMISSION' },
    'viewer',
  ),
  create(
    'a field type of an extension stores its canonical form',
    { article: 'AB-123456' },
    { status: 200, body: { data: { article: 'AB-123456' } }, events: ['orders.created'] },
  ),
  create(
    'a field type of an extension refuses an invalid value',
    { article: 'x' },
    { status: 422, code: 'VALUE_INVALID', body: { details: { article: 'Give an article number such as AB-123456.' } } },
  ),
  {
    name: 'a hook refuses an update',
    request: 'POST /api/orders:update?filterByTk=1',
    body: { pieces: 1000 },
    expect: { status: 422, code: 'EXTENSION_REFUSED' },
  },
  {
    name: 'a hook changes the values of an update',
    request: 'POST /api/orders:update?filterByTk=1',
    body: { note: 'who' },
    expect: { status: 200, body: { data: { note: 'main,update,1,admin' } }, events: ['orders.updated'] },
  },
  {
    name: 'a hook refuses an update by filter',
    request: 'POST /api/orders:update?filter={"id":{"$gt":0}}',
    body: { pieces: 101 },
    expect: { status: 422, code: 'EXTENSION_REFUSED' },
  },
  {
    name: 'a hook refuses a destroy',
    request: 'POST /api/orders:destroy?filterByTk=1',
    expect: { status: 422, code: 'EXTENSION_REFUSED', body: { message: 'The first order stays.' } },
  },
  {
    name: 'hooks are called in a dry run',
    request: 'POST /api/orders:create?dryRun=true',
    body: { pieces: 101 },
    expect: { status: 422, code: 'EXTENSION_REFUSED' },
  },
  {
    name: 'a refused operation of a batch refuses the whole batch',
    request: 'POST /api/batch',
    body: {
      operations: [
        { op: 'create', resource: 'orders', values: { pieces: 1 } },
        { op: 'create', resource: 'orders', values: { pieces: 101 } },
      ],
    },
    expect: {
      status: 422,
      code: 'EXTENSION_REFUSED',
      body: { details: { 'operations[1].values.pieces': 'Give at most 100.' } },
    },
  },
  {
    name: 'a refusal is repeated under an Idempotency-Key',
    request: 'POST /api/orders:update?filterByTk=1',
    headers: { 'idempotency-key': 'refused' },
    body: { pieces: 101 },
    expect: { status: 422, code: 'EXTENSION_REFUSED' },
  },
  {
    name: 'a hook refuses a destroy in a batch after an update',
    request: 'POST /api/batch',
    body: {
      operations: [
        { op: 'update', resource: 'orders', filterByTk: 1, values: { note: ' changed ' } },
        { op: 'destroy', resource: 'orders', filterByTk: 1 },
      ],
    },
    expect: { status: 422, code: 'EXTENSION_REFUSED', body: { message: 'The first order stays.' } },
  },
  {
    name: 'a hook refuses a definition',
    request: 'POST /api/collections:create',
    body: { name: 'forbidden' },
    expect: { status: 422, code: 'EXTENSION_REFUSED', body: { message: 'This name is spoken for.' } },
  },
  {
    name: 'a hook refuses to destroy a collection with cascade',
    request: 'POST /api/collections:destroy?filterByTk=orders&cascade=true',
    expect: { status: 422, code: 'EXTENSION_REFUSED' },
  },
  {
    name: 'an extension adds an action',
    request: 'GET /api/orders:pieces',
    expect: { status: 200, body: { data: { pieces: 5 } } },
  },
  { name: 'an action that reads also accepts POST', request: 'POST /api/orders:pieces', expect: { status: 200 } },
  {
    name: 'an action is refused to a role without its grant',
    request: 'GET /api/orders:pieces',
    as: 'clerk',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'an action is refused without a credential',
    request: 'GET /api/orders:pieces',
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'an action can write records',
    request: 'POST /api/orders:book',
    body: { pieces: 2 },
    expect: { status: 200, body: { data: { pieces: 2 } }, events: ['orders.created'] },
  },
  {
    name: 'an action writes with the permissions of the caller',
    request: 'POST /api/orders:book',
    as: 'viewer',
    body: { pieces: 2 },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'records that an action writes pass the hooks',
    request: 'POST /api/orders:book',
    body: { pieces: 200 },
    expect: { status: 422, code: 'EXTENSION_REFUSED' },
  },
  {
    name: 'a dry run of an action stores nothing, and reads what it would have written',
    request: 'POST /api/orders:twice?dryRun=true',
    body: { pieces: 3 },
    expect: { status: 200, body: { data: { dryRun: true, seen: 1, second: 3 }, meta: { dryRun: true } } },
  },
  {
    name: 'a dry run of an action is refused if one of its writes is refused',
    request: 'POST /api/orders:twice?dryRun=true',
    body: { pieces: 300, swallow: true },
    expect: { status: 422, code: 'EXTENSION_REFUSED' },
  },
  {
    name: 'an invalid value of dryRun is refused',
    request: 'POST /api/orders:twice?dryRun=maybe',
    body: {},
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a dry run of an action is refused to a role without its grant',
    request: 'POST /api/orders:twice?dryRun=true',
    as: 'viewer',
    body: { pieces: 3 },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'an action that writes is refused by GET',
    request: 'GET /api/orders:book',
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
  },
  {
    name: 'a public action needs no credential',
    request: 'GET /api/weather:today?a=1',
    as: 'nobody',
    expect: { status: 200, body: { data: { sunny: true, caller: 'public', parameters: { a: '1' } } } },
  },
  {
    name: 'an action that throws is answered with 500 without its message',
    request: 'POST /api/weather:storm',
    expect: { status: 500, code: 'EXTENSION_FAILED', absent: ['lightning'] },
  },
  {
    name: 'an action can refuse with a message and details',
    request: 'POST /api/weather:refuse',
    expect: { status: 422, code: 'EXTENSION_REFUSED', body: { message: 'No.', details: { sky: 'It is grey.' } } },
  },
];

const installed = installExtensions();

describeEngines('extensions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startWithExtensions(engine, installed);
  });
  afterAll(() => server?.stop());

  test.each(scenarios)('$name', async (scenario) => {
    await server.play(scenario);
  });

  test('an action that refuses after a write is not repeated', async () => {
    const refused = await server.call('POST /api/orders:hire', { body: { name: 'hired' } });
    expect(refused).toMatchObject({ status: 422, body: { code: 'EXTENSION_REFUSED' } });
    const filter = encodeURIComponent(JSON.stringify({ name: { $like: 'hired%' } }));
    expect(await server.data(`GET /api/roles:list?filter=${filter}`)).toHaveLength(1);
  });

  test('a field of an added type is filtered, sorted and documented like text', async () => {
    expect(await server.data('GET /api/orders:list?filter={"article":{"$startsWith":"ab-"}}&fields=article')).toEqual([
      { article: 'AB-123456' },
    ]);
    const { body } = await server.call('GET /api/docs:openapi');
    expect(body.paths['/api/orders:pieces'].get.summary).toBe('How many pieces are ordered');
    expect(JSON.stringify(body.components.schemas['orders.record'])).toContain('articleNumber');
  });
});
