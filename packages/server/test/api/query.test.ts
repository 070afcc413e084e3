import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/protocol/error-catalogue.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const definitions = [
  { name: 'shops', fields: [{ name: 'city', type: 'string' }] },
  {
    name: 'sales',
    fields: [
      { name: 'shop', type: 'belongsTo', target: 'shops' },
      { name: 'kind', type: 'string' },
      { name: 'pieces', type: 'integer' },
      { name: 'big', type: 'bigInt' },
      { name: 'weight', type: 'double' },
      { name: 'price', type: 'decimal', precision: 10, scale: 2 },
      { name: 'paid', type: 'boolean' },
      { name: 'at', type: 'datetime' },
      { name: 'day', type: 'date' },
      { name: 'extra', type: 'json' },
      { name: 'labels', type: 'array' },
      { name: 'colours', type: 'select', multiple: true, enum: ['red', 'blue'] },
      { name: 'tags', type: 'belongsToMany', target: 'shops', through: 'salesTags' },
    ],
    options: { paranoid: true },
  },
];
const sales = [
  {
    shopId: 1,
    kind: 'a',
    labels: ['new', 'Straße "1"', 7, null, 'new'],
    colours: ['red', 'blue'],
    pieces: 2,
    big: '9007199254740993',
    weight: 0.5,
    price: '1.10',
    paid: true,
    at: '2026-01-01T00:30:00Z',
    day: '2026-01-01',
  },
  {
    shopId: 1,
    kind: 'b',
    labels: ['new'],
    pieces: 3,
    big: 5,
    weight: 1.5,
    price: '2.20',
    paid: true,
    at: '2025-12-31T23:30:00Z',
    day: '2025-12-31',
  },
  {
    shopId: 2,
    kind: 'a',
    pieces: 5,
    big: 7,
    weight: 2,
    price: '3.30',
    paid: false,
    at: '2026-04-02T12:00:00Z',
    day: '2026-04-02',
  },
  { shopId: null, kind: null, pieces: null, big: null, weight: null, price: null, paid: null, at: null, day: null },
  { shopId: 2, kind: 'trash', pieces: 1000, price: '99.99', labels: ['new'] },
];

const ask = (query: object, data: unknown, more: Partial<Scenario> = {}): Scenario => ({
  name: JSON.stringify(query),
  request: 'POST /api/sales:query',
  body: query,
  expect: { status: 200, body: { data } },
  ...more,
});
const refused = (query: object, code: ErrorCode): Scenario => ({
  name: `${JSON.stringify(query)} is refused with 400`,
  request: 'POST /api/sales:query',
  body: query,
  expect: { status: 400, code },
});
const count = { aggregation: 'count' };

const scenarios: readonly Scenario[] = [
  ask({ measures: [count] }, [{ count: 4 }]),
  ask({ measures: [{ field: '*', aggregation: 'count', alias: 'n' }] }, [{ n: 4 }]),
  ask({ measures: [{ field: 'kind', aggregation: 'count' }] }, [{ count_kind: 3 }]),
  ask({ measures: [{ field: 'kind', aggregation: 'count', distinct: true, alias: 'kinds' }] }, [{ kinds: 2 }]),
  ask({ measures: [{ field: 'pieces', aggregation: 'sum' }] }, [{ sum_pieces: 10 }]),
  ask({ measures: [{ field: 'big', aggregation: 'sum', alias: 's' }] }, [{ s: '9007199254741005' }]),
  ask({ measures: [{ field: 'price', aggregation: 'sum', alias: 's' }] }, [{ s: '6.60' }]),
  ask({ measures: [{ field: 'weight', aggregation: 'sum', alias: 's' }] }, [{ s: 4 }]),
  ask({ measures: [{ field: 'weight', aggregation: 'avg', alias: 's' }] }, [{ s: 4 / 3 }]),
  ask({ measures: [{ field: 'pieces', aggregation: 'avg', alias: 's' }], filter: { kind: 'a' } }, [{ s: 3.5 }]),
  ask({ measures: [{ field: 'price', aggregation: 'avg', alias: 's' }], filter: { kind: 'a' } }, [{ s: 2.2 }]),
  ask({ measures: [{ field: 'price', aggregation: 'max', alias: 's' }] }, [{ s: '3.30' }]),
  ask({ measures: [{ field: 'kind', aggregation: 'min', alias: 's' }] }, [{ s: 'a' }]),
  ask({ measures: [{ field: 'at', aggregation: 'max', alias: 's' }] }, [{ s: '2026-04-02T12:00:00.000Z' }]),
  ask({ measures: [{ field: 'day', aggregation: 'min', alias: 's' }] }, [{ s: '2025-12-31' }]),
  ask({ measures: [count, { field: 'pieces', aggregation: 'sum' }], filter: { kind: 'nothing' } }, [
    { count: 0, sum_pieces: null },
  ]),
  ask({ dimensions: ['labels'], measures: [count, { field: 'pieces', aggregation: 'sum', alias: 'pieces' }] }, [
    { labels: 'Straße "1"', count: 1, pieces: 2 },
    { labels: 'new', count: 2, pieces: 5 },
    { labels: null, count: 2, pieces: 5 },
  ]),
  ask({ dimensions: ['kind', 'colours'], measures: [count], filter: { colours: { $anyOf: ['red'] } } }, [
    { kind: 'a', colours: 'blue', count: 1 },
    { kind: 'a', colours: 'red', count: 1 },
  ]),
  ask(
    {
      dimensions: ['labels'],
      measures: [count],
      having: { count: { $gt: 1 } },
      orders: [{ alias: 'labels', order: 'desc' }],
      limit: 1,
    },
    [{ labels: 'new', count: 2 }],
  ),
  refused({ dimensions: ['labels', 'colours'] }, 'PARAMETER_INVALID'),
  refused({ dimensions: [{ field: 'labels', format: 'YYYY' }] }, 'OPERATOR_MISFIT'),
  refused({ dimensions: ['extra'] }, 'SORT_INVALID'),
  ask({ dimensions: [{ field: 'kind' }], measures: [count] }, [
    { kind: 'a', count: 2 },
    { kind: 'b', count: 1 },
    { kind: null, count: 1 },
  ]),
  ask({ dimensions: ['kind'], measures: [count], orders: [{ field: 'kind', order: 'desc' }] }, [
    { kind: 'b' },
    { kind: 'a' },
    { kind: null },
  ]),
  ask({ dimensions: ['paid'], measures: [count], orders: [{ alias: 'count', order: 'desc' }] }, [
    { paid: true, count: 2 },
    { paid: false, count: 1 },
    { paid: null, count: 1 },
  ]),
  ask(
    {
      dimensions: [{ field: 'shop.city', alias: 'city' }],
      measures: [{ field: 'pieces', aggregation: 'sum', alias: 'n' }],
    },
    [
      { city: 'Bonn', n: 5 },
      { city: 'Rome', n: 5 },
      { city: null, n: null },
    ],
  ),
  ask({ dimensions: [{ field: ['shop', 'city'] }], measures: [count], having: { count: { $gte: 2 } } }, [
    { 'shop.city': 'Rome', count: 2 },
  ]),
  ask(
    {
      dimensions: ['kind'],
      measures: [{ field: 'price', aggregation: 'sum', alias: 'total' }],
      having: { total: { $gt: '2.20' } },
    },
    [{ kind: 'a', total: '4.40' }],
  ),
  ask({ dimensions: ['kind'], measures: [count], having: { $or: [{ kind: 'b' }, { kind: null }] } }, [
    { kind: 'b' },
    { kind: null },
  ]),
  ask({ dimensions: ['kind'], limit: 1 }, [{ kind: 'a' }]),
  ask({ dimensions: ['kind'], limit: 1, offset: 1 }, [{ kind: 'b' }]),
  ask({ dimensions: ['kind'], filter: { 'shop.city': 'Rome' } }, [{ kind: 'a' }, { kind: 'b' }]),
  ask({ dimensions: [{ field: 'at', format: 'YYYY-MM', alias: 'm' }], measures: [count] }, [
    { m: '2025-12', count: 1 },
    { m: '2026-01', count: 1 },
    { m: '2026-04', count: 1 },
    { m: null, count: 1 },
  ]),
  ask(
    {
      dimensions: [{ field: 'at', format: 'YYYY', alias: 'y' }],
      measures: [count],
      filter: { at: { $notNull: true } },
    },
    [{ y: '2026', count: 3 }],
    { headers: { 'x-timezone': 'Europe/Berlin' } },
  ),
  ask(
    { dimensions: [{ field: 'at', format: 'YYYY-MM-DD HH', alias: 'h' }], filter: { kind: 'a' } },
    [{ h: '2025-12-31 19' }, { h: '2026-04-02 07' }],
    { headers: { 'x-timezone': '-05:00' } },
  ),
  ask({ dimensions: [{ field: 'at', format: 'YYYYQ', alias: 'q' }], filter: { kind: 'a' } }, [
    { q: '2026Q1' },
    { q: '2026Q2' },
  ]),
  ask({ dimensions: [{ field: 'day', format: 'YYYYW', alias: 'w' }], filter: { at: { $notNull: true } } }, [
    { w: '2026W01' },
    { w: '2026W14' },
  ]),
  {
    name: 'a query by GET takes JSON texts',
    request: 'GET /api/sales:query?measures=[{"aggregation":"count"}]&filter={"kind":"a"}',
    expect: { status: 200, body: { data: [{ count: 2 }] } },
  },
  refused({}, 'PARAMETER_INVALID'),
  refused({ measures: [{ field: 'kind', aggregation: 'sum' }] }, 'OPERATOR_MISFIT'),
  refused({ measures: [{ field: 'paid', aggregation: 'max' }] }, 'OPERATOR_MISFIT'),
  refused({ measures: [{ field: 'nope', aggregation: 'sum' }] }, 'FIELD_UNKNOWN'),
  refused({ measures: [{ aggregation: 'sum' }] }, 'PARAMETER_INVALID'),
  refused({ measures: [{ field: 'pieces', aggregation: 'median' }] }, 'PARAMETER_INVALID'),
  refused({ measures: [count, count] }, 'PARAMETER_INVALID'),
  refused({ measures: [{ ...count, alias: '__proto__' }] }, 'PARAMETER_INVALID'),
  refused({ measures: [{ ...count, alias: '1; DROP' }] }, 'PARAMETER_INVALID'),
  refused({ measures: [count], having: { other: 1 } }, 'FIELD_UNKNOWN'),
  refused({ measures: [count], orders: [{ field: 'kind' }] }, 'PARAMETER_INVALID'),
  refused({ measures: [count], limit: 10_001 }, 'PARAMETER_INVALID'),
  refused({ measures: [count], sort: 'kind' }, 'PARAMETER_UNKNOWN'),
  refused({ dimensions: ['extra'] }, 'SORT_INVALID'),
  refused({ dimensions: ['tags.city'] }, 'SORT_INVALID'),
  refused({ dimensions: [{ field: 'kind', format: 'YYYY' }] }, 'OPERATOR_MISFIT'),
  refused({ dimensions: [{ field: 'at', format: 'week' }] }, 'PARAMETER_INVALID'),
  refused({ dimensions: 'kind' }, 'PARAMETER_INVALID'),
  {
    name: 'a query without a credential is refused with 401',
    request: 'POST /api/sales:query',
    as: 'nobody',
    body: { measures: [count] },
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
];

describeEngines('query', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:apply', { body: definitions });
    await server.data('POST /api/shops:create', { body: [{ city: 'Rome' }, { city: 'Bonn' }] });
    await server.data('POST /api/sales:create', { body: sales });
    await server.data('POST /api/sales:destroy?filterByTk=5');
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));

  test('a role counts the rows that it can see, and can only name its fields', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    await server.data('POST /api/permissions:create', {
      body: { role: 'clerk', resource: 'sales', actions: ['list'], filter: { kind: 'a' }, fields: ['kind', 'pieces'] },
    });
    await server.createKey('clerk');
    const measures = [{ aggregation: 'count' }, { field: 'pieces', aggregation: 'sum', alias: 'n' }];
    expect(await server.data('POST /api/sales:query', { as: 'clerk', body: { measures } })).toEqual([
      { count: 2, n: 7 },
    ]);
    for (const body of [
      { measures: [{ field: 'price', aggregation: 'sum' }] },
      { dimensions: ['price'] },
      { dimensions: ['shop.city'] },
      { measures, filter: { price: '1.10' } },
      { measures, having: { price: 1 } },
    ]) {
      const { status } = await server.call('POST /api/sales:query', { as: 'clerk', body });
      expect([JSON.stringify(body), status]).toEqual([JSON.stringify(body), 'having' in body ? 400 : 403]);
    }
    expect((await server.call('POST /api/shops:query', { as: 'clerk', body: { measures } })).status).toBe(403);
  });

  test('sums up to 64 bits are exact in any order', async () => {
    const decimal = { name: 'exact', type: 'decimal', precision: 18, scale: 2 };
    const fields = [{ name: 'set', type: 'integer' }, { name: 'big', type: 'bigInt' }, decimal];
    await server.data('POST /api/collections:create', { body: { name: 'sums', fields } });
    const most = '9223372036854775807';
    const high = '9999999999999999.99';
    const rows = [
      ...[most, most, `-${most}`, `-${most}`, -1].map((big) => ({ set: 1, big })),
      ...['-9223372036854775808', most, most, -most.length].map((big) => ({ set: 2, big })),
      ...['-9223372036854775808', -1].map((big) => ({ set: 3, big })),
      { set: 4, big: null },
      ...Array.from({ length: 10 }, () => ({ set: 5, exact: high })),
      ...[`-${high}`, `-${high}`, '5.00'].map((exact) => ({ set: 5, exact })),
      ...Array.from({ length: 10 }, () => ({ set: 6, exact: high })),
    ];
    await server.data('POST /api/sums:create', { body: rows });
    const sumOf = (set: number, field: string, distinct: boolean): Promise<{ body: Json; status: number }> =>
      server.call('POST /api/sums:query', {
        body: { measures: [{ field, aggregation: 'sum', alias: 's', distinct }], filter: { set } },
      });
    for (const [set, field, distinct, expected] of [
      [1, 'big', false, -1],
      [1, 'big', true, -1],
      [2, 'big', false, '9223372036854775787'],
      [2, 'big', true, -20],
      [4, 'big', false, null],
      [4, 'big', true, null],
      [5, 'exact', false, '80000000000000004.92'],
      [5, 'exact', true, '5.00'],
    ] as const) {
      const { body } = await sumOf(set, field, distinct);
      expect([set, distinct, body.data?.[0]?.s ?? body.message ?? null]).toEqual([set, distinct, expected]);
    }
    for (const [set, field, distinct] of [
      [3, 'big', false],
      [3, 'big', true],
      [6, 'exact', false],
    ] as const) {
      const { body, status } = await sumOf(set, field, distinct);
      expect([set, distinct, status, body.code]).toEqual([set, distinct, 400, 'LIMIT_EXCEEDED']);
    }
  });

  test('a sum over 64 bits is refused with 400', async () => {
    await server.data('POST /api/sales:create', {
      body: [{ big: '9223372036854775807' }, { big: '9223372036854775807' }],
    });
    await server.play(refused({ measures: [{ field: 'big', aggregation: 'sum' }] }, 'LIMIT_EXCEEDED'));
  });
});
