import { sample } from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exactNumber } from '../../src/protocol/exact-json.ts';
import { describeEngines, sqlite } from '../support/engines.ts';
import { literalScale, numberLiterals, toScaledValue } from '../support/number-literals.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const long = '9007199254740993';
const stored: readonly (readonly [field: string, sent: string, shown?: string | undefined])[] = [
  ['decimal', long, `"${long}.00"`],
  ['decimal', '999999999999999.99', '"999999999999999.99"'],
  ['decimal', '1234567890123456.78', '"1234567890123456.78"'],
  ['decimal', '-90071992547409930e-1', `"-${long}.00"`],
  ['decimal', '0.1000000000000000000000', '"0.10"'],
  ['big', long, `"${long}"`],
  ['big', '9007199254740992', '"9007199254740992"'],
  ['big', '-9223372036854775808', '"-9223372036854775808"'],
  ['big', '90071992547409930e-1', `"${long}"`],
  ['integer', '1e2', '100'],
  ['integer', '2147483647.000000000000', '2147483647'],
  ['double', '0.10000000000000001', '0.1'],
  ['double', '9007199254740992', '9007199254740992'],
  ['double', '1.2345678901234567890e30', '1.2345678901234568e30'],
  ['json', `{"a":[${long},0.12345678901234567891,1e-999,-12345678901234567890],"b":{"10":1,"2":2,"b":3,"1":4}}`],
  ['json', '{"10":1,"2":{"9":1,"8":{"z":0,"0":[{"2":1,"1":2}]}},"b":3}'],
  ['json', '12345678901234567890'],
  ['array', `[12345678901234567890,{"b":1,"7":2}]`],
];
/** Values that have too many digits, or are too large or too small for the type. */
const refused: readonly (readonly [field: string, sent: string])[] = [
  ...['integer', 'big', 'double', 'decimal', 'json', 'sort', 'text', 'flag', 'choice', 'day'].map(
    (field) => [field, '1e999'] as const,
  ),
  ['array', '[1,[-1e999]]'],
  ['json', '{"a":{"b":1e400}}'],
  ['integer', '1.00000000000000000001'],
  ['integer', long],
  ['big', '9223372036854775808'],
  ['big', '9007199254740993.5'],
  ['double', long],
  ['double', '-123456789012345678901234567890'],
  ['double', '1e-999'],
  ['decimal', '0.10000000000000000001'],
  ['decimal', '12345678901234567890'],
  ['decimal', '1e-999999999999999999999'],
  ['text', long],
  ['flag', '1.00000000000000000001'],
];
/** A filter as it is sent, and how many of the records of `seen` match. */
const filters: readonly (readonly [filter: string, count: number])[] = [
  [`{"decimal":${long}}`, 1],
  ['{"decimal":9007199254740992}', 0],
  [`{"decimal":{"$in":[1,${long}]}}`, 1],
  [`{"big":{"$between":[${long},9007199254740994]}}`, 1],
  [`{"big":9007199254740992}`, 0],
  [`{"$and":[{"double":9007199254740992}]}`, 1],
  ['{"array":{"$anyOf":[12345678901234567890]}}', 1],
  ['{"array":{"$anyOf":[12345678901234567891]}}', 0],
];
const badFilters = [
  `{"double":${long}}`,
  '{"double":{"$gt":1e999}}',
  '{"double":{"$gt":1e-999}}',
  '{"integer":{"$lt":12345678901234567890}}',
  '{"decimal":{"$in":[1e999]}}',
  '{"big":1e999}',
  `{"text":${long}}`,
  '{"array":{"$anyOf":[1e999]}}',
];

/** The text of a member of `data`, as the reply has it. */
function memberText(text: string, name = ''): string {
  const start = text.indexOf(`"${name}":`) + name.length + 3;
  for (let end = start; end < text.length; end += 1) {
    const piece = text.slice(start, end + 1);
    if (!/[,}]/.test(text[end + 1]!)) continue;
    try {
      JSON.parse(piece);
      return piece;
    } catch {
      // The value is not complete yet.
    }
  }
  throw new Error(`no ${name} in ${text}`);
}

/** The text that each field shows for a number, computed with integers; null if the field refuses the number. */
function expectations(literal: string): Record<string, string | null> {
  const value = toScaledValue(literal);
  const [whole, cent] = [10n ** BigInt(literalScale), 10n ** BigInt(literalScale - 2)];
  const integer = value % whole === 0n ? value / whole : null;
  const cents =
    value % cent === 0n
      ? String(value / cent)
          .replace('-', '')
          .padStart(3, '0')
      : null;
  const fits = (bits: number): boolean => integer !== null && BigInt.asIntN(bits, integer) === integer;
  const isSafe = Number.isSafeInteger(Number(integer));
  return {
    integer: fits(32) && integer !== -(2n ** 31n) ? String(integer) : null,
    big: fits(64) ? (isSafe ? String(integer) : `"${integer}"`) : null,
    decimal: cents && cents.length <= 18 ? `"${value < 0n ? '-' : ''}${cents.slice(0, -2)}.${cents.slice(-2)}"` : null,
    json: Number.isFinite(Number(literal)) ? JSON.stringify(exactNumber(literal)) : null,
  };
}

describeEngines('numbers that a double cannot represent', (engine) => {
  let server: TestServer;
  const fields = [
    { name: 'decimal', type: 'decimal', precision: 18, scale: 2 },
    { name: 'big', type: 'bigInt' },
    { name: 'integer', type: 'integer' },
    { name: 'double', type: 'double' },
    { name: 'json', type: 'json' },
    { name: 'array', type: 'array' },
    { name: 'text', type: 'string' },
    { name: 'flag', type: 'boolean' },
    { name: 'choice', type: 'select', enum: ['1'] },
    { name: 'day', type: 'date' },
    { name: 'sort', type: 'sort' },
  ];
  beforeAll(async () => {
    server = await TestServer.start(engine);
    for (const name of ['numbers', 'seen'])
      await server.data('POST /api/collections:create', { body: { name, fields, options: { logging: true } } });
    await server.data('POST /api/collections:create', {
      body: {
        name: 'keyed',
        fields: [{ name: 'id', type: 'bigInt', primaryKey: true }],
      },
    });
    await server.data('POST /api/collections:create', {
      body: {
        name: 'sheets',
        fields: [
          { name: 'json', type: 'json' },
          { name: 'keyed', type: 'belongsTo', target: 'keyed' },
        ],
      },
    });
    await server.data('POST /api/fields:create', {
      body: { collectionName: 'keyed', name: 'sheets', type: 'hasMany', target: 'sheets' },
    });
    await server.data('POST /api/seen:create', {
      body: `{"decimal":${long},"big":${long},"double":9007199254740992,"array":[12345678901234567890]}`,
    });
  });
  afterAll(() => server.stop());
  /** Sends a request that is refused with this code. */
  const refuse = (
    request: string,
    body: string,
    code: 'VALUE_INVALID' | 'DEFINITION_INVALID' | 'FILTER_INVALID' | 'PARAMETER_INVALID' | 'BODY_INVALID',
    details?: object,
  ): ReturnType<TestServer['play']> => {
    const status = code === 'VALUE_INVALID' || code === 'DEFINITION_INVALID' ? 422 : 400;
    const name = `${request} is refused`;
    return server.play({ name, request, body, expect: { status, code, ...(details && { body: { details } }) } });
  };

  test.each(stored)('%s accepts %s', async (field = '', sent = '', shown = sent) => {
    const { text, body } = await server.call('POST /api/numbers:create', { body: `{"${field}":${sent}}` });
    const actual = memberText(text, field);
    // Each engine writes floating-point numbers in its own form.
    if (field === 'double') expect(Number(actual)).toBe(Number(shown));
    else expect(actual).toBe(shown);
    const changed = await server.call(`POST /api/numbers:update?filterByTk=${body.data.id}`, {
      body: `{"${field}":${sent}}`,
    });
    const listed = await server.call(`GET /api/numbers:list?filter={"id":${body.data.id}}`);
    for (const reply of [changed, listed]) expect(memberText(reply.text, field)).toBe(actual);
  });

  test.each(refused)('%s refuses %s', async (field, sent) => {
    await refuse('POST /api/numbers:create', `{"${field}":${sent}}`, 'VALUE_INVALID', {
      [field]: expect.any(String),
    });
    await refuse('POST /api/numbers:create', `[{"text":"a"},{"${field}":${sent}}]`, 'VALUE_INVALID', {
      [`[1].${field}`]: expect.any(String),
    });
    await refuse('POST /api/seen:update?filterByTk=1', `{"${field}":${sent}}`, 'VALUE_INVALID');
  });

  test('random numbers are stored exactly or refused, as exact arithmetic predicts', async () => {
    for (const literal of sample(numberLiterals, { numRuns: 60, seed: 20261122 }))
      for (const [field, shown] of Object.entries(expectations(literal))) {
        const reply = await server.call('POST /api/numbers:create', { body: `{"${field}":${literal}}` });
        const answer = reply.status === 200 ? memberText(reply.text, field) : reply.status;
        expect([field, literal, answer]).toEqual([field, literal, shown ?? 422]);
      }
  });

  test('filters compare with the exact number of the request', async () => {
    for (const [filter, count] of filters) {
      expect([filter, await server.data('POST /api/seen:list', { body: `{"filter":${filter}}` })]).toMatchObject([
        filter,
        { length: count },
      ]);
      expect(await server.data(`GET /api/seen:list?filter=${encodeURIComponent(filter)}`)).toHaveLength(count);
    }
    for (const filter of badFilters) await refuse('POST /api/seen:list', `{"filter":${filter}}`, 'FILTER_INVALID');
    for (const value of [long, '1e999', '1e-999'])
      await server.play({
        name: 'an inexact number in a filter is refused',
        request: `GET /api/seen:list?filter[double]=${value}`,
        expect: { status: 400, code: 'FILTER_INVALID' },
      });
    expect(await server.data(`GET /api/seen:list?filter[big]=${long}&filter[decimal]=${long}`)).toHaveLength(1);
    const query = (having: string): string =>
      `{"measures":[{"field":"decimal","aggregation":"max","alias":"top"}],"dimensions":["id"],"filter":{"big":${long}},"having":${having}}`;
    expect(await server.data('POST /api/seen:query', { body: query(`{"top":${long}}`) })).toHaveLength(1);
    expect(await server.data('POST /api/seen:query', { body: query('{"top":9007199254740992}') })).toHaveLength(0);
    await refuse('POST /api/seen:query', query('{"top":1e999}'), 'FILTER_INVALID');
    await refuse('POST /api/seen:list', `{"pageSize":1.00000000000000000001}`, 'PARAMETER_INVALID');
  });

  test('primary keys of records are read exactly', async () => {
    await server.data('POST /api/keyed:create', { body: `[{"id":${long}},{"id":9007199254740992}]` });
    for (const body of [`{"filterByTk":${long}}`, `{"filterByTk":[${long}]}`])
      expect(await server.data('POST /api/keyed:list', { body })).toMatchObject([{ id: long }]);
    await refuse('POST /api/keyed:get', '{"filterByTk":1e999}', 'PARAMETER_INVALID');
    await server.data(`POST /api/keyed/${long}/sheets:create`, { body: `{"json":{"b":${long},"1":2}}` });
    expect(await server.data('POST /api/sheets:create', { body: `{"keyed":${long}}` })).toMatchObject({
      keyedId: long,
    });
    expect(await server.data('POST /api/sheets:create', { body: `{"keyedId":${long}}` })).toMatchObject({
      keyedId: long,
    });
    await server.data('POST /api/sheets/1/keyed:set', { body: '[9007199254740992]' });
    expect(await server.data('GET /api/sheets:get?filterByTk=1')).toMatchObject({ keyedId: '9007199254740992' });
    expect(await server.data(`POST /api/keyed/${long}/sheets:create`, { body: `{"keyedId":${long}}` })).toMatchObject({
      keyedId: long,
    });
    await refuse(`POST /api/keyed/${long}/sheets:create`, '{"keyedId":9007199254740994}', 'BODY_INVALID');
    const { text } = await server.call('POST /api/keyed:create', {
      body: `{"id":9007199254740994,"sheets":[{"json":{"z":${long},"3":1}}]}`,
    });
    expect(text).toContain('9007199254740994');
    const rows = await server.call('GET /api/keyed:list?appends=sheets&filterByTk=9007199254740994');
    expect(rows.text).toContain(`{"z":${long},"3":1}`);
  });

  test('history, revert, batches and events keep exact numbers and the order of members', async () => {
    const before = `{"b":${long},"10":1,"2":[0.12345678901234567891]}`;
    const { body } = await server.call('POST /api/numbers:create', { body: `{"json":${before},"double":0.1}` });
    const { id } = body.data;
    await server.data(`POST /api/numbers:update?filterByTk=${id}`, { body: '{"json":{"10":1,"b":1},"double":1e23}' });
    const history = await server.call(`GET /api/numbers:history?filterByTk=${id}`);
    expect(history.text).toContain(`"before":${before},"after":{"10":1,"b":1}`);
    expect(history.body.data[0].changes.find((each: { field: string }) => each.field === 'double')).toEqual({
      field: 'double',
      before: 0.1,
      after: 1e23,
    });
    const entry = history.body.data[1].id;
    const reverted = await server.call(`POST /api/numbers:revert?filterByTk=${id}&entry=${entry}`);
    expect(memberText(reverted.text, 'json')).toBe(before);
    const batch = await server.call('POST /api/batch', {
      body: `{"operations":[{"op":"create","resource":"numbers","as":"a","values":{"json":${before},"decimal":${long}}},
        {"op":"create","resource":"numbers","values":{"json":{"c":"$a.json","1":"$a.decimal"},"decimal":"$a.decimal"}}]}`,
    });
    expect(batch.text).toContain(`"json":{"c":${before},"1":"${long}.00"}`);
    await refuse(
      'POST /api/batch',
      '{"operations":[{"op":"create","resource":"numbers","values":{"json":[1e999]}}]}',
      'VALUE_INVALID',
    );
    await server.data('POST /api/changes:publish', { body: `{"name":"campaign.sent","payload":${before}}` });
    const changes = await server.call('GET /api/changes:list?wait=20&resource=campaign');
    expect(changes.text).toContain(`"payload":${before}`);
    await refuse('POST /api/changes:publish', '{"name":"campaign.sent","payload":[1e999]}', 'VALUE_INVALID');
    const options = `{"options":{"metadata":${before}}}`;
    expect((await server.call('POST /api/applications:update?filterByTk=main', { body: options })).text).toContain(
      before,
    );
    await refuse(
      'POST /api/applications:update?filterByTk=main',
      '{"options":{"metadata":{"a":1e999}}}',
      'DEFINITION_INVALID',
    );
  });

  test('fields of users, and replies that the server composes, keep exact numbers', async () => {
    const meta = `{"b":${long},"1":2}`;
    for (const [name, type] of Object.entries({ meta: 'json', rate: 'double' }))
      await server.data('POST /api/fields:create', { body: { collectionName: 'users', name, type } });
    const user = `"email":"exact@example.com","password":"long enough for all","meta":${meta},"rate":0.1`;
    await server.data('POST /api/users:create', { body: `{${user}}` });
    const signedIn = await server.call('POST /api/auth:signIn', {
      as: 'nobody',
      body: { email: 'exact@example.com', password: 'long enough for all' },
    });
    expect(memberText(signedIn.text, 'meta')).toBe(meta);
    expect(signedIn.body.data.user.rate).toBe(0.1);
    const hook = await server.call('POST /api/webhooks:create', {
      body: `{"url":"https://example.com/","events":["seen.*"],"role":"admin","filter":{"big":${long}}}`,
    });
    expect(memberText(hook.text, 'filter')).toBe(`{"big":${long}}`);
  });

  test('defaults, bounds and filters of permissions are stored exactly', async () => {
    const preset = `{"b":${long},"1":2}`;
    await server.data('POST /api/collections:create', {
      body: `{"name":"preset","fields":[{"name":"json","type":"json","defaultValue":${preset}},
        {"name":"decimal","type":"decimal","defaultValue":${long}},{"name":"big","type":"bigInt","defaultValue":${long}},
        {"name":"double","type":"double","defaultValue":0.10000000000000001}]}`,
    });
    const made = await server.call('POST /api/permissions:create', {
      body: `{"role":"viewer","resource":"preset","actions":["list"],"filter":{"big":${long}}}`,
    });
    expect(made.text).toContain(`{"big":${long}}`);
    const shown = { decimal: `${long}.00`, big: long, double: 0.1 };
    for (const restarted of [false, true]) {
      if (restarted) {
        await server.running.stop();
        await server.boot();
      }
      const { text, body } = await server.call('POST /api/preset:create', { body: {} });
      expect(body.data).toMatchObject(shown);
      expect(memberText(text, 'json')).toBe(preset);
    }
    await server.createKey('viewer');
    const rows = await server.data('GET /api/preset:list', { as: 'viewer' });
    expect(rows).toHaveLength(2);
    const create = (field: string): string => `{"name":"never","fields":[{"name":"a",${field}}]}`;
    for (const field of [
      '"type":"json","defaultValue":1e999',
      '"type":"bigInt","max":1e999',
      `"type":"bigInt","min":${long},"max":9007199254740992`,
      `"type":"double","defaultValue":${long}`,
      '"type":"integer","defaultValue":1e999',
      `"type":"integer","min":${long}`,
      '"type":"double","max":1e999',
      '"type":"select","enum":["a",1e999]',
    ])
      await refuse('POST /api/collections:create', create(field), 'DEFINITION_INVALID');
  });

  test('min and max of integers and decimals are compared exactly', async () => {
    const bounded = `{"name":"bounded","fields":[{"name":"big","type":"bigInt","min":9007199254740992,"max":${long}},
      {"name":"decimal","type":"decimal","max":999999999999999.99},{"name":"double","type":"double","max":1e18}]}`;
    await server.data('POST /api/collections:create', { body: bounded });
    await server.running.stop();
    await server.boot();
    const shown = await server.call('GET /api/fields:list?collectionName=bounded');
    expect(shown.text).toContain(`"max":${long}`);
    const { body } = await server.call('GET /api/docs:openapi');
    expect(JSON.stringify(body)).toContain(`At most ${long}.`);
    for (const values of [`"big":${long}`, '"decimal":999999999999999.99', '"double":1000000000000000000'])
      await server.data('POST /api/bounded:create', { body: `{${values}}` });
    for (const values of [
      '"big":9007199254740994',
      '"big":9007199254740991',
      '"decimal":1000000000000000.00',
      '"double":1000000000000000200',
      '"double":2e18',
    ])
      await refuse('POST /api/bounded:create', `{${values}}`, 'VALUE_INVALID');
    await server.data('POST /api/fields:update', {
      body: '{"collectionName":"bounded","name":"big","max":9223372036854775807}',
    });
    await server.data('POST /api/bounded:create', { body: '{"big":9223372036854775807}' });
  });
});

describe('a conversion of types', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(sqlite);
  });
  afterAll(() => server.stop());

  test('rounds no number', async () => {
    await server.data('POST /api/collections:create', {
      body: { name: 'texts', fields: [{ name: 'a', type: 'string' }] },
    });
    await server.data('POST /api/texts:create', { body: { a: long } });
    const to = (type: string): Scenario => ({
      name: type,
      request: 'POST /api/fields:update',
      body: { collectionName: 'texts', name: 'a', type },
      expect: { status: 422, code: 'DEFINITION_INVALID' },
    });
    await server.play(to('double'));
    await server.data('POST /api/fields:update', { body: { collectionName: 'texts', name: 'a', type: 'bigInt' } });
    expect(await server.data('GET /api/texts:list?fields=a')).toEqual([{ a: long }]);
  });
});
