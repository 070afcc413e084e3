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

/** Played in order. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a page alone goes to the trash',
    request: 'POST /api/pages:destroy?filterByTk=2',
    expect: { status: 200, body: { data: 1 }, events: ['pages.destroyed'] },
  },
  {
    name: 'and is not there to get',
    request: 'GET /api/pages:get?filterByTk=2',
    expect: { status: 404 },
  },
  {
    name: 'a shelf takes its books and their pages along',
    request: 'POST /api/shelves:destroy?filterByTk=1',
    expect: {
      status: 200,
      body: { data: 1 },
      events: ['shelves.destroyed', 'books.destroyed', 'books.destroyed', 'pages.destroyed'],
    },
  },
  {
    name: 'lists leave them out, counts too',
    request: 'GET /api/books:list',
    expect: { status: 200, body: { data: [{ id: 3 }], meta: { count: 1 } } },
  },
  {
    name: 'withDeleted shows them too',
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
    name: 'onlyDeleted shows them alone',
    request: 'GET /api/books:list?onlyDeleted=true&filter={"title":"One"}',
    expect: { status: 200, body: { data: [{ id: 1 }], meta: { count: 1 } } },
  },
  {
    name: 'get of one in the trash',
    request: 'GET /api/books:get?filterByTk=1&withDeleted=true',
    expect: { status: 200, body: { data: { title: 'One' } } },
  },
  {
    name: 'a stream of the trash',
    request: 'GET /api/books:list?paginate=false&onlyDeleted=true',
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 2 }] } },
  },
  {
    name: 'what remembers how it went there is told to nobody',
    request: 'GET /api/books:list?fields=deletedWith',
    expect: { status: 403 },
  },
  {
    name: 'a foreign key to it shows nothing, and keeps its value',
    request: 'GET /api/notes:list?appends=book',
    expect: { status: 200, body: { data: [{ bookId: 1, book: null }] } },
  },
  {
    name: 'a path through it finds nothing',
    request: 'GET /api/notes:list?filter={"book.title":"One"}',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: 'nor does $exists',
    request: 'GET /api/notes:list?filter={"book":{"$exists":true}}',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'many-to-many leaves it out from the other side',
    request: 'GET /api/books:list?withDeleted=true&filter={"id":3}&appends=tags',
    expect: { status: 200, body: { data: [{ id: 3, tags: [{ name: 'old' }] }] } },
  },
  {
    name: 'sorting by a path through it counts it as null',
    request: 'GET /api/notes:list?sort=book.title',
    expect: { status: 200, body: { data: [{ id: 1 }] } },
  },
  {
    name: 'a new foreign key to it is 400',
    request: 'POST /api/notes:create',
    body: { bookId: 1 },
    expect: { status: 400, body: { code: 'REFERENCE_MISSING', details: { bookId: expect.any(String) } } },
  },
  {
    name: 'an update of it is 404',
    request: 'POST /api/books:update?filterByTk=1',
    body: { title: 'x' },
    expect: { status: 404 },
  },
  {
    name: 'an update by filter passes it over',
    request: 'POST /api/books:update?filter={"title":{"$ne":null}}',
    body: { title: 'Three!' },
    expect: { status: 200, body: { data: [{ id: 3 }] }, events: ['books.updated'] },
  },
  { name: 'destroyed again it is 404', request: 'POST /api/books:destroy?filterByTk=1', expect: { status: 404 } },
  {
    name: 'several of which one is there already are 404',
    request: 'POST /api/books:destroy?filterByTk=[1,3]',
    expect: { status: 404 },
  },
  {
    name: 'deletedAt is set by the server alone',
    request: 'POST /api/books:update?filterByTk=3',
    body: { deletedAt: '2020-01-01T00:00:00.000Z', title: 'Three' },
    expect: { status: 200, body: { data: { deletedAt: null } }, events: ['books.updated'] },
  },
  {
    name: 'its unique value is free again',
    request: 'POST /api/shelves:create',
    body: { name: 'A' },
    expect: { status: 200, events: ['shelves.created'] },
  },
  {
    name: 'but not that by which a relation names it',
    request: 'POST /api/shelves:create',
    body: { name: 'C', code: 'a' },
    expect: { status: 409, body: { details: { code: expect.any(String) } } },
  },
  {
    name: 'restore meets the value that was taken meanwhile: 409',
    request: 'POST /api/shelves:restore?filterByTk=1',
    expect: { status: 409, body: { code: 'UNIQUE_CONFLICT', details: { name: expect.any(String) } } },
  },
  {
    name: 'a force that is neither true nor false is 400 by its name',
    request: 'POST /api/shelves:destroy?filter={"code":null}&force=abc',
    expect: { status: 400, body: { code: 'PARAMETER_INVALID', message: '"force" must be true or false.' } },
  },
  {
    name: 'the new one is removed for good by force',
    request: 'POST /api/shelves:destroy?filter={"code":null}&force=true',
    expect: { status: 200, body: { data: 1 }, events: ['shelves.destroyed'] },
  },
  {
    name: 'restore brings back what went along, not what went before',
    request: 'POST /api/shelves:restore?filterByTk=1&appends=books',
    expect: {
      status: 400,
    },
  },
  {
    name: 'restore replies the record',
    request: 'POST /api/shelves:restore?filterByTk=1',
    expect: {
      status: 200,
      body: { data: { id: 1, name: 'A', deletedAt: null } },
      events: ['shelves.restored', 'books.restored', 'books.restored', 'pages.restored'],
    },
  },
  {
    name: 'all but the page that went alone are back',
    request: 'GET /api/pages:list?fields=id',
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 3 }] } },
  },
  {
    name: 'links of a record that came back are as they were',
    request: 'GET /api/books:get?filterByTk=1&appends=tags',
    expect: { status: 200, body: { data: { tags: [{ name: 'old' }, { name: 'red' }] } } },
  },
  {
    name: 'restore of what is not in the trash is 404',
    request: 'POST /api/books:restore?filterByTk=1',
    expect: { status: 404 },
  },
  {
    name: 'restore without a target is 400',
    request: 'POST /api/books:restore',
    expect: { status: 400, body: { code: 'TARGET_MISSING' } },
  },
  { name: 'restore by GET is 405', request: 'GET /api/books:restore?filterByTk=1', expect: { status: 405 } },
  {
    name: 'a restricting child keeps its parent',
    request: 'POST /api/books:destroy?filterByTk=3',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST', message: expect.stringContaining('loans') } },
  },
  {
    name: 'also where it would go along',
    request: 'POST /api/shelves:destroy?filterByTk=2',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST' } },
  },
  {
    name: 'a child in the trash keeps nobody',
    request: 'POST /api/loans:destroy?filterByTk=1',
    expect: { status: 200, events: ['loans.destroyed'] },
  },
  {
    name: 'so that now it goes',
    request: 'POST /api/shelves:destroy?filterByTk=2',
    expect: { status: 200, events: ['shelves.destroyed', 'books.destroyed', 'pages.destroyed'] },
  },
  {
    name: 'by filter they come back together',
    request: 'POST /api/shelves:restore?filter={"name":"B"}',
    expect: {
      status: 200,
      body: { data: [{ id: 2 }] },
      events: ['shelves.restored', 'books.restored', 'pages.restored'],
    },
  },
  {
    name: 'a label keeps no trash: make one',
    request: 'POST /api/labels:create',
    body: { pageId: 3 },
    expect: { status: 200, events: ['labels.created'] },
  },
  {
    name: 'a child by cascade without a trash is 409',
    request: 'POST /api/shelves:destroy?filterByTk=2',
    expect: { status: 409, body: { message: expect.stringContaining('labels') } },
  },
  {
    name: 'If-Match of an old version is 412',
    request: 'POST /api/books:destroy?filterByTk=1',
    headers: { 'if-match': '"1"' },
    expect: { status: 412 },
  },
  {
    name: 'force removes one from the trash for good',
    request: 'POST /api/pages:destroy?filterByTk=2&force=true',
    expect: { status: 200, body: { data: 1 }, events: ['pages.destroyed'] },
  },
  {
    name: 'so that it is not even there',
    request: 'GET /api/pages:get?filterByTk=2&withDeleted=true',
    expect: { status: 404 },
  },
  {
    name: 'a collection without a trash knows no restore',
    request: 'POST /api/plain:restore?filterByTk=1',
    expect: { status: 404, body: { code: 'ROUTE_UNKNOWN' } },
  },
  {
    name: 'nor withDeleted',
    request: 'GET /api/plain:list?withDeleted=true',
    expect: { status: 400, body: { message: expect.stringContaining('options.paranoid') } },
  },
  {
    name: 'force is a plain destroy there',
    request: 'POST /api/plain:destroy?filterByTk=1&force=true',
    expect: { status: 200, body: { data: 1 }, events: ['plain.destroyed'] },
  },
  {
    name: 'a reader cannot restore',
    request: 'POST /api/books:restore?filterByTk=1',
    as: 'viewer',
    expect: { status: 403, body: { error: 'No permissions' } },
  },
];

describeEngines('the trash', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await library(engine);
    await server.key('viewer');
    await server.data('POST /api/books:update?filterByTk=1', { body: { title: 'One' } });
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));

  test('a role sees and restores its own rows of it alone', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'keeper' } });
    const filter = { title: { $startsWith: 'T' } };
    await server.data('POST /api/permissions:create', {
      body: { role: 'keeper', resource: 'books', actions: ['list', 'get', 'destroy'], filter },
    });
    await server.key('keeper');
    await server.data('POST /api/books:destroy?filter={"id":{"$in":[1,2]}}');
    const list = await server.data('GET /api/books:list?onlyDeleted=true', { as: 'keeper' });
    expect(list).toMatchObject([{ id: 2 }]);
    await server.play({
      name: 'refused',
      request: 'POST /api/books:restore?filterByTk=1',
      as: 'keeper',
      expect: { status: 403 },
    });
    await server.play({
      name: 'restored',
      request: 'POST /api/books:restore?filterByTk=2',
      as: 'keeper',
      expect: { status: 200, events: ['books.restored'] },
    });
  });

  test('a refusal names the collection of dependants that are in the trash, and with force', async () => {
    await server.data('POST /api/books:create', { body: { id: 90, title: 'Held', shelfId: 1 } });
    await server.data('POST /api/loans:create', { body: { id: 90, bookId: 90 } });
    const refused = (request: string): Promise<unknown> =>
      server.play({
        name: 'refused',
        request,
        expect: {
          status: 409,
          body: {
            code: 'DEPENDANTS_EXIST',
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

  test('a field becomes unique over what is not in the trash', async () => {
    await server.data('POST /api/tags:create', { body: [{ name: 'twin' }, { name: 'twin' }] });
    const unique = { collectionName: 'tags', name: 'name', unique: true };
    expect((await server.call('POST /api/fields:update', { body: unique })).status).toBe(409);
    await server.data('POST /api/tags:destroy?filterByTk=4');
    expect((await server.call('POST /api/fields:update', { body: unique })).status).toBe(200);
    const target = { collectionName: 'plain', name: 'tag', type: 'belongsTo', target: 'tags', targetKey: 'name' };
    await server.play({
      name: 'a relation that names records by it needs the trash distinct too',
      request: 'POST /api/fields:create',
      body: target,
      expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
    });
    await server.data('POST /api/tags:destroy?filterByTk=4&force=true');
    expect((await server.call('POST /api/fields:create', { body: target })).status).toBe(200);
  });

  test('a destroyed collection and a restart change nothing of it', async () => {
    await server.data('POST /api/books:restore?filterByTk=1');
    await server.data('POST /api/pages:destroy?filterByTk=1');
    await server.running.stop();
    await server.boot();
    expect(await server.data('GET /api/pages:list?onlyDeleted=true&fields=id')).toEqual([{ id: 1 }]);
    await server.data('POST /api/pages:restore?filterByTk=1');
  });
});
