import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBookshelfServer } from '../support/bookshelf-server.ts';
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
    name: 'labels of a field change',
    ...change({ name: 'title', description: 'On the cover', uiSchema: { title: 'Title', 'x-component': 'Input' } }),
    expect: {
      status: 200,
      body: { data: { name: 'title', type: 'string', description: 'On the cover', uiSchema: { title: 'Title' } } },
      events: updated,
    },
  },
  {
    name: 'a bound that all values satisfy is added',
    ...change({ name: 'title', maxLength: 5 }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'the new bound applies to new values',
    request: 'POST /api/books:create',
    body: { title: 'too long' },
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { title: said } } },
  },
  {
    name: 'a bound that some values violate is refused with 422, their number and keys',
    ...change({ name: 'pages', max: 250 }),
    expect: {
      status: 422,
      code: 'DEFINITION_INVALID',
      body: {
        details: {
          type: expect.stringMatching(/^1 value cannot be stored under the new definition. Affected records: id 3: /),
        },
      },
    },
  },
  {
    name: 'null removes a property',
    ...change({ name: 'title', maxLength: null }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'the removed bound no longer applies',
    request: 'POST /api/books:create',
    body: { title: 'too long' },
    expect: { status: 200, events: ['books.created'] },
  },
  {
    name: 'required over null values is refused with 422 and their number',
    ...change({ name: 'lang', required: true }),
    expect: {
      status: 422,
      code: 'DEFINITION_INVALID',
      body: { details: { required: expect.stringMatching(/^2 records have no value in/) } },
    },
  },
  {
    name: 'allowNull false over null values is refused with 422',
    ...change({ name: 'lang', allowNull: false }),
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { allowNull: said } } },
  },
  {
    name: 'the nulls get values',
    request: 'POST /api/books:update?filter={"lang":null}',
    body: { lang: 'la' },
    expect: { status: 200, events: ['books.updated', 'books.updated'] },
  },
  {
    name: 'the field becomes required',
    ...change({ name: 'lang', required: true }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'a record without the required field is refused',
    request: 'POST /api/books:create',
    body: { title: 'x' },
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { lang: 'This field is required.' } } },
  },
  {
    name: 'a default is added to the required field',
    ...change({ name: 'lang', defaultValue: 'en' }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'a record without the required field gets its default',
    request: 'POST /api/books:create',
    body: { title: 'x', pages: 7 },
    expect: { status: 200, body: { data: { lang: 'en' } }, events: ['books.created'] },
  },
  {
    name: 'unique over equal values is refused with 409 and their number',
    ...change({ name: 'lang', unique: true }),
    expect: {
      status: 409,
      code: 'UNIQUE_CONFLICT',
      body: { message: expect.stringMatching(/^"lang" cannot become unique: 2 of its values/) },
    },
  },
  {
    name: 'unique over distinct values is added',
    ...change({ name: 'title', unique: true }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'a unique field refuses an equal value',
    request: 'POST /api/books:create',
    body: { title: 'x' },
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'unique is removed',
    ...change({ name: 'title', unique: false, index: true }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'equal values are accepted after unique is removed',
    request: 'POST /api/books:create',
    body: { title: 'x' },
    expect: { status: 200, events: ['books.created'] },
  },
  {
    name: 'a record with a repeated value is destroyed',
    request: 'POST /api/books:destroy?filter={"title":"x","pages":null}',
    expect: { status: 200, body: { data: 1 }, events: ['books.destroyed'] },
  },
  {
    name: 'an integer field becomes a text field',
    ...change({ name: 'pages', type: 'string' }),
    expect: { status: 200, body: { data: { type: 'string' } }, events: updated },
  },
  {
    name: 'an integer field that became text shows its numbers as text',
    request: 'GET /api/books:list?fields=pages&sort=id',
    expect: {
      status: 200,
      body: { data: [{ pages: '100' }, { pages: '200' }, { pages: '300' }, { pages: null }, { pages: '7' }] },
    },
  },
  {
    name: 'a text that is not a number is stored',
    request: 'POST /api/books:update?filter={"title":"too long"}',
    body: { pages: 'many' },
    expect: { status: 200, events: ['books.updated'] },
  },
  {
    name: 'a value that cannot be converted is refused with 422 and its key',
    ...change({ name: 'pages', type: 'decimal', scale: 1 }),
    expect: {
      status: 422,
      code: 'DEFINITION_INVALID',
      body: {
        details: {
          type: expect.stringMatching(/^1 value cannot be converted to the new type. Affected records: id \d+: /),
        },
      },
    },
  },
  {
    name: 'the text that is not a number is replaced',
    request: 'POST /api/books:update?filter={"title":"too long"}',
    body: { pages: '12.5' },
    expect: { status: 200, events: ['books.updated'] },
  },
  {
    name: 'a text field becomes a decimal field',
    ...change({ name: 'pages', type: 'decimal', scale: 1, index: true }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'a decimal field compares as numbers, and null stays null',
    request: 'GET /api/books:list?fields=pages&sort=pages&filter={"pages":{"$gt":"9"}}',
    expect: {
      status: 200,
      body: { data: [{ pages: '12.5' }, { pages: '100.0' }, { pages: '200.0' }, { pages: '300.0' }] },
    },
  },
  {
    name: 'a rename keeps the data and applies the other changes',
    ...change({ name: 'pages', newName: 'length', description: 'In pages' }),
    expect: {
      status: 200,
      body: { data: { name: 'length', type: 'decimal', description: 'In pages' } },
      events: updated,
    },
  },
  {
    name: 'the renamed field is read under its new name',
    request: 'GET /api/books:list?fields=length&sort=-length&pageSize=1',
    expect: { status: 200, body: { data: [{ length: '300.0' }] } },
  },
  {
    name: 'the former name of a renamed field is unknown',
    request: 'GET /api/books:list?fields=pages',
    expect: { status: 400, code: 'FIELD_UNKNOWN' },
  },
  {
    name: 'an existing name is refused with 409',
    ...change({ name: 'length', newName: 'title' }),
    expect: { status: 409, code: 'FIELD_EXISTS' },
  },
  {
    name: 'an invalid name is refused with 422',
    ...change({ name: 'length', newName: '1' }),
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { newName: said } } },
  },
  {
    name: 'a role sees the renamed field, and its row filter uses the new name',
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
    name: 'renaming the key of relations also changes the relations',
    request: 'POST /api/fields:update',
    body: { collectionName: 'shelves', name: 'code', newName: 'label' },
    expect: { status: 200, events: updated },
  },
  {
    name: 'a belongsTo works after its target key was renamed',
    request: 'GET /api/books:get?filterByTk=1&appends=shelf',
    expect: { status: 200, body: { data: { shelfCode: 'A1', shelf: { label: 'A1' } } } },
  },
  {
    name: 'renaming a foreign key also changes the relations',
    ...change({ name: 'shelfCode', newName: 'place' }),
    expect: { status: 200, body: { data: { name: 'place' } }, events: updated },
  },
  {
    name: 'relations of both sides work after the foreign key was renamed',
    request: 'GET /api/shelves:get?filterByTk=1&appends=books.shelf',
    expect: { status: 200, body: { data: { label: 'A1', books: [{ place: 'A1', shelf: { label: 'A1' } }] } } },
  },
  {
    name: 'definitions show the current names',
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
    name: 'the key of a relation must stay unique and is refused with 409',
    request: 'POST /api/fields:update',
    body: { collectionName: 'shelves', name: 'label', unique: false },
    expect: { status: 409, code: 'DEPENDANTS_EXIST', body: { message: expect.stringContaining('shelves.books') } },
  },
  {
    name: 'the target of a relation cannot change',
    ...change({ name: 'shelf', target: 'books' }),
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { target: said } } },
  },
  {
    name: 'the label of a relation changes',
    ...change({ name: 'shelf', title: 'Where' }),
    expect: { status: 200, events: updated },
  },
  {
    name: 'the type of a primary key cannot change',
    ...change({ name: 'id', type: 'string' }),
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { type: said } } },
  },
  {
    name: 'primaryKey cannot be removed, whatever else the request contains',
    ...change({ name: 'id', type: 'integer', primaryKey: false }),
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { primaryKey: said } } },
  },
  {
    name: 'a bound of the wrong type together with an invalid default is refused with 422',
    request: 'POST /api/fields:create',
    body: { collectionName: 'books', name: 'extra', type: 'float', defaultValue: true, min: 'x' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { min: said } } },
  },
  {
    name: 'a field with values cannot become a relation',
    ...change({ name: 'lang', type: 'belongsTo', target: 'shelves' }),
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { type: said } } },
  },
  {
    name: 'an unknown property is refused with 422',
    ...change({ name: 'lang', colour: 'red' }),
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { colour: said } } },
  },
  {
    name: 'an unknown field is refused with 404',
    ...change({ name: 'nothing', title: 'x' }),
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a core field of a system collection cannot be changed',
    request: 'POST /api/fields:update',
    body: { collectionName: 'users', name: 'email', required: true },
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'a core field of a system collection cannot be destroyed',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'users', name: 'password' },
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'a viewer cannot change fields',
    ...change({ name: 'lang', title: 'x' }),
    as: 'viewer',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'a viewer cannot destroy fields',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'lang' },
    as: 'viewer',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'a foreign key that a relation needs cannot be destroyed and is refused with 409',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'place' },
    expect: { status: 409, code: 'DEPENDANTS_EXIST', body: { message: expect.stringContaining('books.shelf') } },
  },
  {
    name: 'a primary key cannot be destroyed and is refused with 422',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'id' },
    expect: { status: 422, code: 'DEFINITION_INVALID' },
  },
  {
    name: 'a relation is destroyed without its foreign key',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'shelf' },
    expect: { status: 200, body: { data: 1 }, events: ['fields.destroyed'] },
  },
  {
    name: 'the foreign key keeps its data',
    request: 'GET /api/books:get?filterByTk=1&fields=id,place',
    expect: { status: 200, body: { data: { id: 1, place: 'A1' } } },
  },
  {
    name: 'the inverse relation is destroyed',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'shelves', name: 'books' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'the foreign key is destroyed after both relations',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'place' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'the records are kept',
    request: 'GET /api/books:list?sort=id&fields=id,length',
    expect: { status: 200, body: { meta: { count: 5 } } },
  },
  {
    name: 'a field that a permission lists and filters by is destroyed',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'books', name: 'length' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'a permission whose filter names a destroyed field admits nothing',
    request: 'GET /api/books:list',
    as: 'reader',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'a field with the same name is created again',
    request: 'POST /api/fields:create',
    body: { collectionName: 'books', name: 'length', type: 'integer', defaultValue: 500 },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'the new field has none of the former values',
    request: 'GET /api/books:get?filterByTk=1&fields=length',
    expect: { status: 200, body: { data: { length: 500 } } },
  },
  {
    name: 'the permission does not list the new field',
    request: 'GET /api/books:list?fields=length',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
];

describeEngines('changes of fields', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startBookshelfServer(engine);
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
    'the default of a %s field, %s, is converted to a %s field like its values',
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
    const before = await server.readSnapshot();
    await server.running.stop();
    await server.boot();
    expect(await server.readSnapshot()).toBe(before);
  });
});
