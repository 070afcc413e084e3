import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { importText, startImportServer } from '../support/import-server.ts';
import type { Json } from '../support/json.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('imports that change records and name others', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startImportServer(engine);
  });
  beforeEach(async () => {
    await server.call('POST /api/orders:destroy?filter={"parentId":{"$notNull":true}}');
    for (const name of ['orders', 'customers']) await server.call(`POST /api/${name}:destroy?filter={"id":{"$gt":0}}`);
    await server.data('POST /api/customers:create', {
      body: [
        { email: 'ann@example.com', name: 'Ann' },
        { email: 'bob@example.com', name: 'Bob' },
      ],
    });
    await server.data('POST /api/orders:create', {
      body: [
        { number: 'A-1', price: '1.00', region: 'north', note: 'old' },
        { number: 'A-2', price: '2.00', region: 'north', note: 'old' },
      ],
    });
  });
  afterAll(() => server.stop());

  const list = (fields: string): Promise<Json> => server.data(`GET /api/orders:list?fields=${fields}&sort=number`);

  test('update finds records by fields other than the key, and refuses rows that match no record or several', async () => {
    const file = 'number,price\r\nA-1,10.00\r\nA-9,9.00\r\n,3.00\r\n';
    const reply = await importText(server, '?mode=update&matchFields=number&skipInvalid=true', file);
    expect(reply.body.data, reply.text).toMatchObject({ created: 0, updated: 1, refused: 2 });
    expect(await list('number,price,note')).toEqual([
      { number: 'A-1', price: '10.00', note: 'old' },
      { number: 'A-2', price: '2.00', note: 'old' },
    ]);
    const several = await importText(server, '?mode=update&matchFields=region', 'region,note\r\nnorth,new\r\n');
    expect(several.body).toMatchObject({
      code: 'IMPORT_INVALID',
      errors: [{ line: 2, field: 'region', value: 'north', reason: expect.stringContaining('Several records') }],
    });
  });

  test('update finds records by their primary key unless matchFields says otherwise', async () => {
    const [{ id }] = await list('id');
    const reply = await importText(server, '?mode=update', `id,note\r\n${id},new\r\n`);
    expect(reply.body.data, reply.text).toMatchObject({ updated: 1 });
    expect(await list('number,note')).toEqual([
      { number: 'A-1', note: 'new' },
      { number: 'A-2', note: 'old' },
    ]);
  });

  test('upsert creates records that it does not find, and a later row of the file updates the record of an earlier row', async () => {
    const file = 'number,price,region\r\nA-1,10.00,south\r\nA-3,3.00,south\r\nA-3,4.00,west\r\n';
    const dryRun = await importText(server, '?mode=upsert&matchFields=number&dryRun=true', file);
    expect(dryRun.body.data, dryRun.text).toMatchObject({ created: 1, updated: 2, refused: 0 });
    const reply = await importText(server, '?mode=upsert&matchFields=number', file);
    expect(reply.body.data, reply.text).toMatchObject({ created: 1, updated: 2, refused: 0 });
    expect(await list('number,price,region')).toEqual([
      { number: 'A-1', price: '10.00', region: 'south' },
      { number: 'A-2', price: '2.00', region: 'north' },
      { number: 'A-3', price: '4.00', region: 'west' },
    ]);
  });

  test('rows are applied once and in the order of the file, and refused rows change nothing', async () => {
    const ids = (await list('id')).map(({ id }: Json) => id);
    const others = await server.data('POST /api/orders:create', { body: [{ number: 'A-3' }, { number: 'A-4' }] });
    const [first, second, third, fourth] = [...ids, ...others.map(({ id }: Json) => id)];
    const lines = [
      'id,number,amount',
      `${first},B-1,1`,
      `${second},B-1,2`, // the number of the row before
      `${third},B-3,-3`,
      `${fourth},B-4,4`,
      ',A-1,5', // the number that the first row has freed
      `${third},A-3,6`,
      ',A-2,7', // still the number of the second record
      '',
    ];
    const query = '?mode=upsert&skipInvalid=true';
    const expected = { created: 1, updated: 3, refused: 3 };
    const reply = await importText(server, query, lines.join('\r\n'));
    expect(reply.body.data, reply.text).toMatchObject(expected);
    expect(await list('id,number,amount')).toEqual([
      { id: expect.anything(), number: 'A-1', amount: 5 },
      { id: second, number: 'A-2', amount: null },
      { id: third, number: 'A-3', amount: 6 },
      { id: first, number: 'B-1', amount: 1 },
      { id: fourth, number: 'B-4', amount: 4 },
    ]);
    for (const [id, actions] of [
      [first, ['updated', 'created']],
      [second, ['created']],
      [third, ['updated', 'created']],
      [fourth, ['updated', 'created']],
    ]) {
      const history = await server.data(`GET /api/orders:history?filterByTk=${id}`);
      expect(history.map(({ action }: Json) => action)).toEqual(actions);
    }
    const refused = await server.call(`GET /api/imports:refusedRows?filterByTk=${reply.body.data.id}`);
    expect(refused.text.match(/^\d+,/gm)).toEqual(['3,', '4,', '8,']);
  });

  test('several match fields identify a record together', async () => {
    const file = 'number,region,note\r\nA-1,north,new\r\nA-2,south,new\r\n';
    const query = '?mode=update&matchFields=number,region&skipInvalid=true';
    const reply = await importText(server, query, file);
    expect(reply.body.data, reply.text).toMatchObject({ updated: 1, refused: 1 });
    expect(await list('note')).toEqual([{ note: 'new' }, { note: 'old' }]);
  });

  test('a text that looks like a variable is compared as it is', async () => {
    await server.data('POST /api/orders:create', { body: { number: '{{$user.id}}', region: 'east' } });
    const file = 'number,region,note\r\n{{$user.id}},east,new\r\n';
    for (const fields of ['number', 'number,region']) {
      const reply = await importText(server, `?mode=update&matchFields=${fields}`, file);
      expect(reply.body.data, reply.text).toMatchObject({ updated: 1 });
    }
  });

  test('a lookup finds related records by a unique field; a row that names none is refused', async () => {
    const mapping = [
      { column: 'number', field: 'number' },
      { column: 'who', field: 'customer', lookup: 'email' },
    ];
    const file = 'number,who\r\nB-1,ann@example.com\r\nB-2,nobody@example.com\r\nB-3,\r\n';
    const reply = await importText(server, `?skipInvalid=true&mapping=${JSON.stringify(mapping)}`, file);
    expect(reply.body.data, reply.text).toMatchObject({ created: 2, refused: 1 });
    const orders = await server.data(
      'GET /api/orders:list?filter={"number":{"$startsWith":"B"}}&fields=number,customer.name&sort=number',
    );
    expect(orders).toEqual([
      { number: 'B-1', customer: { name: 'Ann' } },
      { number: 'B-3', customer: null },
    ]);
  });

  test('a row can name a record that an earlier row creates', async () => {
    const mapping = [
      { column: 'number', field: 'number' },
      { column: 'parent', field: 'parentId', lookup: 'number' },
    ];
    const file = 'number,parent\r\nC-1,\r\nC-2,C-1\r\nC-3,C-2\r\nC-4,C-9\r\n';
    const reply = await importText(server, `?skipInvalid=true&mapping=${JSON.stringify(mapping)}`, file);
    expect(reply.body.data, reply.text).toMatchObject({ created: 3, refused: 1 });
    const children = await server.data('GET /api/orders:list?filter={"parent.number":"C-2"}&fields=number');
    expect(children).toEqual([{ number: 'C-3' }]);
  });

  test('addOptions adds unknown options of select fields first, and only if the import is not refused', async () => {
    const file = 'number,status\r\nD-1,shipped\r\nD-2,open\r\n';
    const before = await server.call('POST /api/orders:import', {
      body: file,
      headers: { 'content-type': 'text/csv' },
    });
    expect(before.body).toMatchObject({ code: 'IMPORT_INVALID', errors: [{ line: 2, field: 'status' }] });
    await server.play({
      name: 'a refused import adds no options',
      request: 'POST /api/orders:import?addOptions=true',
      body: 'number,status,price\r\nD-1,shipped,x\r\n',
      headers: { 'content-type': 'text/csv' },
      expect: { status: 422, code: 'IMPORT_INVALID' },
    });
    const dryRun = await importText(server, '?addOptions=true&dryRun=true', file);
    expect(dryRun.body.data, dryRun.text).toMatchObject({ created: 2, refused: 0 });
    const reply = await importText(server, '?addOptions=true', file);
    expect(reply.body.data, reply.text).toMatchObject({ created: 2 });
    const field = await server.data('GET /api/collections/orders/fields:get?filterByTk=status');
    expect(field.enum ?? field.options?.enum).toEqual(['open', 'paid', 'shipped']);
    await server.play({
      name: 'a role that may not change fields cannot add options',
      request: 'POST /api/orders:import?addOptions=true',
      as: 'ann',
      body: file,
      headers: { 'content-type': 'text/csv' },
      expect: { status: 403, code: 'NO_PERMISSION' },
    });
  });

  test.each([
    ['an unknown option', '?colour=red', 'number\r\nA', 'PARAMETER_UNKNOWN'],
    ['matchFields in the mode create', '?matchFields=number', 'number\r\nA', 'PARAMETER_INVALID'],
    ['a match field without a column', '?mode=update&matchFields=number', 'price,note\r\n1,x', 'PARAMETER_INVALID'],
    ['an unknown mode', '?mode=replace', 'number\r\nA', 'PARAMETER_INVALID'],
    [
      'a mapping of an unknown column',
      '?mapping=[{"column":"x","field":"number"}]',
      'number\r\nA',
      'PARAMETER_INVALID',
    ],
    ['a mapping to an unknown field', '?mapping=[{"column":0,"field":"colour"}]', 'number\r\nA', 'FIELD_UNKNOWN'],
    [
      'one field mapped twice',
      '?mapping=[{"column":0,"field":"number"},{"column":1,"field":"number"}]',
      'a,b\r\nA,B',
      'PARAMETER_INVALID',
    ],
    [
      'a lookup by a field that is not unique',
      '?mapping=[{"column":0,"field":"customerId","lookup":"name"}]',
      'a\r\nA',
      'PARAMETER_INVALID',
    ],
    [
      'a lookup for a plain field',
      '?mapping=[{"column":0,"field":"number","lookup":"email"}]',
      'a\r\nA',
      'PARAMETER_INVALID',
    ],
  ])('%s is refused', async (_, query, body, code) => {
    await server.play({
      name: query,
      request: `POST /api/orders:import${query}`,
      body: `${body}\r\n`,
      headers: { 'content-type': 'text/csv' },
      expect: { status: 400, code: code as 'PARAMETER_INVALID' },
    });
  });

  test('an option in the query and in the body is refused', async () => {
    await server.play({
      name: 'an option is in the query and in the body',
      request: 'POST /api/orders:import?mode=create',
      body: { file: 1, mode: 'create' },
      expect: { status: 400, code: 'PARAMETER_INVALID' },
    });
  });

  test('records can be sent as a JSON list, and as lines of JSON', async () => {
    const list1 = await server.call('POST /api/orders:import', { body: [{ number: 'E-1', price: 1.5 }] });
    expect(list1.body.data, list1.text).toMatchObject({ format: 'json', created: 1 });
    const lines = await importText(server, '', '{"number":"E-2","price":"2.50"}\n{"number":"E-3"}\n', {
      type: 'application/x-ndjson',
    });
    expect(lines.body.data, lines.text).toMatchObject({ format: 'ndjson', created: 2 });
    const form = new FormData();
    form.append('options', JSON.stringify({ mode: 'update', matchFields: ['number'] }));
    form.append('file', new Blob(['number,price\r\nE-3,3.50\r\n']), 'prices.csv');
    const response = await fetch(`${server.running.url}/api/orders:import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.tokens.get('admin')}` },
      body: form,
    });
    expect(await response.json()).toMatchObject({ data: { filename: 'prices.csv', updated: 1 } });
  });
});
