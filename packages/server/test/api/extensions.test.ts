import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { installExtensions, startWithExtensions } from '../support/extension-orders.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const failed = { status: 500, body: { code: 'EXTENSION_FAILED' }, absent: ['the secret of the extension'] };
const create = (name: string, body: object, expected: Scenario['expect'], as = 'admin'): Scenario => ({
  name,
  request: 'POST /api/orders:create',
  as,
  body,
  expect: expected,
});

const scenarios: readonly Scenario[] = [
  create(
    'a hook changes values',
    { pieces: 5, note: '  wide  ' },
    { status: 200, body: { data: { id: 1, note: 'wide' } }, events: ['orders.created'] },
  ),
  create(
    'a hook refuses, with details',
    { pieces: 101 },
    {
      status: 422,
      body: {
        error: 'Validation Error',
        code: 'EXTENSION_REFUSED',
        message: 'More than 100 pieces are sold by telephone.',
        details: { pieces: 'Give at most 100.' },
      },
    },
  ),
  create('one of many refused is all refused', [{ pieces: 1 }, { pieces: 101 }] as never, { status: 422 }),
  create('a nested one too', { pieces: 1, lines: [{ note: 'throws' }] }, failed),
  create('a hook that throws', { note: 'throws' }, failed),
  create('a hook that never ends', { note: 'hangs' }, failed),
  create('a hook that returns nonsense', { note: 'nonsense' }, failed),
  create('what a hook returns is checked', { note: 'unknown' }, { status: 400, body: { code: 'FIELD_UNKNOWN' } }),
  create(
    'a hook knows who asks',
    { note: 'who' },
    { status: 200, body: { data: { note: 'main,create,,editor' } }, events: ['orders.created'] },
    'editor',
  ),
  create('who may not write is refused before any hook', { note: 'throws' }, { status: 403 }, 'viewer'),
  create(
    'a type of an extension',
    { article: 'AB-123456' },
    { status: 200, body: { data: { article: 'AB-123456' } }, events: ['orders.created'] },
  ),
  create(
    'and another form of it',
    { article: 'x' },
    { status: 422, body: { details: { article: 'Give an article number such as AB-123456.' } } },
  ),
  {
    name: 'an update refused',
    request: 'POST /api/orders:update?filterByTk=1',
    body: { pieces: 1000 },
    expect: { status: 422, body: { code: 'EXTENSION_REFUSED' } },
  },
  {
    name: 'an update changed',
    request: 'POST /api/orders:update?filterByTk=1',
    body: { note: 'who' },
    expect: { status: 200, body: { data: { note: 'main,update,1,admin' } }, events: ['orders.updated'] },
  },
  {
    name: 'an update by filter',
    request: 'POST /api/orders:update?filter={"id":{"$gt":0}}',
    body: { pieces: 101 },
    expect: { status: 422 },
  },
  {
    name: 'a destroy refused',
    request: 'POST /api/orders:destroy?filterByTk=1',
    expect: { status: 422, body: { message: 'The first order stays.' } },
  },
  {
    name: 'a trial is asked too',
    request: 'POST /api/orders:create?dryRun=true',
    body: { pieces: 101 },
    expect: { status: 422 },
  },
  {
    name: 'one of a batch refused is all refused',
    request: 'POST /api/batch',
    body: {
      operations: [
        { op: 'create', resource: 'orders', values: { pieces: 1 } },
        { op: 'create', resource: 'orders', values: { pieces: 101 } },
      ],
    },
    expect: {
      status: 422,
      body: { code: 'EXTENSION_REFUSED', details: { 'operations[1].values.pieces': 'Give at most 100.' } },
    },
  },
  {
    name: 'also under a key',
    request: 'POST /api/orders:update?filterByTk=1',
    headers: { 'idempotency-key': 'refused' },
    body: { pieces: 101 },
    expect: { status: 422, body: { code: 'EXTENSION_REFUSED' } },
  },
  {
    name: 'an update and a destroy of a batch',
    request: 'POST /api/batch',
    body: {
      operations: [
        { op: 'update', resource: 'orders', filterByTk: 1, values: { note: ' changed ' } },
        { op: 'destroy', resource: 'orders', filterByTk: 1 },
      ],
    },
    expect: { status: 422, body: { message: 'The first order stays.' } },
  },
  {
    name: 'a definition refused',
    request: 'POST /api/collections:create',
    body: { name: 'forbidden' },
    expect: { status: 422, body: { message: 'This name is spoken for.' } },
  },
  {
    name: 'a definition that would be dropped',
    request: 'POST /api/collections:destroy?filterByTk=orders&cascade=true',
    expect: { status: 422 },
  },
  {
    name: 'an action of an extension',
    request: 'GET /api/orders:pieces',
    expect: { status: 200, body: { data: { pieces: 5 } } },
  },
  { name: 'by POST too', request: 'POST /api/orders:pieces', expect: { status: 200 } },
  { name: 'not for who lacks its grant', request: 'GET /api/orders:pieces', as: 'clerk', expect: { status: 403 } },
  { name: 'nor without a credential', request: 'GET /api/orders:pieces', as: 'nobody', expect: { status: 401 } },
  {
    name: 'an action that writes',
    request: 'POST /api/orders:book',
    body: { pieces: 2 },
    expect: { status: 200, body: { data: { pieces: 2 } }, events: ['orders.created'] },
  },
  {
    name: 'as the caller may',
    request: 'POST /api/orders:book',
    as: 'viewer',
    body: { pieces: 2 },
    expect: { status: 403 },
  },
  {
    name: 'under the hooks',
    request: 'POST /api/orders:book',
    body: { pieces: 200 },
    expect: { status: 422, body: { code: 'EXTENSION_REFUSED' } },
  },
  {
    name: 'a trial of it writes nothing, and sees what it would have written',
    request: 'POST /api/orders:twice?dryRun=true',
    body: { pieces: 3 },
    expect: { status: 200, body: { data: { dryRun: true, seen: 1, second: 3 }, meta: { dryRun: true } } },
  },
  {
    name: 'a trial in which something is refused is refused',
    request: 'POST /api/orders:twice?dryRun=true',
    body: { pieces: 300, swallow: true },
    expect: { status: 422, body: { code: 'EXTENSION_REFUSED' } },
  },
  {
    name: 'a trial that is none',
    request: 'POST /api/orders:twice?dryRun=maybe',
    body: {},
    expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
  },
  {
    name: 'not tried by who may not',
    request: 'POST /api/orders:twice?dryRun=true',
    as: 'viewer',
    body: { pieces: 3 },
    expect: { status: 403 },
  },
  { name: 'a write is not answered to GET', request: 'GET /api/orders:book', expect: { status: 405 } },
  {
    name: 'a public action',
    request: 'GET /api/weather:today?a=1',
    as: 'nobody',
    expect: { status: 200, body: { data: { sunny: true, caller: 'public', parameters: { a: '1' } } } },
  },
  {
    name: 'an action that fails',
    request: 'POST /api/weather:storm',
    expect: { status: 500, body: { code: 'EXTENSION_FAILED' }, absent: ['lightning'] },
  },
  {
    name: 'an action that refuses',
    request: 'POST /api/weather:refuse',
    expect: { status: 422, body: { message: 'No.', details: { sky: 'It is grey.' } } },
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

  test('an action that is refused after it has written is not run again', async () => {
    const refused = await server.call('POST /api/orders:hire', { body: { name: 'hired' } });
    expect(refused).toMatchObject({ status: 422, body: { code: 'EXTENSION_REFUSED' } });
    const filter = encodeURIComponent(JSON.stringify({ name: { $like: 'hired%' } }));
    expect(await server.data(`GET /api/roles:list?filter=${filter}`)).toHaveLength(1);
  });

  test('a field of an added type is filtered, sorted and documented as text', async () => {
    expect(await server.data('GET /api/orders:list?filter={"article":{"$startsWith":"ab-"}}&fields=article')).toEqual([
      { article: 'AB-123456' },
    ]);
    const { body } = await server.call('GET /api/docs:openapi');
    expect(body.paths['/api/orders:pieces'].get.summary).toBe('How many pieces are ordered');
    expect(JSON.stringify(body.components.schemas['orders.record'])).toContain('articleNumber');
  });
});
