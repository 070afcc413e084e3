import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { uploadFile } from '../support/file-server.ts';
import { importText, startImportServer } from '../support/import-server.ts';
import type { TestServer } from '../support/scenario.ts';

const fields = [
  { name: 'string', type: 'string' },
  { name: 'text', type: 'text' },
  { name: 'integer', type: 'integer' },
  { name: 'bigInt', type: 'bigInt' },
  { name: 'decimal', type: 'decimal', precision: 18, scale: 6 },
  { name: 'float', type: 'float' },
  { name: 'double', type: 'double' },
  { name: 'boolean', type: 'boolean' },
  { name: 'date', type: 'date' },
  { name: 'datetime', type: 'datetime' },
  { name: 'day', type: 'datetime', dateOnly: true },
  { name: 'time', type: 'time' },
  { name: 'select', type: 'select', enum: ['a', 'b,c', '=d'] },
  { name: 'tags', type: 'select', enum: ['a', 'b,c', '=d'], multiple: true },
  { name: 'json', type: 'json' },
  { name: 'array', type: 'array' },
  { name: 'uid', type: 'uid' },
  { name: 'email', type: 'email' },
  { name: 'url', type: 'url' },
  { name: 'phone', type: 'phone' },
  { name: 'color', type: 'color' },
  { name: 'position', type: 'sort' },
  { name: 'secret', type: 'password' },
  { name: 'file', type: 'file' },
  { name: 'files', type: 'file', multiple: true },
  { name: 'customer', type: 'belongsTo', target: 'customers' },
];
const records = [
  {
    string: '=1+1',
    text: '  "quoted", \r\n second; line ',
    integer: -5,
    bigInt: '9007199254740993',
    decimal: '123456789012.500001',
    float: 0.1,
    double: 1e-7,
    boolean: true,
    date: '1850-02-28',
    datetime: '2026-11-23T15:10:00.250Z',
    day: '2026-11-23',
    time: '23:59:59',
    select: '=d',
    tags: ['b,c', '=d'],
    json: { a: [1, { b: 'c' }], d: null },
    array: [1, 'two', null],
    uid: '0193588e-6f0f-7b57-9a43-6f0f4b579a43',
    email: 'a@example.com',
    url: 'https://example.com/?a=b&c=d',
    phone: '+4930123456',
    color: '#00aAfF80',
    position: 7,
    secret: 'a quiet password',
    customer: 1,
  },
  { string: "'quoted'", text: '-5', integer: 0, boolean: false, select: 'a', tags: [], json: 'text', array: [] },
  { string: '', text: '00123', bigInt: 5, decimal: '-0.100000', double: 12345.678, json: 17, position: -3 },
  { uid: '0193588e-6f0f-7b57-9a43-6f0f4b579a44' },
];

describeEngines('exports that are imported again', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startImportServer(engine);
    await server.data('POST /api/customers:create', { body: { email: 'ann@example.com' } });
    for (const name of ['source', ...['csv', 'xlsx', 'json', 'ndjson'].map((format) => `from_${format}`)])
      await server.data('POST /api/collections:create', { body: { name, fields } });
    const [first, second] = [
      await uploadFile(server, { name: 'a.txt', content: 'a' }, 'admin'),
      await uploadFile(server, { name: 'b.txt', content: 'b' }, 'admin'),
    ];
    const [one, ...others] = records;
    await server.data('POST /api/source:create', { body: [{ ...one, file: first.id, files: [second.id] }, ...others] });
  });
  afterAll(() => server.stop());

  const contentTypes = {
    csv: 'text/csv',
    xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    json: 'application/json',
    ndjson: 'application/x-ndjson',
  } as const;

  test.each(Object.keys(contentTypes) as (keyof typeof contentTypes)[])('%s', async (format) => {
    const authorization = `Bearer ${server.tokens.get('admin')}`;
    const { url } = server.running;
    const exported = await fetch(`${url}/api/source:export?format=${format}&except=createdAt,updatedAt`, {
      headers: { authorization },
    });
    const target = `from_${format}`;
    const imported = await fetch(`${url}/api/${target}:import`, {
      method: 'POST',
      headers: { authorization, 'content-type': contentTypes[format] },
      body: await exported.arrayBuffer(),
    });
    expect(await imported.json()).toMatchObject({ data: { created: records.length, refused: 0 } });
    const list = async (name: string): Promise<string> => {
      const reply = await fetch(`${url}/api/${name}:export?format=ndjson&except=createdAt,updatedAt`, {
        headers: { authorization },
      });
      return reply.text();
    };
    expect(await list(target)).toBe(await list('source'));
    // Passwords are not exported, so the imported records have none.
    const { database, registry } = server.running.applications.main;
    const countPasswords = async (name: string): Promise<number> => {
      const { table, byName } = registry.get(name);
      const text = `SELECT count("${byName.get('secret')?.column}") FROM "${table}"`;
      const [[row] = []] = await database.read([{ text, values: [] }]);
      return Number(row?.[0]);
    };
    expect(await countPasswords('source')).toBe(1);
    expect(await countPasswords(target)).toBe(0);
  });

  test.each(Object.keys(contentTypes) as (keyof typeof contentTypes)[])(
    '%s: records without a value',
    async (format) => {
      const empty = {
        name: `empty_${format}`,
        fields: [
          { name: 'note', type: 'text' },
          { name: 'size', type: 'integer' },
        ],
      };
      const copy = { ...empty, name: `copy_${format}` };
      for (const body of [empty, copy]) await server.data('POST /api/collections:create', { body });
      await server.data(`POST /api/${empty.name}:create`, { body: [{}, { note: 'a' }, {}, {}, { size: 5 }, {}] });
      const authorization = `Bearer ${server.tokens.get('admin')}`;
      const { url } = server.running;
      const exported = await fetch(`${url}/api/${empty.name}:export?format=${format}&fields=note,size&sort=id`, {
        headers: { authorization },
      });
      const imported = await fetch(`${url}/api/${copy.name}:import`, {
        method: 'POST',
        headers: { authorization, 'content-type': contentTypes[format] },
        body: await exported.arrayBuffer(),
      });
      expect(await imported.json()).toMatchObject({ data: { created: 6, refused: 0 } });
      expect(await server.data(`GET /api/${copy.name}:list?fields=note,size&sort=id`)).toEqual([
        { note: null, size: null },
        { note: 'a', size: null },
        { note: null, size: null },
        { note: null, size: null },
        { note: null, size: 5 },
        { note: null, size: null },
      ]);
    },
  );

  test('a file is imported by its id, if the caller may read it', async () => {
    const file = await uploadFile(server, { name: 'c.txt', content: 'c' }, 'ann');
    await server.data('POST /api/collections:create', {
      body: {
        name: 'papers',
        fields: [
          { name: 'file', type: 'file' },
          { name: 'files', type: 'file', multiple: true },
        ],
      },
    });
    const cells = `file,files\r\n${file.id},[${file.id}]\r\n"{""id"":${file.id}}","[{""id"":${file.id},""name"":""other""}]"\r\n`;
    const foreign = await importText(server, '?skipInvalid=true', cells, { to: 'papers', as: 'ben' });
    expect(foreign.body.data).toMatchObject({ created: 0, refused: 2 });
    const own = await importText(server, '', cells, { to: 'papers', as: 'ann' });
    expect(own.body.data, own.text).toMatchObject({ created: 2 });
    const described = expect.objectContaining({ id: file.id, name: 'c.txt' });
    expect(await server.data('GET /api/papers:list?fields=file,files')).toEqual([
      { file: described, files: [described] },
      { file: described, files: [described] },
    ]);
  });
});
