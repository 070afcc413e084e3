import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCsv } from '../support/csv-parser.ts';
import { describeEngines } from '../support/engines.ts';
import { MovingClock } from '../support/moving-clock.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';
import { readSheetValues, readWorkbook, type Sheet } from '../support/workbook.ts';

const definitions = [
  { name: 'authors', fields: [{ name: 'name', type: 'string', title: 'Full name' }] },
  {
    name: 'samples',
    title: 'All: values / "every" type',
    fields: [
      { name: 'string', type: 'string', title: '=Title' },
      { name: 'text', type: 'text' },
      { name: 'integer', type: 'integer' },
      { name: 'bigInt', type: 'bigInt' },
      { name: 'float', type: 'float' },
      { name: 'decimal', type: 'decimal', precision: 18, scale: 4 },
      { name: 'boolean', type: 'boolean' },
      { name: 'date', type: 'date' },
      { name: 'day', type: 'datetime', dateOnly: true },
      { name: 'time', type: 'time' },
      { name: 'datetime', type: 'datetime' },
      { name: 'json', type: 'json' },
      { name: 'array', type: 'array' },
      { name: 'select', type: 'select', enum: ['a', 'b'] },
      { name: 'choices', type: 'select', enum: ['a', 'b'], multiple: true },
      { name: 'place', type: 'sort' },
      { name: 'uid', type: 'uid' },
      { name: 'secret', type: 'password' },
      { name: 'email', type: 'email' },
      { name: 'url', type: 'url' },
      { name: 'phone', type: 'phone' },
      { name: 'color', type: 'color' },
      { name: 'author', type: 'belongsTo', target: 'authors', title: 'Author' },
      { name: 'others', type: 'belongsToMany', target: 'authors' },
    ],
    options: { timestamps: false },
  },
  {
    name: 'plain',
    fields: [
      { name: 'a', type: 'text' },
      { name: 'n', type: 'integer' },
    ],
    options: { timestamps: false, paranoid: true },
  },
];

/** A record with a value of every type, and the texts of its cells. */
const full = {
  string: '=1+1',
  text: 'two "quoted"\r\nlines, \u0007 and _x0041_',
  integer: -5,
  bigInt: '-9223372036854775807',
  float: -0.1,
  decimal: '-12.5',
  boolean: true,
  date: '2026-02-28',
  day: '1899-12-31',
  time: '23:59:58.5',
  datetime: '2026-11-23T15:10:00.250Z',
  json: { b: [1, null, '\u0001'], 1: 123456789012345680000 },
  array: [],
  select: 'a',
  choices: ['b', 'a'],
  uid: '018f0000-0000-7000-8000-000000000001',
  secret: 'a secret that never leaves',
  email: 'ann@example.com',
  url: 'https://example.com/?a=b',
  phone: '+4930123456',
  color: '#ff0000',
  author: 1,
  others: [1, 2],
};
const header = [
  ...['id', 'string', 'text', 'integer', 'bigInt', 'float', 'decimal', 'boolean', 'date', 'day', 'time', 'datetime'],
  ...['json', 'array', 'select', 'choices', 'place', 'uid', 'email', 'url', 'phone', 'color', 'authorId'],
];
const expectedCells = {
  string: "'=1+1",
  text: full.text,
  integer: '-5',
  bigInt: '-9223372036854775807',
  float: '-0.1',
  decimal: '-12.5000',
  boolean: 'true',
  date: '2026-02-28',
  day: '1899-12-31',
  time: '23:59:58.500',
  datetime: '2026-11-23T15:10:00.250Z',
  array: '[]',
  choices: '["b","a"]',
  place: '1',
  phone: "'+4930123456",
  authorId: '1',
};

describeEngines('exports', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    const clock = new MovingClock();
    server = await TestServer.start(engine, { clock });
    await server.data('POST /api/collections:apply', { body: definitions });
    await server.data('POST /api/authors:create', { body: [{ name: 'Ann' }, { name: '@Bob' }] });
    await server.data('POST /api/samples:create', { body: full });
    await server.data('POST /api/samples:create', { body: { string: '', text: "'=x", place: 2 } });
    await server.data('POST /api/plain:create', {
      body: ['one', '', null, "'", "'-", 'x;y'].map((a, n) => ({ a, n })),
    });
    await server.data('POST /api/plain:destroy?filterByTk=1');
  });
  afterAll(() => server.stop());

  const csv = async (path: string, more: object = {}, delimiter?: string): Promise<(string | null)[][]> => {
    const { status, text } = await server.call(path, more);
    expect({ status, text }).toMatchObject({ status: 200 });
    return readCsv(text, delimiter);
  };
  const sheet = async (query: string, headers: Record<string, string> = {}): Promise<Sheet> => {
    const response = await fetch(`${server.running.url}/api/${query}`, {
      headers: { authorization: `Bearer ${server.tokens.get('admin')}`, ...headers },
    });
    expect(response.status).toBe(200);
    return readWorkbook(Buffer.from(await response.arrayBuffer()))[0]!;
  };

  test('a CSV file has a column for each field that is no secret, and the exact text of each value', async () => {
    const [names, first, second, ...rest] = await csv('GET /api/samples:export');
    expect(names).toEqual(header);
    expect(rest).toEqual([]);
    const cells = Object.fromEntries(names!.map((name, index) => [name, first![index]]));
    expect(cells).toMatchObject(expectedCells);
    expect(JSON.parse(cells['json']!)).toEqual(full.json);
    const empty = Object.fromEntries(names!.map((name, index) => [name, second![index]]));
    expect(empty).toMatchObject({ id: '2', string: '', text: "''=x", integer: null, json: null, authorId: null });
  });

  test('the cells hold the same values as the records of a list', async () => {
    const [record] = await server.data('GET /api/samples:list?sort=id');
    const [names, first] = await csv('GET /api/samples:export?sort=id');
    for (const [index, name] of names!.entries()) {
      const value = record[name!];
      const cell = first![index]!.replace(/^'(?=[=+@-])/, '');
      expect(cell, name!).toBe(typeof value === 'string' ? value : JSON.stringify(value));
    }
  });

  test('an XLSX file has typed cells, and no formula', async () => {
    const { rows, xml, name } = await sheet('samples:export?format=xlsx');
    expect(name).toBe('All  values   "every" type'.slice(0, 31));
    expect(xml).toContain('<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>');
    const [names, first, second] = rows;
    expect([...names!.values()].map(({ value }) => value)).toEqual(header);
    const letters = new Map([...names!].map(([letter, { value }]) => [value, letter]));
    const read = (row: typeof first, field: string): unknown => {
      const cell = row!.get(letters.get(field)!);
      return cell && [cell.type, cell.value];
    };
    const expected: Record<string, [string, string]> = {
      string: ['inlineStr', '=1+1'],
      text: ['inlineStr', full.text],
      integer: ['n', '-5'],
      bigInt: ['inlineStr', '-9223372036854775807'],
      float: ['n', '-0.1'],
      decimal: ['n', '-12.5000'],
      boolean: ['b', '1'],
      date: ['n', String(Date.UTC(2026, 1, 28) / 86_400_000 + 25_569)],
      day: ['inlineStr', '1899-12-31'],
      time: ['n', String(86_398_500 / 86_400_000)],
      datetime: ['n', String(Date.parse(full.datetime) / 86_400_000 + 25_569)],
      array: ['inlineStr', '[]'],
      phone: ['inlineStr', '+4930123456'],
    };
    for (const [field, cell] of Object.entries(expected)) expect(read(first, field), field).toEqual(cell);
    expect(read(second, 'string')).toEqual(['inlineStr', '']);
    expect(read(second, 'text')).toEqual(['inlineStr', "'=x"]);
    expect(read(second, 'integer')).toBeUndefined();
  });

  test('JSON is an array of the records as a list shows them, NDJSON one record per line', async () => {
    const query = 'sort=-id&appends=author,others&fields=id,json,bigInt';
    const listed = await server.data(`GET /api/samples:list?${query}`);
    expect((await server.call(`GET /api/samples:export?format=json&${query}`)).body).toEqual(listed);
    const { text, headers } = await server.call(`GET /api/samples:export?format=ndjson&${query}`);
    expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(listed);
    const none = 'GET /api/samples:export?filter={"id":0}';
    expect((await server.call(`${none}&format=json`)).body).toEqual([]);
    expect((await server.call(`${none}&format=ndjson`)).text).toBe('');
    expect(await csv(none)).toEqual([header]);
    expect(readSheetValues(await sheet('samples:export?format=xlsx&filter={"id":0}'))).toEqual([header]);
  });

  test('filter, search, keys, sort, fields and appends are those of a list, by GET and in the body of POST', async () => {
    const all = [
      ['a', 'n'],
      [null, '2'],
      ["'", '3'],
      ["''-", '4'],
      ['', '1'],
      ['x;y', '5'],
    ];
    expect((await csv('GET /api/plain:export?fields=a,n&sort=n')).slice(1)).toEqual(
      [...all.slice(1)].sort((one, other) => Number(one[1]) - Number(other[1])),
    );
    expect(await csv('GET /api/plain:export?fields=n,a&filter={"n":{"$gt":3}}&sort=-n')).toEqual([
      ['n', 'a'],
      ['5', 'x;y'],
      ['4', "''-"],
    ]);
    const body = { fields: ['n'], filter: { n: { $in: [2, 3] } }, sort: ['-n'] };
    expect(await csv('POST /api/plain:export', { body })).toEqual([['n'], ['3'], ['2']]);
    expect(await csv('POST /api/plain:export', { body: { filterByTk: [3, 6], fields: ['id'] } })).toEqual([
      ['id'],
      ['3'],
      ['6'],
    ]);
    expect(await csv('GET /api/plain:export?search=X&fields=a')).toEqual([['a'], ['x;y']]);
    expect(await csv('GET /api/plain:export?except=a&pageSize=1').catch(() => 'refused')).toBe('refused');
  });

  test('a to-one relation has a column for each field of its record, a to-many relation a list', async () => {
    expect(await csv('GET /api/samples:export?fields=author.name,id&sort=id')).toEqual([
      ['author.name', 'id'],
      ['Ann', '1'],
      [null, '2'],
    ]);
    const [names, first] = await csv('GET /api/samples:export?fields=id&appends=author,others&sort=id');
    expect(names).toEqual(['id', 'author.id', 'author.name', 'author.createdAt', 'author.updatedAt', 'others']);
    expect(JSON.parse(first![5]!)).toMatchObject([{ id: 1 }, { id: 2, name: '@Bob' }]);
    const titles = await csv('GET /api/samples:export?fields=string,author.name&header=titles&filterByTk=1');
    expect(titles).toEqual([
      ["'=Title", 'Author / Full name'],
      ["'=1+1", 'Ann'],
    ]);
  });

  test('byte order mark, delimiter and local times are written on request', async () => {
    const { text } = await server.call('GET /api/plain:export?bom=true&delimiter=;&fields=a&sort=-id');
    const bytes = await fetch(`${server.running.url}/api/plain:export?bom=true`, {
      headers: { authorization: `Bearer ${server.tokens.get('admin')}` },
    });
    expect([...new Uint8Array(await bytes.arrayBuffer()).subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    expect(text.split('\r\n').slice(0, 2)).toEqual(['a', '"x;y"']); // fetch removes the mark
    const tabs = await csv('GET /api/plain:export?delimiter=tab&fields=a,n&filterByTk=6', {}, '\t');
    expect(tabs[1]).toEqual(['x;y', '5']);
    const headers = { 'x-timezone': 'Europe/Berlin' };
    const local = 'samples:export?localTimes=true&fields=datetime&filterByTk=1';
    expect(await csv(`GET /api/${local}`, { headers })).toEqual([['datetime'], ['2026-11-23T16:10:00.250+01:00']]);
    const { rows } = await sheet(`${local}&format=xlsx`, headers);
    const serial = (Date.parse(full.datetime) + 3_600_000) / 86_400_000 + 25_569;
    expect(rows[1]!.get('A')!.value).toBe(String(serial));
  });

  test('records in the trash are exported as a list shows them', async () => {
    expect(await csv('GET /api/plain:export?onlyDeleted=true&fields=a')).toEqual([['a'], ['one']]);
    expect(await csv('GET /api/plain:export?withDeleted=true&fields=id')).toHaveLength(7);
  });

  test('the file name contains the title and the date, and no cache may store the file', async () => {
    const { headers } = await server.call('HEAD /api/samples:export?format=xlsx', {
      headers: { 'x-timezone': 'Pacific/Kiritimati' },
    });
    const day = new Date(server.running.applications.main.clock.now() + 14 * 3_600_000).toISOString().slice(0, 10);
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="All_ values _ _every_ type ${day}.xlsx"; filename*=UTF-8''All_%20values%20_%20_every_%20type%20${day}.xlsx`,
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-type')).toBe('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet');
    const plain = await server.call('GET /api/plain:export?filter={"id":0}');
    expect(plain.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(plain.headers.get('etag')).toBeNull();
  });

  test('the name of the file is valid on every file system, whatever the title', async () => {
    for (const [title, name] of [
      ['../\u202evsc.exe\u202c', '_vsc.exe'],
      ['\u8868'.repeat(255), '\u8868'.repeat(75)],
      ['\r\nSet-Cookie: a', 'Set-Cookie_ a'],
    ] as const) {
      await server.data('POST /api/collections:update?filterByTk=plain', { body: { title } });
      const { headers } = await server.call('HEAD /api/plain:export');
      const [, found] = /filename\*=UTF-8''(.+) \S+\.csv$/.exec(
        decodeURIComponent(headers.get('content-disposition')!),
      )!;
      expect(found).toBe(name);
    }
  });

  describe('refusals', () => {
    const refusals: readonly Scenario[] = [
      {
        name: 'an unknown format is refused with the known ones',
        request: 'GET /api/plain:export?format=pdf',
        expect: {
          status: 400,
          code: 'PARAMETER_INVALID',
          body: { message: '"format" must be "csv", "xlsx", "json" or "ndjson".' },
        },
      },
      {
        name: 'a parameter of another format is refused',
        request: 'GET /api/plain:export?format=json&bom=true',
        expect: {
          status: 400,
          code: 'PARAMETER_INVALID',
          body: { message: '"bom" only applies to the format csv. Remove it, or change "format".' },
        },
      },
      {
        name: 'an unknown delimiter is refused',
        request: 'GET /api/plain:export?delimiter=x',
        expect: {
          status: 400,
          code: 'PARAMETER_INVALID',
          body: { message: '"delimiter" must be ",", ";", "|" or "tab".' },
        },
      },
      {
        name: 'an unknown parameter is refused',
        request: 'GET /api/plain:export?page=2',
        expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
      },
      {
        name: 'an unknown field is refused',
        request: 'GET /api/plain:export?fields=x',
        expect: { status: 400, code: 'FIELD_UNKNOWN' },
      },
      {
        name: 'a secret is refused by its name',
        request: 'GET /api/samples:export?fields=secret',
        expect: { status: 403, code: 'FIELD_DENIED' },
      },
      {
        name: 'an export without columns is refused',
        request: 'GET /api/plain:export?except=id,a,n,deletedAt,deletedWith',
        expect: { status: 400, code: 'PARAMETER_INVALID' },
      },
      {
        name: 'the trash of a collection without soft delete is refused',
        request: 'GET /api/authors:export?onlyDeleted=true',
        expect: { status: 400, code: 'PARAMETER_INVALID' },
      },
      {
        name: 'an unknown collection is refused',
        request: 'GET /api/nothing:export',
        expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
      },
      {
        name: 'an export with another method is refused',
        request: 'PUT /api/plain:export',
        expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
      },
      {
        name: 'a resource without records has no export',
        request: 'GET /api/collections:export',
        expect: { status: 404, code: 'ROUTE_UNKNOWN' },
      },
    ];
    for (const scenario of refusals) test(scenario.name, () => server.play(scenario));
  });
});
