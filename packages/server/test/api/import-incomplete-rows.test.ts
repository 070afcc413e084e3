/** Records without some members, and rows with more or fewer cells than the file has columns. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('incomplete rows of imports', (engine) => {
  let server: TestServer;
  const importFile = (query: string, contentType: string, content: string): Promise<Json> =>
    fetch(`${server.running.url}/api/goods:import?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.tokens.get('admin')}`, 'content-type': contentType },
      body: content,
    }).then((reply) => reply.json());
  const list = (): Promise<Json[]> => server.data('GET /api/goods:list?sort=id&fields=title,price,state,ownerId');
  const goods = [
    { title: 'one', price: 1, state: 'used', ownerId: 1 },
    { title: 'two', price: 2, state: 'used', ownerId: 1 },
  ];

  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: { name: 'owners', fields: [{ name: 'name', type: 'string', unique: true }] },
    });
    await server.data('POST /api/owners:create', { body: { name: 'Ann' } });
    await server.data('POST /api/collections:create', {
      body: {
        name: 'goods',
        fields: [
          { name: 'title', type: 'string', unique: true },
          { name: 'price', type: 'decimal', scale: 2 },
          { name: 'state', type: 'string', defaultValue: 'new' },
          { name: 'owner', type: 'belongsTo', target: 'owners' },
        ],
      },
    });
    await server.data('POST /api/goods:create', { body: goods });
  });

  afterAll(() => server.stop());

  test('an update and an upsert do not change the fields that a record does not contain', async () => {
    const records = '[{"id":1,"title":"ONE"},{"id":2,"price":22}]';
    expect(await importFile('mode=update', 'application/json', records)).toMatchObject({
      data: { updated: 2, refused: 0 },
    });
    const lines = '{"title":"ONE","state":"sold"}\n{"title":"two","ownerId":null}\n{"title":"three"}\n';
    expect(await importFile('mode=upsert&matchFields=title', 'application/x-ndjson', lines)).toMatchObject({
      data: { created: 1, updated: 2, refused: 0 },
    });
    expect(await list()).toMatchObject([
      { title: 'ONE', price: '1.00', state: 'sold', ownerId: 1 },
      { title: 'two', price: '22.00', state: 'used', ownerId: null },
      { title: 'three', price: null, state: 'new', ownerId: null },
    ]);
  });

  test('a create gives the defaults to the fields that a record does not contain', async () => {
    const records = '[{"title":"four","state":"old"},{"title":"five"},{"title":"six","state":null}]';
    expect(await importFile('', 'application/json', records)).toMatchObject({ data: { created: 3 } });
    expect((await list()).slice(-3).map(({ state }) => state)).toEqual(['old', 'new', null]);
  });

  test('the cells that a short row of a CSV file lacks are empty', async () => {
    expect(await importFile('', 'text/csv', 'title,price,state\nseven,7\n')).toMatchObject({ data: { created: 1 } });
    expect((await list()).at(-1)).toMatchObject({ title: 'seven', state: null });
  });

  test('a row with a value to the right of the last column is refused, and nothing is imported', async () => {
    const before = await list();
    const reply = await importFile('', 'text/csv', 'title,price\nnine,9\neight, with a comma,8\n');
    expect(reply).toMatchObject({ code: 'IMPORT_INVALID', message: expect.stringContaining('cell 3') });
    expect(reply.errors).toMatchObject([{ line: 3, field: null }]);
    expect(await list()).toEqual(before);
    // Empty cells at the end of a row say nothing.
    expect(await importFile('', 'text/csv', 'title,price\nnine,9,,\n')).toMatchObject({ data: { created: 1 } });
  });

  test('numbers such as 1.234 have the decimal sign of the other columns', async () => {
    await server.data('POST /api/collections/goods/fields:create', { body: { name: 'weight', type: 'double' } });
    expect(await importFile('', 'text/csv', 'title;price;weight\nten;1.234;1.234,5\n')).toMatchObject({
      data: { created: 1 },
    });
    expect((await server.data('GET /api/goods:list?sort=-id'))[0]).toMatchObject({ price: '1234.00', weight: 1234.5 });
  });
});
