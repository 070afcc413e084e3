import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { uploadFile } from '../support/file-server.ts';
import { startImportServer } from '../support/import-server.ts';
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
    customer: 1,
  },
  { string: "'quoted'", text: '-5', integer: 0, boolean: false, select: 'a', tags: [], json: 'text', array: [] },
  { string: '', text: '00123', bigInt: 5, decimal: '-0.100000', double: 12345.678, json: 17 },
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
  });
});
