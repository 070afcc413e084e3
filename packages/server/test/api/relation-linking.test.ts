import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { library } from '../support/library.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const badTarget = { status: 400, body: { code: 'REFERENCE_MISSING' } };

/** Played in order. */
const scenarios: readonly Scenario[] = [
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
];

describeEngines('linking', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await library(engine);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));

  test('twenty parallel adds of one link make one', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => server.call('POST /api/books/2/tags:add', { body: [1] })),
    );
    expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect((await server.call('GET /api/bookTags:list?filter={"bookId":2}')).body.meta.count).toBe(1);
  });
});
