import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const definitions = [
  {
    name: 'authors',
    fields: [
      { name: 'name', type: 'string', required: true },
      { name: 'books', type: 'hasMany', target: 'books', foreignKey: 'authorId' },
      { name: 'card', type: 'hasOne', target: 'cards', foreignKey: 'ownerId' },
    ],
  },
  {
    name: 'books',
    fields: [
      { name: 'title', type: 'string' },
      { name: 'author', type: 'belongsTo', target: 'authors' },
      {
        name: 'tags',
        type: 'belongsToMany',
        target: 'tags',
        through: 'bookTags',
        foreignKey: 'bookId',
        otherKey: 'tagId',
      },
    ],
  },
  { name: 'cards', fields: [{ name: 'no', type: 'integer' }] },
  { name: 'tags', fields: [{ name: 'name', type: 'string' }] },
  {
    name: 'bookTags',
    fields: [
      { name: 'weight', type: 'integer', defaultValue: 1 },
      { name: 'book', type: 'belongsTo', target: 'books', onDelete: 'cascade' },
      { name: 'tag', type: 'belongsTo', target: 'tags', onDelete: 'cascade' },
    ],
    options: { timestamps: false, indexes: [{ fields: ['bookId', 'tagId'], unique: true }] },
  },
];

async function library(engine: Parameters<Parameters<typeof describeEngines>[1]>[0]): Promise<TestServer> {
  const server = await TestServer.start(engine);
  await server.data('POST /api/collections:apply', { body: definitions });
  await server.data('POST /api/authors:create', { body: [{ name: 'Ann' }, { name: 'Bob' }, { name: 'Cid' }] });
  const books = ['One', 'Two', 'Three', 'Four'].map((title, index) => ({ title, authorId: index < 2 ? 1 : null }));
  await server.data('POST /api/books:create', { body: books });
  await server.data('POST /api/tags:create', { body: ['red', 'blue', 'old'].map((name) => ({ name })) });
  await server.data('POST /api/cards:create', { body: [{ no: 7, ownerId: 1 }, { no: 8 }] });
  return server;
}

const badTarget = { status: 400, body: { code: 'REFERENCE_MISSING' } };

/** Played in order. */
const scenarios: readonly Scenario[] = [
  {
    name: 'hasMany list',
    request: 'GET /api/authors/1/books:list?fields=id,title',
    expect: {
      status: 200,
      body: {
        data: [
          { id: 1, title: 'One' },
          { id: 2, title: 'Two' },
        ],
        meta: { count: 2 },
      },
    },
  },
  {
    name: 'with filter, sort, appends and pages',
    request: 'GET /api/authors/1/books:list?filter={"title":{"$ne":"x"}}&sort=-title&pageSize=1&appends=author',
    expect: {
      status: 200,
      body: { data: [{ title: 'Two', author: { name: 'Ann' } }], meta: { count: 2, hasNext: true } },
    },
  },
  { name: 'by POST', request: 'POST /api/authors/1/books:list', expect: { status: 200, body: { meta: { count: 2 } } } },
  {
    name: 'an empty one',
    request: 'GET /api/authors/2/books:list',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: 'all of them, without pages',
    request: 'GET /api/authors/1/books:list?paginate=false&fields=id,title&sort=-title',
    expect: { status: 200, body: { data: [{ title: 'Two' }, { title: 'One' }] }, absent: ['meta'] },
  },
  {
    name: 'without pages, of a missing parent',
    request: 'GET /api/authors/99/books:list?paginate=false',
    expect: { status: 404 },
  },
  { name: 'of a missing parent is 404', request: 'GET /api/authors/99/books:list', expect: { status: 404 } },
  { name: 'of a parent of the wrong type is 400', request: 'GET /api/authors/x/books:list', expect: { status: 400 } },
  { name: 'of no relation is 404', request: 'GET /api/authors/1/name:list', expect: { status: 404 } },
  { name: 'of an unknown collection is 404', request: 'GET /api/nothing/1/books:list', expect: { status: 404 } },
  { name: 'an unknown action is 404', request: 'POST /api/authors/1/books:paint', expect: { status: 404 } },
  { name: 'a write by GET is 405', request: 'GET /api/authors/1/books:add?filterByTk=3', expect: { status: 405 } },
  {
    name: 'get of one of them',
    request: 'GET /api/authors/1/books:get?filterByTk=2',
    expect: { status: 200, body: { data: { title: 'Two' } } },
  },
  { name: 'by the path', request: 'GET /api/authors/1/books:get/2', expect: { status: 200 } },
  {
    name: 'get of one that is not its own is 404',
    request: 'GET /api/authors/1/books:get?filterByTk=3',
    expect: { status: 404 },
  },
  { name: 'get without a target is 400', request: 'GET /api/authors/1/books:get', expect: { status: 400 } },
  {
    name: 'belongsTo get',
    request: 'GET /api/books/1/author:get',
    expect: { status: 200, body: { data: { name: 'Ann' } } },
  },
  {
    name: 'belongsTo get of nothing is null',
    request: 'GET /api/books/3/author:get',
    expect: { status: 200, body: { data: null } },
  },
  { name: 'of a missing parent 404', request: 'GET /api/books/99/author:get', expect: { status: 404 } },
  { name: 'a to-one has no list', request: 'GET /api/books/1/author:list', expect: { status: 404 } },
  { name: 'hasOne get', request: 'GET /api/authors/1/card:get', expect: { status: 200, body: { data: { no: 7 } } } },
  {
    name: 'hasOne get of nothing',
    request: 'GET /api/authors/2/card:get',
    expect: { status: 200, body: { data: null } },
  },
  {
    name: 'hasMany add',
    request: 'POST /api/authors/1/books:add',
    body: { values: [3] },
    expect: { status: 200, body: { data: [1, 2, 3] }, events: ['books.updated'] },
  },
  {
    name: 'added again it changes nothing',
    request: 'POST /api/authors/1/books:add',
    body: [3, { id: 1 }],
    expect: { status: 200, body: { data: [1, 2, 3] } },
  },
  { name: 'an unknown target is 400', request: 'POST /api/authors/1/books:add', body: [3, 99], expect: badTarget },
  { name: 'no target is 400', request: 'POST /api/authors/1/books:add', expect: { status: 400 } },
  {
    name: 'a target of the wrong type is 400',
    request: 'POST /api/authors/1/books:add',
    body: ['x'],
    expect: { status: 400, body: { code: 'BODY_INVALID' } },
  },
  {
    name: 'remove by filterByTk',
    request: 'POST /api/authors/1/books:remove?filterByTk=1',
    expect: { status: 200, body: { data: [2, 3] }, events: ['books.updated'] },
  },
  {
    name: 'removing what is not linked changes nothing',
    request: 'POST /api/authors/1/books:remove',
    body: { values: [4] },
    expect: { status: 200, body: { data: [2, 3] } },
  },
  {
    name: 'set replaces',
    request: 'POST /api/authors/1/books:set',
    body: { values: [1, 3] },
    expect: { status: 200, body: { data: [1, 3] }, events: ['books.updated', 'books.updated'] },
  },
  {
    name: 'toggle',
    request: 'POST /api/authors/1/books:toggle',
    body: { values: [2, 3] },
    expect: { status: 200, body: { data: [1, 2] }, events: ['books.updated', 'books.updated'] },
  },
  {
    name: 'set to nothing',
    request: 'POST /api/authors/1/books:set',
    body: { values: [] },
    expect: { status: 200, body: { data: [] }, events: ['books.updated', 'books.updated'] },
  },
  {
    name: 'hasMany create',
    request: 'POST /api/authors/2/books:create',
    body: { title: 'New' },
    expect: { status: 200, body: { data: { title: 'New', authorId: 2 } }, events: ['books.created'] },
  },
  {
    name: 'hasMany create of many',
    request: 'POST /api/authors/2/books:create',
    body: [{ title: 'A' }, { title: 'B' }],
    expect: {
      status: 200,
      body: { data: [{ authorId: 2 }, { authorId: 2 }] },
      events: ['books.created', 'books.created'],
    },
  },
  {
    name: 'a whitelist drops values of the body, not the link',
    request: 'POST /api/authors/2/books:create?whitelist=title&dryRun=true',
    body: { title: 'Kept', nonsense: 1 },
    expect: { status: 200, body: { data: { title: 'Kept', authorId: 2 }, meta: { dryRun: true } } },
  },
  {
    name: 'dryRun of a link says what would be',
    request: 'POST /api/authors/2/books:add?dryRun=true',
    body: [4],
    expect: { status: 200, body: { data: [4, 5, 6, 7], meta: { dryRun: true } } },
  },
  {
    name: 'with another foreign key it is a contradiction',
    request: 'POST /api/authors/2/books:create',
    body: { title: 'C', authorId: 1 },
    expect: { status: 400 },
  },
  {
    name: 'create under a missing parent is 404',
    request: 'POST /api/authors/99/books:create',
    body: {},
    expect: { status: 404 },
  },
  {
    name: 'update of one of them',
    request: 'POST /api/authors/2/books:update?filterByTk=5',
    body: { title: 'Newer' },
    expect: { status: 200, body: { data: { title: 'Newer' } }, events: ['books.updated'] },
  },
  {
    name: 'update by filter reaches its own alone',
    request: 'POST /api/authors/2/books:update?filter={"title":{"$ne":null}}',
    body: { title: 'Same' },
    expect: {
      status: 200,
      body: { data: [{ id: 5 }, { id: 6 }, { id: 7 }] },
      events: ['books.updated', 'books.updated', 'books.updated'],
    },
  },
  {
    name: 'update of one that is not its own is 404',
    request: 'POST /api/authors/2/books:update?filterByTk=1',
    body: { title: 'x' },
    expect: { status: 404 },
  },
  {
    name: 'several of which one is not its own are 404',
    request: 'POST /api/authors/2/books:update?filterByTk=[5,1]',
    body: { title: 'x' },
    expect: { status: 404 },
  },
  {
    name: 'destroy of one of them',
    request: 'POST /api/authors/2/books:destroy?filterByTk=7',
    expect: { status: 200, body: { data: 1 }, events: ['books.destroyed'] },
  },
  {
    name: 'destroy of one that is not its own is 404',
    request: 'POST /api/authors/2/books:destroy?filterByTk=1',
    expect: { status: 404 },
  },
  {
    name: 'belongsTo set',
    request: 'POST /api/books/1/author:set?filterByTk=3',
    expect: { status: 200, body: { data: [3] }, events: ['books.updated'] },
  },
  {
    name: 'set again changes nothing',
    request: 'POST /api/books/1/author:set',
    body: { values: [3] },
    expect: { status: 200, body: { data: [3] } },
  },
  { name: 'two for a to-one are 400', request: 'POST /api/books/1/author:set', body: [1, 2], expect: { status: 400 } },
  { name: 'an unknown author is 400', request: 'POST /api/books/1/author:set', body: [99], expect: badTarget },
  {
    name: 'remove of it',
    request: 'POST /api/books/1/author:remove',
    body: {},
    expect: { status: 200, body: { data: [] }, events: ['books.updated'] },
  },
  {
    name: 'belongsTo create makes and links',
    request: 'POST /api/books/1/author:create',
    body: { name: 'Dee' },
    expect: { status: 200, body: { data: { name: 'Dee' } }, events: ['authors.created', 'books.updated'] },
  },
  {
    name: 'a refused create leaves no link',
    request: 'POST /api/books/1/author:create',
    body: {},
    expect: { status: 422 },
  },
  {
    name: 'belongsTo update without a key',
    request: 'POST /api/books/1/author:update',
    body: { name: 'Dora' },
    expect: { status: 200, body: { data: { name: 'Dora' } }, events: ['authors.updated'] },
  },
  {
    name: 'hasOne set takes the place',
    request: 'POST /api/authors/1/card:set',
    body: { values: [2] },
    expect: { status: 200, body: { data: [2] }, events: ['cards.updated', 'cards.updated'] },
  },
  {
    name: 'hasOne update with none there creates it',
    request: 'POST /api/authors/2/card:update',
    body: { no: 9 },
    expect: { status: 200, body: { data: { no: 9, ownerId: 2 } }, events: ['cards.created'] },
  },
  {
    name: 'hasOne update of the one there',
    request: 'POST /api/authors/2/card:update',
    body: { no: 10 },
    expect: { status: 200, body: { data: { no: 10 } }, events: ['cards.updated'] },
  },
  {
    name: 'hasOne destroy',
    request: 'POST /api/authors/2/card:destroy',
    expect: { status: 200, body: { data: 1 }, events: ['cards.destroyed'] },
  },
  { name: 'destroy of none is 404', request: 'POST /api/authors/2/card:destroy', expect: { status: 404 } },
  {
    name: 'belongsToMany add, with values of the join',
    request: 'POST /api/books/1/tags:add',
    body: { values: [[1, { weight: 5 }], 2] },
    expect: { status: 200, body: { data: [1, 2] }, events: ['bookTags.created', 'bookTags.created'] },
  },
  {
    name: 'they are there',
    request: 'GET /api/bookTags:list?fields=bookId,tagId,weight&sort=tagId',
    expect: {
      status: 200,
      body: {
        data: [
          { tagId: 1, weight: 5 },
          { tagId: 2, weight: 1 },
        ],
      },
    },
  },
  {
    name: 'added again nothing changes',
    request: 'POST /api/books/1/tags:add?filterByTk[]=1&filterByTk[]=2',
    expect: { status: 200, body: { data: [1, 2] } },
  },
  {
    name: 'values of a join that is there are changed',
    request: 'POST /api/books/1/tags:add',
    body: [[1, { weight: 6 }]],
    expect: { status: 200, body: { data: [1, 2] }, events: ['bookTags.updated'] },
  },
  {
    name: 'a pair elsewhere is 400',
    request: 'POST /api/authors/1/books:add',
    body: [[1, { weight: 6 }]],
    expect: { status: 400 },
  },
  {
    name: 'a bad value of the join takes all back',
    request: 'POST /api/books/1/tags:add',
    body: [3, [2, { weight: 'heavy' }]],
    expect: { status: 422 },
  },
  {
    name: 'set replaces, keeping what stays',
    request: 'POST /api/books/1/tags:set',
    body: { values: [2, 3] },
    expect: { status: 200, body: { data: [2, 3] }, events: ['bookTags.destroyed', 'bookTags.created'] },
  },
  {
    name: 'toggle of one',
    request: 'POST /api/books/1/tags:toggle?filterByTk=3',
    expect: { status: 200, body: { data: [2] }, events: ['bookTags.destroyed'] },
  },
  {
    name: 'belongsToMany list',
    request: 'GET /api/books/1/tags:list?fields=name',
    expect: { status: 200, body: { data: [{ name: 'blue' }] } },
  },
  {
    name: 'belongsToMany create makes and links',
    request: 'POST /api/books/1/tags:create',
    body: { name: 'fresh' },
    expect: { status: 200, body: { data: { id: 4, name: 'fresh' } }, events: ['tags.created', 'bookTags.created'] },
  },
  {
    name: 'an unknown tag is 400',
    request: 'POST /api/books/1/tags:set',
    body: [2, 77],
    expect: badTarget,
  },
  {
    name: 'remove',
    request: 'POST /api/books/1/tags:remove',
    body: [2, 4, 3],
    expect: { status: 200, body: { data: [] }, events: ['bookTags.destroyed', 'bookTags.destroyed'] },
  },
  { name: 'without a credential 401', request: 'GET /api/authors/1/books:list', as: 'nobody', expect: { status: 401 } },
];

describeEngines('relations', (engine) => {
  describe('actions', () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await library(engine);
    });
    afterAll(() => server.stop());
    for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));
  });

  test('each takes the grants of what it writes', async () => {
    const server = await library(engine);
    const may = async (role: string, resource: string, actions: string[], more: object = {}): Promise<void> =>
      server.data('POST /api/permissions:create', { body: { role, resource, actions, ...more } });
    await server.data('POST /api/roles:create', { body: [{ name: 'clerk' }, { name: 'linker' }] });
    await may('clerk', 'authors', ['get', 'list'], { filter: { id: { $ne: 2 } } });
    await may('clerk', 'books', ['get', 'list', 'update'], { filter: { id: { $ne: 4 } } });
    await may('clerk', 'tags', ['get', 'list'], { filter: { id: { $ne: 3 } } });
    await may('linker', 'books', ['get', 'list']);
    await may('linker', 'books', ['update'], { fields: ['title'] });
    await may('linker', 'tags', ['get', 'list']);
    await may('linker', 'authors', ['get', 'list']);
    await server.key('clerk');
    await server.key('linker');
    const rows: [string, string, unknown, number][] = [
      ['clerk', 'GET /api/authors/2/books:list', undefined, 403],
      ['clerk', 'GET /api/authors/77/books:list', undefined, 403],
      ['clerk', 'POST /api/authors/2/books:add', [3], 403],
      ['clerk', 'POST /api/authors/1/books:add', [4], 400],
      ['clerk', 'POST /api/authors/1/books:create', { title: 'x' }, 403],
      ['clerk', 'POST /api/authors/1/books:destroy?filterByTk=1', undefined, 403],
      ['clerk', 'GET /api/authors/1/card:get', undefined, 403],
      ['clerk', 'POST /api/authors/1/card:set', [2], 403],
      ['clerk', 'POST /api/books/4/tags:add', [1], 403],
      ['clerk', 'POST /api/books/1/tags:add', [3], 400],
      ['clerk', 'POST /api/books/1/author:set', [2], 400],
      ['linker', 'POST /api/books/1/tags:add', [1], 403],
      ['linker', 'POST /api/books/1/author:set', [2], 403],
      ['linker', 'POST /api/authors/1/books:add', [3], 403],
      ['linker', 'POST /api/authors/1/books:remove', [1], 403],
      ['linker', 'GET /api/bookTags:list', undefined, 403],
    ];
    for (const [as, request, body, status] of rows)
      await server.play({ name: request, request, as, ...(body !== undefined && { body }), expect: { status } });
    await server.play({
      name: 'a clerk links what it may write and see',
      request: 'POST /api/books/1/tags:add',
      as: 'clerk',
      body: [1],
      expect: { status: 200, body: { data: [1] }, events: ['bookTags.created'] },
    });
    // What is out of sight stays as it is, and is not told.
    await server.data('POST /api/books/1/tags:add', { body: [3] });
    expect(await server.data('POST /api/books/1/tags:set', { as: 'clerk', body: [2] })).toEqual([2]);
    expect(await server.data('GET /api/books/1/tags:list?fields=id')).toEqual([{ id: 2 }, { id: 3 }]);
    await server.stop();
  });

  test('twenty parallel adds of one link make one', async () => {
    const server = await library(engine);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => server.call('POST /api/books/2/tags:add', { body: [1] })),
    );
    expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect((await server.call('GET /api/bookTags:list')).body.meta.count).toBe(1);
    await server.stop();
  });
});
