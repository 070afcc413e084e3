import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { uploadFile } from '../support/file-server.ts';
import { importText, makeOrders, startImportServer, waitForImport } from '../support/import-server.ts';
import type { Json } from '../support/json.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('imports', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startImportServer(engine);
  });
  beforeEach(async () => {
    for (const name of ['orders', 'customers']) await server.call(`POST /api/${name}:destroy?filter={"id":{"$gt":0}}`);
  });
  afterAll(() => server.stop());

  const listOrders = (fields = 'number,price'): ReturnType<TestServer['data']> =>
    server.data(`GET /api/orders:list?fields=${fields}&sort=number`);

  test('a short file is imported in the request, with history and events of its records', async () => {
    const reply = await importText(server, '', 'Order Number;Price\r\nA-1;12,50\r\nA-2;1.000,00\r\n');
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body.data).toMatchObject({
      collection: 'orders',
      format: 'csv',
      mode: 'create',
      status: 'done',
      rows: 2,
      processed: 2,
      created: 2,
      updated: 0,
      refused: 0,
      error: null,
    });
    expect(await listOrders()).toEqual([
      { number: 'A-1', price: '12.50' },
      { number: 'A-2', price: '1000.00' },
    ]);
    const [first] = await listOrders('id');
    const history = await server.data(`GET /api/orders:history?filterByTk=${first.id}`);
    expect(history).toMatchObject([{ action: 'created', actor: 'user:1' }]);
  });

  test('with an invalid row, a short import changes nothing and names each row', async () => {
    await server.play({
      name: 'invalid rows are named',
      request: 'POST /api/orders:import',
      body: 'number,price,amount\r\nA-1,1.50,1\r\nA-2,abc,2\r\nA-3,3.50,-1\r\n',
      headers: { 'content-type': 'text/csv' },
      expect: {
        status: 422,
        code: 'IMPORT_INVALID',
        body: {
          errors: [
            { path: '[line 3].price', line: 3, column: 'price', field: 'price', value: 'abc' },
            { path: '[line 4].amount', line: 4, column: 'amount', field: 'amount', value: '-1' },
          ],
        },
      },
    });
  });

  test('skipInvalid=true refuses invalid rows one by one, also those that only the database finds', async () => {
    await importText(server, '', 'number,price\r\nA-2,1\r\n');
    const file = 'number,price\r\nA-1,1\r\nA-2,2\r\nA-3,x\r\nA-4,4\r\nA-4,5\r\n';
    const reply = await importText(server, '?skipInvalid=true', file);
    expect(reply.body.data).toMatchObject({ status: 'done', processed: 5, created: 2, refused: 3 });
    expect((await listOrders('number')).map(({ number }: { number: string }) => number)).toEqual(['A-1', 'A-2', 'A-4']);
    const refused = await server.call(`GET /api/imports:refusedRows?filterByTk=${reply.body.data.id}`);
    expect(
      refused.text
        .replace('\uFEFF', '')
        .split('\r\n')
        .map((line) => line.split(',')[0]),
    ).toEqual(['line', '3', '4', '6', '']);
  });

  test('a longer file is imported in the background; invalid rows are refused one by one', async () => {
    const bad = new Set([7, 13, 99, 100, 101, 1200, 1999, 2000, 2001, 2500]);
    const file = makeOrders(0, 2600, (index) => (bad.has(index) ? 'abc' : '1.50'));
    const reply = await importText(server, '', file, { as: 'ann' });
    expect(reply.status, reply.text).toBe(202);
    const record = await waitForImport(server, reply.body.data.id, 'ann');
    expect(record).toMatchObject({
      status: 'done',
      rows: 2600,
      processed: 2600,
      created: 2590,
      refused: 10,
      error: null,
    });
    const { meta } = (await server.call('GET /api/orders:list?pageSize=1')).body;
    expect(meta.count).toBe(2590);
    const [first] = await listOrders('id');
    const history = await server.data(`GET /api/orders:history?filterByTk=${first.id}`);
    expect(history[0].actor).toBe(`user:${record.createdById}`);
  });

  test('all problems of a row are named: those of its cells or, if all cells can be read, those of its values', async () => {
    const cells = 'A-1,abc,x,1\r\n';
    const values = 'A-2,1.50,-1,lost\r\n';
    const problems = [
      ['price', 'amount'],
      ['amount', 'status'],
    ];
    const named = ({ errors }: Json): string[][] =>
      errors.map(({ field, others }: Json) => [field, ...others.map((each: Json) => each.field)]);
    const file = `number,price,amount,status\r\n${cells.replace(',1\r', ',open\r')}${values}`;
    const refused = await importText(server, '', file);
    expect(refused.body).toMatchObject({ code: 'IMPORT_INVALID' });
    expect(named(refused.body)).toEqual(problems);
    expect(refused.body.errors[1].others).toMatchObject([{ column: 'status', field: 'status', value: 'lost' }]);
    const dryRun = await importText(server, '?dryRun=true', file);
    expect(named(dryRun.body.data)).toEqual(problems);
    const { id } = (await importText(server, '?skipInvalid=true', file)).body.data;
    const { text } = await server.call(`GET /api/imports:refusedRows?filterByTk=${id}`);
    expect(text).toMatch(/^2,"?price: .+ amount: .+,A-1,abc,x,open\r$/m);
    expect(text).toMatch(/^3,"?amount: .+ status: .+,A-2,1\.50,'-1,lost\r$/m);
  });

  test('at most the first ten problems of a row are named', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `n${index}`);
    await server.data('POST /api/collections:create', {
      body: { name: 'wide', fields: names.map((name) => ({ name, type: 'integer' })) },
    });
    const { body } = await importText(server, '', `${names.join(',')}\r\n${names.map(() => 'x').join(',')}\r\n`, {
      to: 'wide',
    });
    expect(body.errors).toHaveLength(1);
    expect(body.errors[0].others.map(({ field }: Json) => field)).toEqual(names.slice(1, 10));
  });

  test('a few rows with more text than a request may hold in memory are imported in the background, without the invalid ones', async () => {
    const text = 'x'.repeat(4_000_000);
    const file = `number,note\r\nA-1,${text}\r\nA-2,${text}\r\nA-1,${text}\r\n`;
    const reply = await importText(server, '', file);
    expect(reply.status, reply.text).toBe(202);
    const record = await waitForImport(server, reply.body.data.id);
    expect(record).toMatchObject({ status: 'done', rows: 3, created: 2, refused: 1 });
    // Exactly as much text as a request may hold, with an invalid row.
    const half = 'x'.repeat(10_485_760 / 2 - 5);
    const short = await importText(server, '', `number,note\r\nB-1,${half}\r\nB-2,${half}\r\nA-2,x\r\n`);
    expect({ status: short.status, code: short.body.code }).toEqual({ status: 422, code: 'IMPORT_INVALID' });
  });

  test('a dry run reports what an import would do, and changes nothing', async () => {
    await importText(server, '', 'number,price\r\nA-5,1\r\n');
    const before = await server.readSnapshot();
    const file = `${makeOrders(1, 1200)}A-7,1.00\r\nA-9999,x\r\n`;
    const { status, body, text } = await importText(server, '?dryRun=true', file);
    expect(status, text).toBe(200);
    expect(body.data).toMatchObject({ rows: 1202, created: 1199, updated: 0, refused: 3, truncated: false });
    expect(body.data.errors).toMatchObject([
      { line: 6, column: 'number', field: 'number', value: 'A-5' },
      { line: 1202, column: 'number', field: 'number', value: 'A-7' },
      { line: 1203, column: 'price', field: 'price', value: 'x' },
    ]);
    expect(await server.readSnapshot()).toBe(before);
  });

  test('a dry run lists every bad row, or as many as the caller wants', async () => {
    const before = await server.readSnapshot();
    const bad = Array.from({ length: 2500 }, (_, index) => `B-${index},not a price ${'x'.repeat(60)}`);
    const file = `number,price\r\nB-0,1.00\r\n${bad.join('\r\n')}\r\n`;
    const all = await importText(server, '?dryRun=true', file);
    expect(all.status, all.text.slice(0, 500)).toBe(200);
    expect(all.body.data).toMatchObject({ rows: 2501, created: 1, refused: 2500, truncated: false });
    const lines = all.body.data.errors.map(({ line }: { line: number }) => line);
    expect(lines).toEqual(bad.map((_, index) => index + 3));
    expect(all.body.data.errors[99].cells[0]).toBe('B-99');
    expect(all.body.data.errors[100].cells).toBeNull();
    const some = await importText(server, '?dryRun=true&maxErrors=2', file);
    expect(some.body.data).toEqual({ ...all.body.data, truncated: true, errors: all.body.data.errors.slice(0, 2) });
    for (const query of ['?maxErrors=2', '?dryRun=true&maxErrors=-1', '?dryRun=true&maxErrors=many'])
      expect((await importText(server, query, file)).body).toMatchObject({
        code: 'PARAMETER_INVALID',
        message: expect.stringContaining('maxErrors'),
      });
    expect(await server.readSnapshot()).toBe(before);
  });

  test('a file that was uploaded before is previewed and imported by its id', async () => {
    const file = await uploadFile(server, {
      name: 'orders.csv',
      content: 'Order Number,Price,Colour\r\nA-1,1.50,red\r\n',
    });
    const preview = await server.call('POST /api/orders:importPreview', { as: 'ann', body: { file: file.id } });
    expect(preview.status, preview.text).toBe(200);
    expect(preview.body.data).toMatchObject({
      format: 'csv',
      encoding: 'utf-8',
      delimiter: ',',
      header: true,
      columns: [
        { index: 0, name: 'Order Number', field: 'number', lookup: null },
        { index: 1, name: 'Price', field: 'price', type: { type: 'decimal' }, samples: ['1.50'] },
        { index: 2, name: 'Colour', field: null },
      ],
      rows: [['A-1', '1.50', 'red']],
      truncated: false,
    });
    const unknown = await server.call('POST /api/orders:import', { as: 'ann', body: { file: file.id } });
    expect(unknown.body).toMatchObject({ code: 'FIELD_UNKNOWN', message: expect.stringContaining('Colour') });
    const mapping = [
      { column: 0, field: 'number' },
      { column: 'Colour', field: 'note' },
    ];
    const reply = await server.call('POST /api/orders:import', { as: 'ann', body: { file: file.id, mapping } });
    expect(reply.body.data).toMatchObject({ filename: 'orders.csv', created: 1 });
    expect(await listOrders('number,note')).toEqual([{ number: 'A-1', note: 'red' }]);
  });
});
