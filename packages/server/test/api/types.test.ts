import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/** A field type, or a variant of it: the values that it accepts, shows and refuses, and their order. */
interface TypeRow {
  readonly name: string;
  readonly field: Readonly<Record<string, unknown>>;
  /** The value that is sent and the value that is shown. A single value is both. */
  readonly good: readonly (readonly [unknown] | readonly [unknown, unknown])[];
  /** Values that are refused with 422. If there is a pattern, the detail must match it. */
  readonly bad: readonly (readonly [unknown] | readonly [unknown, RegExp])[];
  /** Values in ascending order, for sort and comparison; absent if the type supports neither. */
  readonly ascending?: readonly unknown[];
}

const rows: readonly TypeRow[] = [
  {
    name: 'string',
    field: { type: 'string', maxLength: 3 },
    good: [['abc'], [''], ['😀😀😀'], ["a'b"]],
    bad: [['abcd', /At most 3/], [1, /text/], [true], [['a']], [{}], ['a\u0000'], ['\ud800']],
    ascending: ['', 'B', 'a', 'ab', 'é', 'ﬀ', '😀'],
  },
  {
    name: 'string with a pattern',
    field: { type: 'string', pattern: '^[a-z]+$' },
    good: [['abc']],
    bad: [
      ['Abc', /pattern/],
      ['', /pattern/],
    ],
  },
  {
    name: 'text',
    field: { type: 'text' },
    good: [['a'.repeat(100_000)], ['line\n\ttab']],
    bad: [[5], [{}]],
  },
  {
    name: 'integer',
    field: { type: 'integer', min: -5 },
    good: [[0], [-5], [2_147_483_647], [1.0, 1]],
    bad: [[-6, /minimum is -5/], [2_147_483_648, /maximum/], [1.5, /whole/], ['1', /whole/], [1e300]],
    ascending: [-5, -1, 0, 1, 10, 9_000_000],
  },
  {
    name: 'bigInt',
    field: { type: 'bigInt' },
    good: [
      [9_007_199_254_740_991],
      [-9_007_199_254_740_991],
      [9_007_199_254_740_992, '9007199254740992'],
      ['9007199254740992'],
      ['9223372036854775807'],
      ['-9223372036854775808'],
      ['12', 12],
      ['-0', 0],
    ],
    bad: [['9223372036854775808', /64 bits/], [1.5], ['1.0'], ['x'], [''], [true]],
    ascending: ['-9223372036854775808', -1, 0, 9_007_199_254_740_991, '9007199254740993', '9223372036854775807'],
  },
  {
    name: 'bigInt with bounds',
    field: { type: 'bigInt', min: 0, max: 1000, precision: 3 },
    good: [[999], ['0', 0]],
    bad: [
      [-1, /minimum/],
      ['1001', /maximum/],
      [1000, /3 digits/],
    ],
  },
  {
    name: 'float',
    field: { type: 'float', precision: 4, scale: 2 },
    good: [[1.5], [0], [-0, 0], [12.34], [-99.99]],
    bad: [[1.234, /2 after the decimal point/], [12345, /4 digits/], ['1.5', /number/], [true]],
    ascending: [-99.5, -1, 0, 0.01, 0.1, 99.99],
  },
  {
    name: 'double',
    field: { type: 'double' },
    good: [[1e300], [5e-324], [0.1], [-1.7976931348623157e308]],
    bad: [['1'], [{}]],
    ascending: [-1e300, -1e-300, 0, 1e-300, 0.1, 1e300],
  },
  {
    name: 'decimal',
    field: { type: 'decimal', precision: 18, scale: 4, max: 99_999_999_999_999 },
    good: [
      ['12.3400'],
      ['12.34', '12.3400'],
      [12.34, '12.3400'],
      ['-0', '0.0000'],
      ['-0.0001'],
      ['007.5', '7.5000'],
      ['99999999999999.0000'],
      [1e-4, '0.0001'],
    ],
    bad: [['1.23456', /4 after/], ['123456789012345', /14 digits/], ['1e5'], [''], ['.5'], ['1.'], [true], [1e21]],
    ascending: ['-10.0000', '-9.5000', '-0.0001', '0.0000', '0.0001', '2.0000', '10.0000', '99999999999998.9999'],
  },
  {
    name: 'decimal with bounds that a number holds',
    field: { type: 'decimal', precision: 18, scale: 2, min: 1_000_000_000_000_000, max: 1_000_000_000_000_001 },
    good: [['1000000000000000.00'], ['1000000000000001.00']],
    bad: [
      ['999999999999999.99', /minimum/],
      ['1000000000000001.01', /maximum/],
    ],
  },
  {
    name: 'decimal without digits after the point',
    field: { type: 'decimal', precision: 3, scale: 0 },
    good: [['-999'], [5, '5'], ['1.0', '1']],
    bad: [['1000'], ['1.5']],
    ascending: ['-999', '-5', '0', '12', '999'],
  },
  { name: 'boolean', field: { type: 'boolean' }, good: [[true], [false]], bad: [[1], ['true', /true or false/], [0]] },
  {
    name: 'date',
    field: { type: 'date' },
    good: [['2024-02-29'], ['0001-01-01'], ['9999-12-31']],
    bad: [['2023-02-29', /date such as/], ['2024-1-1'], ['2024-01-01T00:00:00Z'], ['0000-01-01'], [20240101], ['']],
    ascending: ['0001-01-01', '1999-12-31', '2000-01-01', '9999-12-31'],
  },
  {
    name: 'datetime with dateOnly',
    field: { type: 'datetime', dateOnly: true },
    good: [['2024-02-29']],
    bad: [['2024-02-29T10:00:00Z', /date such as/]],
    ascending: ['2024-02-28', '2024-02-29'],
  },
  {
    name: 'time',
    field: { type: 'time' },
    good: [['23:59:59'], ['00:00', '00:00:00'], ['12:30:00.25', '12:30:00.250'], ['12:30:00.000', '12:30:00']],
    bad: [['24:00:00', /time such as/], ['12:60'], ['12'], ['12:30:00Z'], ['2024-01-01T12:30:00'], [1230]],
    ascending: ['00:00:00', '09:59:59.999', '10:00:00', '10:00:00.001', '23:59:59'],
  },
  {
    name: 'datetime',
    field: { type: 'datetime' },
    good: [
      ['2026-01-31T12:00:00.000Z'],
      ['2026-01-31', '2026-01-31T00:00:00.000Z'],
      ['2026-01-31T12:00:00+02:00', '2026-01-31T10:00:00.000Z'],
      ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ],
    bad: [
      ['2026-02-30T00:00:00Z', /ISO 8601/],
      ['2026-01-31T24:00:00Z'],
      ['2026-01-31T23:59:60Z'],
      [1_769_860_800_000],
      ['now'],
    ],
    ascending: [
      '0001-01-01T00:00:00.000Z',
      '1969-12-31T23:59:59.999Z',
      '1970-01-01T00:00:00.000Z',
      '9999-12-31T23:59:59.999Z',
    ],
  },
  {
    name: 'json',
    field: { type: 'json' },
    good: [[{ b: 1, a: [null, { z: '\u2028' }] }], [[]], ['text'], [0], [false], [{ 'k,\n': ',\n' }]],
    bad: [['\u0000'], [{ a: '\ud800' }]],
  },
  {
    name: 'array',
    field: { type: 'array' },
    good: [[[]], [[1, 'two', null, { three: [3] }]]],
    bad: [[{}, /a list/], ['[]'], [1], [['\u0000']]],
  },
  {
    name: 'select',
    field: { type: 'select', enum: ['new', 'in work', "don't"] },
    good: [['new'], ["don't"]],
    bad: [['New', /Give one of: new, in work, don't/], [''], [['new']], [1]],
    ascending: ["don't", 'in work', 'new'],
  },
  {
    name: 'select of many',
    field: { type: 'select', enum: ['a', 'b'], multiple: true },
    good: [[['b', 'a']], [[]]],
    bad: [
      [['a', 'a'], /distinct/],
      [['c'], /a, b/],
      ['a', /a list/],
    ],
  },
  {
    name: 'uid',
    field: { type: 'uid' },
    good: [['0190163D-8694-739B-AEA5-966C26F8AD91', '0190163d-8694-739b-aea5-966c26f8ad91']],
    bad: [['0190163d8694739baea5966c26f8ad91', /UUID/], [1]],
  },
  {
    name: 'email',
    field: { type: 'email' },
    good: [['ann@example.com'], ['o’neil+tag@müller.de'], ['a@localhost']],
    bad: [['ann', /e-mail address/], ['@x.de'], ['a b@x.de'], ['a@-x.de'], ['a@x..de'], ['a@b@c.de'], [5]],
    ascending: ['a@x.de', 'b@x.de'],
  },
  {
    name: 'url',
    field: { type: 'url' },
    good: [['https://example.com/a?b=c#d'], ['http://127.0.0.1:8080']],
    bad: [['example.com', /http/], ['ftp://example.com'], ['javascript:alert(1)'], ['https://'], ['https://a b'], [5]],
  },
  {
    name: 'phone',
    field: { type: 'phone' },
    good: [['+4930123456']],
    bad: [['030 123456', /\+4930123456/], ['+0123'], ['+49-30-1'], ['+1234567890123456'], [4930123456]],
  },
  {
    name: 'color',
    field: { type: 'color' },
    good: [['#fff'], ['#A0B1c2'], ['#a0b1c2d3']],
    bad: [['fff', /#rgb/], ['#ffff'], ['#ggg'], ['red'], [0xffffff]],
  },
];

const enc = (value: unknown): string => encodeURIComponent(JSON.stringify(value));

describeEngines('field types', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    for (const [index, row] of rows.entries())
      await server.data('POST /api/collections:create', {
        body: { name: `t${index}`, fields: [{ name: 'v', ...row.field }], options: { timestamps: false } },
      });
  });
  afterAll(() => server.stop());

  describe.each(rows.map((row, index) => ({ ...row, collection: `t${index}` })))('$name', (row) => {
    test('accepts values and shows them on create, update and get', async () => {
      for (const [sent, shown = sent] of row.good) {
        const created = await server.data(`POST /api/${row.collection}:create`, { body: { v: sent } });
        expect(created.v).toEqual(shown);
        const updated = await server.data(`POST /api/${row.collection}:update?filterByTk=${created.id}`, {
          body: { v: sent },
        });
        expect(updated.v).toEqual(shown);
        expect((await server.data(`GET /api/${row.collection}:get?filterByTk=${created.id}`)).v).toEqual(shown);
        const again = await server.data(`POST /api/${row.collection}:create`, { body: { v: shown } });
        expect(again.v).toEqual(shown);
      }
      expect((await server.data(`POST /api/${row.collection}:create`, { body: { v: null } })).v).toBeNull();
      if (row.field['type'] !== 'uid')
        expect((await server.data(`POST /api/${row.collection}:create`, { body: {} })).v).toBeNull();
    });

    test('refuses invalid values and changes nothing', async () => {
      for (const [sent, message = /./] of row.bad)
        for (const request of [
          `POST /api/${row.collection}:create`,
          `POST /api/${row.collection}:update?filterByTk=1`,
        ]) {
          const reply = await server.play({
            name: 'an invalid value is refused',
            request,
            body: { v: sent },
            expect: { status: 422, code: 'VALUE_INVALID', body: { error: 'Validation Error' } },
          });
          expect(reply.body.details.v).toMatch(message);
        }
    });

    test.runIf(row.ascending)('sorts, compares and pages values', async () => {
      const values = row.ascending!;
      await server.data(`POST /api/${row.collection}:destroy?filter=${enc({ id: { $gt: 0 } })}`);
      const shuffled = values.map((_, index) => values[(index * 7 + 3) % values.length]);
      const all = new Set(shuffled).size === values.length ? shuffled : [...values].reverse();
      await server.data(`POST /api/${row.collection}:create`, { body: [...all, null].map((v) => ({ v })) });
      const list = async (query: string): Promise<unknown[]> =>
        ((await server.data(`GET /api/${row.collection}:list?${query}`)) as { v: unknown }[]).map((each) => each.v);
      expect(await list('sort=v')).toEqual([...values, null]);
      expect(await list('sort=-v')).toEqual([...[...values].reverse(), null]);
      for (const [index, value] of values.entries()) {
        expect(await list(`sort=v&filter=${enc({ v: value })}`)).toEqual([value]);
        expect(await list(`sort=v&filter=${enc({ v: { $gt: value } })}`)).toEqual(values.slice(index + 1));
        expect(await list(`sort=v&filter=${enc({ v: { $lte: value } })}`)).toEqual(values.slice(0, index + 1));
        expect(await list(`sort=v&filter=${enc({ v: { $between: [value, values.at(-1)] } })}`)).toEqual(
          values.slice(index),
        );
      }
      expect(await list(`sort=v&filter=${enc({ v: { $in: values.slice(1, 3) } })}`)).toEqual(values.slice(1, 3));
      for (const sort of ['v', '-v']) {
        const paged: unknown[] = [];
        for (let after = ''; ; ) {
          const { body } = await server.call(
            `GET /api/${row.collection}:list?sort=${sort}&pageSize=2&count=none${after}`,
          );
          paged.push(...body.data.map((each: { v: unknown }) => each.v));
          if (!body.meta.hasNext) break;
          after = `&after=${body.meta.nextCursor}`;
        }
        expect(paged).toEqual(sort === 'v' ? [...values, null] : [...[...values].reverse(), null]);
      }
    });
  });

  test('passwords are hashed, never shown, and have no default', async () => {
    const fields = [{ name: 'secret', type: 'password' }];
    await server.data('POST /api/collections:create', { body: { name: 'safes', fields } });
    const reply = await server.call('POST /api/safes:create', {
      body: [{ secret: 'correct horse' }, { secret: null }],
    });
    expect(reply.status).toBe(200);
    expect(reply.text).not.toMatch(/secret|horse|argon/);
    const { database, registry } = server.running.applications.main;
    const { table, byName } = registry.get('safes');
    const text = `SELECT ${byName.get('secret')!.column} FROM ${table} ORDER BY 1`;
    const [stored] = await database.read([{ text, values: [] }]);
    expect(stored!.map((row) => row[0]).filter(Boolean)).toEqual([expect.stringMatching(/^\$argon2id\$/)]);
    for (const query of ['fields=secret', 'sort=secret', `filter=${enc({ secret: { $null: true } })}`])
      expect((await server.call(`GET /api/safes:list?${query}`)).status).toBe(403);
    await server.play({
      name: 'a short password is refused',
      request: 'POST /api/safes:create',
      body: { secret: 'short' },
      expect: {
        status: 422,
        code: 'VALUE_INVALID',
        body: { details: { secret: 'At least 8 characters are required.' } },
      },
    });
    await server.play({
      name: 'a default password is refused',
      request: 'POST /api/fields:create',
      body: { collectionName: 'safes', name: 'other', type: 'password', defaultValue: 'long enough' },
      expect: {
        status: 422,
        code: 'DEFINITION_INVALID',
        body: { details: { defaultValue: 'A password field cannot have a default value.' } },
      },
    });
  });

  test('bigInt keys are generated, and are text beyond 2^53', async () => {
    const fields = [{ name: 'id', type: 'bigInt', primaryKey: true, autoIncrement: true }];
    await server.data('POST /api/collections:create', {
      body: { name: 'wide', fields, options: { timestamps: false } },
    });
    expect(await server.data('POST /api/wide:create', { body: [{}, { id: '9007199254740993' }, {}] })).toEqual([
      { id: 1 },
      { id: '9007199254740993' },
      { id: '9007199254740994' },
    ]);
    expect(await server.data('GET /api/wide:get?filterByTk=9007199254740993')).toEqual({ id: '9007199254740993' });
    expect(await server.data('GET /api/wide:list?sort=-id&pageSize=1')).toEqual([{ id: '9007199254740994' }]);
    expect(await server.data('POST /api/wide:destroy?filterByTk=["9007199254740993",1]')).toBe(2);
  });

  test('autoNow and autoNowAdd set date, time and datetime fields', async () => {
    const kinds = ['date', 'time', 'datetime'];
    const fields = kinds.flatMap((type) => [
      { name: `${type}Made`, type, autoNow: true },
      { name: `${type}Changed`, type, autoNowAdd: true },
    ]);
    await server.data('POST /api/collections:create', { body: { name: 'stamped', fields } });
    const made = await server.data('POST /api/stamped:create', { body: {} });
    expect(made).toMatchObject({ dateChanged: null, timeChanged: null, datetimeChanged: null });
    expect(made.dateMade).toBe(made.createdAt.slice(0, 10));
    expect(made.timeMade).toMatch(/^\d\d:\d\d:\d\d(\.\d{3})?$/);
    const changed = await server.data('POST /api/stamped:update?filterByTk=1', { body: { timeMade: '10:00' } });
    expect(changed).toMatchObject({ timeMade: '10:00:00', dateMade: made.dateMade, datetimeMade: made.datetimeMade });
    expect(changed.dateChanged).toBe(changed.updatedAt.slice(0, 10));
  });

  test.each([
    [{ type: 'select' }, { enum: 'A select field needs "enum". Give the list of its choices.' }],
    [{ type: 'select', enum: ['a', 'a'] }, { enum: expect.stringContaining('distinct') }],
    [{ type: 'select', enum: ['a'], defaultValue: 'b' }, { defaultValue: 'Give one of: a.' }],
    [{ type: 'decimal', precision: 19 }, { precision: 'Give a whole number from 1 to 18.' }],
    [{ type: 'decimal', precision: 4, scale: 5 }, { scale: 'Give a whole number from 0 to 4.' }],
    [{ type: 'decimal', scale: 1, defaultValue: '1.25' }, { defaultValue: expect.stringContaining('1 after') }],
    [{ type: 'date', defaultValue: 'today' }, { defaultValue: expect.stringContaining('Give a date') }],
    [{ type: 'bigInt', min: 5, max: 4 }, { min: '"min" is greater than "max".' }],
    [{ type: 'array', unique: true }, { unique: 'An array field cannot be indexed or unique.' }],
    [{ type: 'boolean', dateOnly: true }, { dateOnly: 'A boolean field has no property "dateOnly".' }],
  ])('an invalid definition is refused with 422: %o', async (field, details) => {
    await server.play({
      name: 'an invalid field definition is refused',
      request: 'POST /api/fields:create',
      body: { collectionName: 't0', name: 'extra', ...field },
      expect: { status: 422, code: 'DEFINITION_INVALID', body: { details } },
    });
  });
});
