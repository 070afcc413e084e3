import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const paranoid = { options: { paranoid: true } };
const definitions = [
  {
    name: 'shelves',
    fields: [
      { name: 'name', type: 'string', unique: true },
      { name: 'code', type: 'string', unique: true },
    ],
    ...paranoid,
  },
  {
    name: 'books',
    fields: [
      { name: 'title', type: 'string' },
      { name: 'shelf', type: 'belongsTo', target: 'shelves', onDelete: 'cascade' },
      { name: 'tags', type: 'belongsToMany', target: 'tags' },
    ],
    ...paranoid,
  },
  { name: 'pages', fields: [{ name: 'book', type: 'belongsTo', target: 'books', onDelete: 'cascade' }], ...paranoid },
  { name: 'notes', fields: [{ name: 'book', type: 'belongsTo', target: 'books' }] },
  { name: 'loans', fields: [{ name: 'book', type: 'belongsTo', target: 'books', onDelete: 'restrict' }], ...paranoid },
  { name: 'labels', fields: [{ name: 'page', type: 'belongsTo', target: 'pages', onDelete: 'cascade' }] },
  { name: 'tags', fields: [{ name: 'name', type: 'string' }], ...paranoid },
  {
    name: 'signs',
    fields: [{ name: 'shelf', type: 'belongsTo', target: 'shelves', targetKey: 'code', foreignKey: 'shelfCode' }],
  },
  { name: 'plain', fields: [{ name: 'n', type: 'integer' }] },
];

async function library(engine: Parameters<Parameters<typeof describeEngines>[1]>[0]): Promise<TestServer> {
  const server = await TestServer.start(engine);
  await server.data('POST /api/collections:apply', { body: definitions });
  const create = (name: string, body: unknown): Promise<unknown> => server.data(`POST /api/${name}:create`, { body });
  await create('shelves', [
    { name: 'A', code: 'a' },
    { name: 'B', code: 'b' },
  ]);
  await create('tags', [{ name: 'old' }, { name: 'red' }]);
  await create('books', [
    { title: 'One', shelfId: 1 },
    { title: 'Two', shelfId: 1 },
    { title: 'Three', shelfId: 2 },
  ]);
  await create('booksTags', [
    { booksId: 1, tagsId: 1 },
    { booksId: 1, tagsId: 2 },
    { booksId: 3, tagsId: 1 },
  ]);
  await create('pages', [{ bookId: 1 }, { bookId: 1 }, { bookId: 3 }]);
  await create('notes', [{ bookId: 1 }]);
  await create('loans', [{ bookId: 3 }]);
  await create('plain', { n: 1 });
  return server;
}

/** The scenarios run in this order. */
const scenarios: readonly Scenario[] = [
  {
    name: 'destroying a page moves only that page to the trash',
    request: 'POST /api/pages:destroy?filterByTk=2',
    expect: { status: 200, body: { data: 1 }, events: ['pages.destroyed'] },
  },
  {
    name: 'get of a record in the trash is refused with 404',
    request: 'GET /api/pages:get?filterByTk=2',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'destroying a shelf also moves its books and their pages to the trash',
    request: 'POST /api/shelves:destroy?filterByTk=1',
    expect: {
      status: 200,
      body: { data: 1 },
      events: ['shelves.destroyed', 'books.destroyed', 'books.destroyed', 'pages.destroyed'],
    },
  },
  {
    name: 'lists and counts leave out records in the trash',
    request: 'GET /api/books:list',
    expect: { status: 200, body: { data: [{ id: 3 }], meta: { count: 1 } } },
  },
  {
    name: 'withDeleted includes records in the trash',
    request: 'GET /api/books:list?withDeleted=true&fields=id,deletedAt',
    expect: {
      status: 200,
      body: {
        data: [
          { id: 1, deletedAt: expect.stringMatching(/Z$/) },
          { id: 2, deletedAt: expect.stringMatching(/Z$/) },
          { id: 3, deletedAt: null },
        ],
        meta: { count: 3 },
      },
    },
  },
  {
    name: 'onlyDeleted returns only records in the trash',
    request: 'GET /api/books:list?onlyDeleted=true&filter={"title":"One"}',
    expect: { status: 200, body: { data: [{ id: 1 }], meta: { count: 1 } } },
  },
  {
    name: 'get with withDeleted returns a record in the trash',
    request: 'GET /api/books:get?filterByTk=1&withDeleted=true',
    expect: { status: 200, body: { data: { title: 'One' } } },
  },
  {
    name: 'a stream with onlyDeleted returns the trash',
    request: 'GET /api/books:list?paginate=false&onlyDeleted=true',
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 2 }] } },
  },
  {
    name: 'the internal field of the cascade cannot be named',
    request: 'GET /api/books:list?fields=deletedWith',
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'a foreign key to a record in the trash keeps its value and is appended as null',
    request: 'GET /api/notes:list?appends=book',
    expect: { status: 200, body: { data: [{ bookId: 1, book: null }] } },
  },
  {
    name: 'a filter through a record in the trash finds nothing',
    request: 'GET /api/notes:list?filter={"book.title":"One"}',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: '$exists does not find a record in the trash',
    request: 'GET /api/notes:list?filter={"book":{"$exists":true}}',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'a many-to-many relation leaves out records in the trash',
    request: 'GET /api/books:list?withDeleted=true&filter={"id":3}&appends=tags',
    expect: { status: 200, body: { data: [{ id: 3, tags: [{ name: 'old' }] }] } },
  },
  {
    name: 'sorting through a record in the trash counts as null',
    request: 'GET /api/notes:list?sort=book.title',
    expect: { status: 200, body: { data: [{ id: 1 }] } },
  },
  {
    name: 'a new foreign key to a record in the trash is refused with 400',
    request: 'POST /api/notes:create',
    body: { bookId: 1 },
    expect: { status: 400, code: 'REFERENCE_MISSING', body: { details: { bookId: expect.any(String) } } },
  },
  {
    name: 'an update of a record in the trash is refused with 404',
    request: 'POST /api/books:update?filterByTk=1',
    body: { title: 'x' },
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'an update by filter leaves out records in the trash',
    request: 'POST /api/books:update?filter={"title":{"$ne":null}}',
    body: { title: 'Three!' },
    expect: { status: 200, body: { data: [{ id: 3 }] }, events: ['books.updated'] },
  },
  {
    name: 'destroying a record in the trash again is refused with 404',
    request: 'POST /api/books:destroy?filterByTk=1',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'destroying several records of which one is in the trash is refused with 404',
    request: 'POST /api/books:destroy?filterByTk=[1,3]',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'deletedAt can only be set by the server',
    request: 'POST /api/books:update?filterByTk=3',
    body: { deletedAt: '2020-01-01T00:00:00.000Z', title: 'Three' },
    expect: { status: 200, body: { data: { deletedAt: null } }, events: ['books.updated'] },
  },
  {
    name: 'the unique value of a record in the trash can be used again',
    request: 'POST /api/shelves:create',
    body: { name: 'A' },
    expect: { status: 200, events: ['shelves.created'] },
  },
  {
    name: 'a value by which a relation refers to a record in the trash cannot be used again',
    request: 'POST /api/shelves:create',
    body: { name: 'C', code: 'a' },
    expect: { status: 409, code: 'UNIQUE_CONFLICT', body: { details: { code: expect.any(String) } } },
  },
  {
    name: 'restore is refused with 409 if a unique value was used meanwhile',
    request: 'POST /api/shelves:restore?filterByTk=1',
    expect: { status: 409, code: 'UNIQUE_CONFLICT', body: { details: { name: expect.any(String) } } },
  },
  {
    name: 'a "force" other than true or false is refused with 400 and names the parameter',
    request: 'POST /api/shelves:destroy?filter={"code":null}&force=abc',
    expect: { status: 400, code: 'PARAMETER_INVALID', body: { message: '"force" must be true or false.' } },
  },
  {
    name: 'destroy with "force" deletes the new record',
    request: 'POST /api/shelves:destroy?filter={"code":null}&force=true',
    expect: { status: 200, body: { data: 1 }, events: ['shelves.destroyed'] },
  },
  {
    name: 'restore does not accept appends',
    request: 'POST /api/shelves:restore?filterByTk=1&appends=books',
    expect: {
      status: 400,
      code: 'FIELD_UNKNOWN',
    },
  },
  {
    name: 'restore returns the record',
    request: 'POST /api/shelves:restore?filterByTk=1',
    expect: {
      status: 200,
      body: { data: { id: 1, name: 'A', deletedAt: null } },
      events: ['shelves.restored', 'books.restored', 'books.restored', 'pages.restored'],
    },
  },
  {
    name: 'all pages are restored except the one that was destroyed separately',
    request: 'GET /api/pages:list?fields=id',
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 3 }] } },
  },
  {
    name: 'a restored record has its former links',
    request: 'GET /api/books:get?filterByTk=1&appends=tags',
    expect: { status: 200, body: { data: { tags: [{ name: 'old' }, { name: 'red' }] } } },
  },
  {
    name: 'restore of a record that is not in the trash is refused with 404',
    request: 'POST /api/books:restore?filterByTk=1',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'restore without a target is refused with 400',
    request: 'POST /api/books:restore',
    expect: { status: 400, code: 'TARGET_MISSING' },
  },
  {
    name: 'restore by GET is refused with 405',
    request: 'GET /api/books:restore?filterByTk=1',
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
  },
  {
    name: 'a restricting child prevents the destroy of its parent',
    request: 'POST /api/books:destroy?filterByTk=3',
    expect: { status: 409, code: 'DEPENDANTS_EXIST', body: { message: expect.stringContaining('loans') } },
  },
  {
    name: 'a restricting child also prevents a cascade',
    request: 'POST /api/shelves:destroy?filterByTk=2',
    expect: { status: 409, code: 'DEPENDANTS_EXIST' },
  },
  {
    name: 'a restricting child is destroyed',
    request: 'POST /api/loans:destroy?filterByTk=1',
    expect: { status: 200, events: ['loans.destroyed'] },
  },
  {
    name: 'a child in the trash does not prevent the cascade',
    request: 'POST /api/shelves:destroy?filterByTk=2',
    expect: { status: 200, events: ['shelves.destroyed', 'books.destroyed', 'pages.destroyed'] },
  },
  {
    name: 'restore by filter restores the records of one cascade',
    request: 'POST /api/shelves:restore?filter={"name":"B"}',
    expect: {
      status: 200,
      body: { data: [{ id: 2 }] },
      events: ['shelves.restored', 'books.restored', 'pages.restored'],
    },
  },
  {
    name: 'a record of a collection without a trash is created',
    request: 'POST /api/labels:create',
    body: { pageId: 3 },
    expect: { status: 200, events: ['labels.created'] },
  },
  {
    name: 'a cascade to a collection without a trash is refused with 409',
    request: 'POST /api/shelves:destroy?filterByTk=2',
    expect: { status: 409, code: 'DEPENDANTS_EXIST', body: { message: expect.stringContaining('labels') } },
  },
  {
    name: 'an outdated If-Match is refused with 412',
    request: 'POST /api/books:destroy?filterByTk=1',
    headers: { 'if-match': '"1"' },
    expect: { status: 412, code: 'VERSION_STALE' },
  },
  {
    name: 'destroy with "force" deletes a record in the trash',
    request: 'POST /api/pages:destroy?filterByTk=2&force=true',
    expect: { status: 200, body: { data: 1 }, events: ['pages.destroyed'] },
  },
  {
    name: 'a deleted record is not found with withDeleted',
    request: 'GET /api/pages:get?filterByTk=2&withDeleted=true',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a collection without a trash has no restore',
    request: 'POST /api/plain:restore?filterByTk=1',
    expect: { status: 404, code: 'ROUTE_UNKNOWN' },
  },
  {
    name: 'a collection without a trash has no withDeleted',
    request: 'GET /api/plain:list?withDeleted=true',
    expect: { status: 400, code: 'PARAMETER_INVALID', body: { message: expect.stringContaining('options.paranoid') } },
  },
  {
    name: '"force" has no effect in a collection without a trash',
    request: 'POST /api/plain:destroy?filterByTk=1&force=true',
    expect: { status: 200, body: { data: 1 }, events: ['plain.destroyed'] },
  },
  {
    name: 'a viewer cannot restore',
    request: 'POST /api/books:restore?filterByTk=1',
    as: 'viewer',
    expect: { status: 403, code: 'NO_PERMISSION', body: { error: 'No permissions' } },
  },
];

describeEngines('the trash', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await library(engine);
    await server.createKey('viewer');
    await server.data('POST /api/books:update?filterByTk=1', { body: { title: 'One' } });
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));

  test('a role only sees and restores its own rows of the trash', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'keeper' } });
    const filter = { title: { $startsWith: 'T' } };
    await server.data('POST /api/permissions:create', {
      body: { role: 'keeper', resource: 'books', actions: ['list', 'get', 'destroy'], filter },
    });
    await server.createKey('keeper');
    await server.data('POST /api/books:destroy?filter={"id":{"$in":[1,2]}}');
    const list = await server.data('GET /api/books:list?onlyDeleted=true', { as: 'keeper' });
    expect(list).toMatchObject([{ id: 2 }]);
    await server.play({
      name: 'the request is refused',
      request: 'POST /api/books:restore?filterByTk=1',
      as: 'keeper',
      expect: { status: 403, code: 'NO_PERMISSION' },
    });
    await server.play({
      name: 'a role restores its own row',
      request: 'POST /api/books:restore?filterByTk=2',
      as: 'keeper',
      expect: { status: 200, events: ['books.restored'] },
    });
  });

  test('a refusal names the collection of dependent records in the trash, also with "force"', async () => {
    await server.data('POST /api/books:create', { body: { id: 90, title: 'Held', shelfId: 1 } });
    await server.data('POST /api/loans:create', { body: { id: 90, bookId: 90 } });
    const refused = (request: string): Promise<unknown> =>
      server.play({
        name: 'the request is refused',
        request,
        expect: {
          status: 409,
          code: 'DEPENDANTS_EXIST',
          body: {
            message: expect.stringMatching(/loans depend on this record by "bookId".*trash/),
          },
        },
      });
    await refused('POST /api/books:destroy?filterByTk=90&force=true');
    await refused('POST /api/books:destroy?filter={"title":"Held"}&force=true');
    await server.data('POST /api/loans:destroy?filterByTk=90');
    await server.data('POST /api/books:destroy?filterByTk=90');
    await refused('POST /api/books:destroy?filterByTk=90&force=true');
    await server.data('POST /api/loans:destroy?filterByTk=90&force=true');
    await server.data('POST /api/books:destroy?filterByTk=90&force=true');
  });

  test('a field can become unique if records outside the trash have unique values', async () => {
    await server.data('POST /api/tags:create', { body: [{ name: 'twin' }, { name: 'twin' }] });
    const unique = { collectionName: 'tags', name: 'name', unique: true };
    expect((await server.call('POST /api/fields:update', { body: unique })).status).toBe(409);
    await server.data('POST /api/tags:destroy?filterByTk=4');
    expect((await server.call('POST /api/fields:update', { body: unique })).status).toBe(200);
    const target = { collectionName: 'plain', name: 'tag', type: 'belongsTo', target: 'tags', targetKey: 'name' };
    await server.play({
      name: 'a relation that refers to the field needs unique values in the trash too',
      request: 'POST /api/fields:create',
      body: target,
      expect: { status: 409, code: 'UNIQUE_CONFLICT' },
    });
    await server.data('POST /api/tags:destroy?filterByTk=4&force=true');
    expect((await server.call('POST /api/fields:create', { body: target })).status).toBe(200);
  });

  test('destroying another collection and a restart do not change the trash', async () => {
    await server.data('POST /api/books:restore?filterByTk=1');
    await server.data('POST /api/pages:destroy?filterByTk=1');
    await server.running.stop();
    await server.boot();
    expect(await server.data('GET /api/pages:list?onlyDeleted=true&fields=id')).toEqual([{ id: 1 }]);
    await server.data('POST /api/pages:restore?filterByTk=1');
  });
});
