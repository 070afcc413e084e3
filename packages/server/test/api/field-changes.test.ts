import { afterAll, beforeAll, expect, test } from 'vitest';
import { bookshelves } from '../support/bookshelves.ts';
import { describeEngines } from '../support/engines.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const said = expect.any(String);
const change = (body: object): Pick<Scenario, 'request' | 'body'> => ({
  request: 'POST /api/fields:update',
  body: { collectionName: 'books', ...body },
});
const updated = ['fields.updated'];

const scenarios: readonly Scenario[] = [
  {
    name: 'words of a field',
    ...change({ name: 'title', description: 'On the cover', uiSchema: { title: 'Title', 'x-component': 'Input' } }),
    expect: {
      status: 200,
      body: { data: { name: 'title', type: 'string', description: 'On the cover', uiSchema: { title: 'Title' } } },
      events: updated,
    },
  },
  {
    name: 'a bound that all values hold',
    ...change({ name: 'title', maxLength: 5 }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'holds for what comes',
    request: 'POST /api/books:create',
    body: { title: 'too long' },
    expect: { status: 422, body: { details: { title: said } } },
  },
  {
    name: 'a bound that some do not hold is 422 with how many and which',
    ...change({ name: 'pages', max: 250 }),
    expect: {
      status: 422,
      body: {
        details: {
          type: expect.stringMatching(/^1 value cannot be stored under the new definition. Affected records: id 3: /),
        },
      },
    },
  },
  {
    name: 'null takes a property away',
    ...change({ name: 'title', maxLength: null }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'and it no longer holds',
    request: 'POST /api/books:create',
    body: { title: 'too long' },
    expect: { status: 200, events: ['books.created'] },
  },
  {
    name: 'required over nulls is 422 with how many',
    ...change({ name: 'lang', required: true }),
    expect: { status: 422, body: { details: { required: expect.stringMatching(/^2 records have no value in/) } } },
  },
  {
    name: 'allowNull false likewise',
    ...change({ name: 'lang', allowNull: false }),
    expect: { status: 422, body: { details: { allowNull: said } } },
  },
  {
    name: 'values for the nulls',
    request: 'POST /api/books:update?filter={"lang":null}',
    body: { lang: 'la' },
    expect: { status: 200, events: ['books.updated', 'books.updated'] },
  },
  {
    name: 'then it is required',
    ...change({ name: 'lang', required: true }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'and missed',
    request: 'POST /api/books:create',
    body: { title: 'x' },
    expect: { status: 422, body: { details: { lang: 'This field is required.' } } },
  },
  {
    name: 'a default satisfies it',
    ...change({ name: 'lang', defaultValue: 'en' }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'as here',
    request: 'POST /api/books:create',
    body: { title: 'x', pages: 7 },
    expect: { status: 200, body: { data: { lang: 'en' } }, events: ['books.created'] },
  },
  {
    name: 'unique over equal values is 409 with how many',
    ...change({ name: 'lang', unique: true }),
    expect: { status: 409, body: { message: expect.stringMatching(/^"lang" cannot become unique: 2 of its values/) } },
  },
  {
    name: 'unique over distinct ones',
    ...change({ name: 'title', unique: true }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'holds',
    request: 'POST /api/books:create',
    body: { title: 'x' },
    expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
  },
  {
    name: 'and is taken away',
    ...change({ name: 'title', unique: false, index: true }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'so equal ones may be',
    request: 'POST /api/books:create',
    body: { title: 'x' },
    expect: { status: 200, events: ['books.created'] },
  },
  {
    name: 'one of them goes',
    request: 'POST /api/books:destroy?filter={"title":"x","pages":null}',
    expect: { status: 200, body: { data: 1 }, events: ['books.destroyed'] },
  },
  {
    name: 'integer to text',
    ...change({ name: 'pages', type: 'string' }),
    expect: { status: 200, body: { data: { type: 'string' } }, events: updated },
  },
  {
    name: 'shows the numbers as text',
    request: 'GET /api/books:list?fields=pages&sort=id',
    expect: {
      status: 200,
      body: { data: [{ pages: '100' }, { pages: '200' }, { pages: '300' }, { pages: null }, { pages: '7' }] },
    },
  },
  {
    name: 'a text that is no number',
    request: 'POST /api/books:update?filter={"title":"too long"}',
    body: { pages: 'many' },
    expect: { status: 200, events: ['books.updated'] },
  },
  {
    name: 'does not convert: 422 with the first offender, nothing changed',
    ...change({ name: 'pages', type: 'decimal', scale: 1 }),
    expect: {
      status: 422,
      body: {
        details: {
          type: expect.stringMatching(/^1 value cannot be converted to the new type. Affected records: id \d+: /),
        },
      },
    },
  },
  {
    name: 'without it',
    request: 'POST /api/books:update?filter={"title":"too long"}',
    body: { pages: '12.5' },
    expect: { status: 200, events: ['books.updated'] },
  },
  {
    name: 'text to decimal',
    ...change({ name: 'pages', type: 'decimal', scale: 1, index: true }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'compares as numbers, null stays null',
    request: 'GET /api/books:list?fields=pages&sort=pages&filter={"pages":{"$gt":"9"}}',
    expect: {
      status: 200,
      body: { data: [{ pages: '12.5' }, { pages: '100.0' }, { pages: '200.0' }, { pages: '300.0' }] },
    },
  },
  {
    name: 'rename keeps the data, and whatever else is changed with it',
    ...change({ name: 'pages', newName: 'length', description: 'In pages' }),
    expect: {
      status: 200,
      body: { data: { name: 'length', type: 'decimal', description: 'In pages' } },
      events: updated,
    },
  },
  {
    name: 'under the new name',
    request: 'GET /api/books:list?fields=length&sort=-length&pageSize=1',
    expect: { status: 200, body: { data: [{ length: '300.0' }] } },
  },
  {
    name: 'not under the old one',
    request: 'GET /api/books:list?fields=pages',
    expect: { status: 400, body: { code: 'FIELD_UNKNOWN' } },
  },
  {
    name: 'a name that is taken is 409',
    ...change({ name: 'length', newName: 'title' }),
    expect: { status: 409, body: { code: 'FIELD_EXISTS' } },
  },
  {
    name: 'a bad name is 422',
    ...change({ name: 'length', newName: '1' }),
    expect: { status: 422, body: { details: { newName: said } } },
  },
  {
    name: 'the reader sees the renamed field, and by its filter',
    request: 'GET /api/books:list?sort=id',
    as: 'reader',
    expect: {
      status: 200,
      body: {
        data: [
          { id: 2, length: '200.0' },
          { id: 3, length: '300.0' },
        ],
      },
    },
  },
  {
    name: 'a key of relations is renamed with them',
    request: 'POST /api/fields:update',
    body: { collectionName: 'shelves', name: 'code', newName: 'label' },
    expect: { status: 200, events: updated },
  },
  {
    name: 'they lead there still',
    request: 'GET /api/books:get?filterByTk=1&appends=shelf',
    expect: { status: 200, body: { data: { shelfCode: 'A1', shelf: { label: 'A1' } } } },
  },
  {
    name: 'a foreign key is renamed with them',
    ...change({ name: 'shelfCode', newName: 'place' }),
    expect: { status: 200, body: { data: { name: 'place' } }, events: updated },
  },
  {
    name: 'from both sides',
    request: 'GET /api/shelves:get?filterByTk=1&appends=books.shelf',
    expect: { status: 200, body: { data: { label: 'A1', books: [{ place: 'A1', shelf: { label: 'A1' } }] } } },
  },
  {
    name: 'definitions show the names of now',
    request: 'GET /api/collections:get?filterByTk=shelves&appends=fields',
    expect: {
      status: 200,
      body: {
        data: {
          fields: [{ name: 'id' }, { name: 'label' }, { name: 'books', sourceKey: 'label', foreignKey: 'place' }],
        },
      },
    },
  },
  {
    name: 'the key of a relation stays unique: 409',
    request: 'POST /api/fields:update',
    body: { collectionName: 'shelves', name: 'label', unique: false },
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST', message: expect.stringContaining('shelves.books') } },
  },
  {
    name: 'a relation does not change what it joins',
    ...change({ name: 'shelf', target: 'books' }),
    expect: { status: 422, body: { details: { target: said } } },
  },
  {
    name: 'a relation takes words',
    ...change({ name: 'shelf', title: 'Where' }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'a primary key does not change its type',
    ...change({ name: 'id', type: 'string' }),
    expect: { status: 422, body: { details: { type: said } } },
  },
  {
    name: 'nor does it cease to be one, whatever else is named with it',
    ...change({ name: 'id', type: 'integer', primaryKey: false }),
    expect: { status: 422, body: { details: { primaryKey: said } } },
  },
  {
    name: 'a bound of the wrong type beside a default is 422',
    request: 'POST /api/fields:create',
    body: { collectionName: 'books', name: 'extra', type: 'float', defaultValue: true, min: 'x' },
    expect: { status: 422, body: { details: { min: said } } },
  },
  {
    name: 'a field with values does not become a relation',
    ...change({ name: 'lang', type: 'belongsTo', target: 'shelves' }),
    expect: { status: 422, body: { details: { type: said } } },
  },
  {
    name: 'an unknown property is 422',
    ...change({ name: 'lang', colour: 'red' }),
    expect: { status: 422, body: { details: { colour: said } } },
  },
  { name: 'a field that is not there is 404', ...change({ name: 'nothing', title: 'x' }), expect: { status: 404 } },
  {
    name: 'a core field does not change',
    request: 'POST /api/fields:update',
    body: { collectionName: 'users', name: 'email', required: true },
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'nor is it destroyed',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'users', name: 'password' },
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'a viewer may not change fields',
    ...change({ name: 'lang', title: 'x' }),
    as: 'viewer',
    expect: { status: 403 },
  },
  {
    name: 'nor destroy them',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'lang' },
    as: 'viewer',
    expect: { status: 403 },
  },
  {
    name: 'a foreign key that a relation needs is 409',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'place' },
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST', message: expect.stringContaining('books.shelf') } },
  },
  {
    name: 'a primary key is 422',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'id' },
    expect: { status: 422 },
  },
  {
    name: 'a relation is destroyed without its foreign key',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'shelf' },
    expect: { status: 200, body: { data: 1 }, events: ['fields.destroyed'] },
  },
  {
    name: 'which keeps its data',
    request: 'GET /api/books:get?filterByTk=1&fields=id,place',
    expect: { status: 200, body: { data: { id: 1, place: 'A1' } } },
  },
  {
    name: 'the other relation',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'shelves', name: 'books' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'then the foreign key',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'place' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'with the records kept',
    request: 'GET /api/books:list?sort=id&fields=id,length',
    expect: { status: 200, body: { meta: { count: 5 } } },
  },
  {
    name: 'a field of an allow-list and a filter is destroyed',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'length' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'its filter denies',
    request: 'GET /api/books:list',
    as: 'reader',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'made again',
    request: 'POST /api/fields:create',
    body: { collectionName: 'books', name: 'length', type: 'integer', defaultValue: 500 },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'it is empty of the old values',
    request: 'GET /api/books:get?filterByTk=1&fields=length',
    expect: { status: 200, body: { data: { length: 500 } } },
  },
  {
    name: 'and no list shows it by inheritance',
    request: 'GET /api/books:list?fields=length',
    as: 'reader',
    expect: { status: 403, body: { code: 'FIELD_DENIED' } },
  },
];

describeEngines('changes of fields', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await bookshelves(engine);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test.each([
    ['datetime', '2026-01-31T13:30:00+01:00', 'text', '2026-01-31T12:30:00.000Z'],
    ['string', '12:30', 'time', '12:30:00'],
    ['text', '2026-01-31T13:30:00+01:00', 'datetime', '2026-01-31T12:30:00.000Z'],
    ['time', '12:30', 'string', '12:30:00'],
    ['bigInt', '007', 'string', '7'],
  ])(
    'the default of a %s field, %s, becomes that of a %s field as its values do',
    async (type, given, next, expected) => {
      const field = { name: 'moved', type, defaultValue: given };
      await server.data('POST /api/collections:create', { body: { name: 'defaults', fields: [field] } });
      await server.data('POST /api/defaults:create', { body: {} });
      const change = { collectionName: 'defaults', name: 'moved', type: next };
      const changed = await server.data('POST /api/fields:update', { body: change });
      await server.data('POST /api/defaults:create', { body: {} });
      const records = await server.data('GET /api/defaults:list?sort=id&fields=moved');
      await server.data('POST /api/collections:destroy?filterByTk=defaults');
      expect([changed.defaultValue, ...records.map((each: { moved: unknown }) => each.moved)]).toEqual([
        expected,
        expected,
        expected,
      ]);
    },
  );

  test('definitions and data are the same after a restart', async () => {
    const before = await server.picture();
    await server.running.stop();
    await server.boot();
    expect(await server.picture()).toBe(before);
  });
});
