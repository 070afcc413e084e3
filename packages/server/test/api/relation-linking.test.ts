import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startLibraryServer } from '../support/library-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const badTarget: Scenario['expect'] = { status: 400, code: 'REFERENCE_MISSING' };

/** The scenarios run in this order. */
const scenarios: readonly Scenario[] = [
  {
    name: 'hasMany add links a record',
    request: 'POST /api/authors/1/books:add',
    body: { values: [3] },
    expect: { status: 200, body: { data: [1, 2, 3] }, events: ['books.updated'] },
  },
  {
    name: 'adding it again changes nothing',
    request: 'POST /api/authors/1/books:add',
    body: [3, { id: 1 }],
    expect: { status: 200, body: { data: [1, 2, 3] } },
  },
  {
    name: 'an unknown target is refused with 400',
    request: 'POST /api/authors/1/books:add',
    body: [3, 99],
    expect: badTarget,
  },
  {
    name: 'a missing target is refused with 400',
    request: 'POST /api/authors/1/books:add',
    expect: { status: 400, code: 'TARGET_MISSING' },
  },
  {
    name: 'a target of the wrong type is refused with 400',
    request: 'POST /api/authors/1/books:add',
    body: ['x'],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'hasMany remove takes filterByTk',
    request: 'POST /api/authors/1/books:remove?filterByTk=1',
    expect: { status: 200, body: { data: [2, 3] }, events: ['books.updated'] },
  },
  {
    name: 'removing a record that is not linked changes nothing',
    request: 'POST /api/authors/1/books:remove',
    body: { values: [4] },
    expect: { status: 200, body: { data: [2, 3] } },
  },
  {
    name: 'hasMany set replaces the links',
    request: 'POST /api/authors/1/books:set',
    body: { values: [1, 3] },
    expect: { status: 200, body: { data: [1, 3] }, events: ['books.updated', 'books.updated'] },
  },
  {
    name: 'hasMany toggle changes each link',
    request: 'POST /api/authors/1/books:toggle',
    body: { values: [2, 3] },
    expect: { status: 200, body: { data: [1, 2] }, events: ['books.updated', 'books.updated'] },
  },
  {
    name: 'hasMany set to an empty list removes all links',
    request: 'POST /api/authors/1/books:set',
    body: { values: [] },
    expect: { status: 200, body: { data: [] }, events: ['books.updated', 'books.updated'] },
  },
  {
    name: 'hasMany create creates and links a record',
    request: 'POST /api/authors/2/books:create',
    body: { title: 'New' },
    expect: { status: 200, body: { data: { title: 'New', authorId: 2 } }, events: ['books.created'] },
  },
  {
    name: 'hasMany create accepts several records',
    request: 'POST /api/authors/2/books:create',
    body: [{ title: 'A' }, { title: 'B' }],
    expect: {
      status: 200,
      body: { data: [{ authorId: 2 }, { authorId: 2 }] },
      events: ['books.created', 'books.created'],
    },
  },
  {
    name: 'a whitelist drops values of the body, but not the link',
    request: 'POST /api/authors/2/books:create?whitelist=title&dryRun=true',
    body: { title: 'Kept', nonsense: 1 },
    expect: { status: 200, body: { data: { title: 'Kept', authorId: 2 }, meta: { dryRun: true } } },
  },
  {
    name: 'dryRun of a link reports the change',
    request: 'POST /api/authors/2/books:add?dryRun=true',
    body: [4],
    expect: { status: 200, body: { data: [4, 5, 6, 7], meta: { dryRun: true } } },
  },
  {
    name: 'hasMany create with another foreign key is refused',
    request: 'POST /api/authors/2/books:create',
    body: { title: 'C', authorId: 1 },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'create below a missing parent is refused with 404',
    request: 'POST /api/authors/99/books:create',
    body: {},
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'update changes a linked record',
    request: 'POST /api/authors/2/books:update?filterByTk=5',
    body: { title: 'Newer' },
    expect: { status: 200, body: { data: { title: 'Newer' } }, events: ['books.updated'] },
  },
  {
    name: 'update by filter only changes linked records',
    request: 'POST /api/authors/2/books:update?filter={"title":{"$ne":null}}',
    body: { title: 'Same' },
    expect: {
      status: 200,
      body: { data: [{ id: 5 }, { id: 6 }, { id: 7 }] },
      events: ['books.updated', 'books.updated', 'books.updated'],
    },
  },
  {
    name: 'update of a record that is not linked is refused with 404',
    request: 'POST /api/authors/2/books:update?filterByTk=1',
    body: { title: 'x' },
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'update of several records of which one is not linked is refused with 404',
    request: 'POST /api/authors/2/books:update?filterByTk=[5,1]',
    body: { title: 'x' },
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'destroy deletes a linked record',
    request: 'POST /api/authors/2/books:destroy?filterByTk=7',
    expect: { status: 200, body: { data: 1 }, events: ['books.destroyed'] },
  },
  {
    name: 'destroy of a record that is not linked is refused with 404',
    request: 'POST /api/authors/2/books:destroy?filterByTk=1',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'belongsTo set links a record',
    request: 'POST /api/books/1/author:set?filterByTk=3',
    expect: { status: 200, body: { data: [3] }, events: ['books.updated'] },
  },
  {
    name: 'setting the same record again changes nothing',
    request: 'POST /api/books/1/author:set',
    body: { values: [3] },
    expect: { status: 200, body: { data: [3] } },
  },
  {
    name: 'two targets of a to-one relation are refused with 400',
    request: 'POST /api/books/1/author:set',
    body: [1, 2],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'an unknown target of a belongsTo is refused with 400',
    request: 'POST /api/books/1/author:set',
    body: [99],
    expect: badTarget,
  },
  {
    name: 'belongsTo remove removes the link',
    request: 'POST /api/books/1/author:remove',
    body: {},
    expect: { status: 200, body: { data: [] }, events: ['books.updated'] },
  },
  {
    name: 'belongsTo create creates and links a record',
    request: 'POST /api/books/1/author:create',
    body: { name: 'Dee' },
    expect: { status: 200, body: { data: { name: 'Dee' } }, events: ['authors.created', 'books.updated'] },
  },
  {
    name: 'a refused create leaves no link',
    request: 'POST /api/books/1/author:create',
    body: {},
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  {
    name: 'belongsTo update needs no key',
    request: 'POST /api/books/1/author:update',
    body: { name: 'Dora' },
    expect: { status: 200, body: { data: { name: 'Dora' } }, events: ['authors.updated'] },
  },
  {
    name: 'hasOne set replaces the linked record',
    request: 'POST /api/authors/1/card:set',
    body: { values: [2] },
    expect: { status: 200, body: { data: [2] }, events: ['cards.updated', 'cards.updated'] },
  },
  {
    name: 'hasOne update creates the record if there is none',
    request: 'POST /api/authors/2/card:update',
    body: { no: 9 },
    expect: { status: 200, body: { data: { no: 9, ownerId: 2 } }, events: ['cards.created'] },
  },
  {
    name: 'hasOne update changes the linked record',
    request: 'POST /api/authors/2/card:update',
    body: { no: 10 },
    expect: { status: 200, body: { data: { no: 10 } }, events: ['cards.updated'] },
  },
  {
    name: 'hasOne destroy deletes the linked record',
    request: 'POST /api/authors/2/card:destroy',
    expect: { status: 200, body: { data: 1 }, events: ['cards.destroyed'] },
  },
  {
    name: 'hasOne destroy without a linked record is refused with 404',
    request: 'POST /api/authors/2/card:destroy',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'belongsToMany add accepts values of the join record',
    request: 'POST /api/books/1/tags:add',
    body: { values: [[1, { weight: 5 }], 2] },
    expect: { status: 200, body: { data: [1, 2] }, events: ['bookTags.created', 'bookTags.created'] },
  },
  {
    name: 'the values of the join record are stored',
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
    name: 'adding the same link again changes nothing',
    request: 'POST /api/books/1/tags:add?filterByTk[]=1&filterByTk[]=2',
    expect: { status: 200, body: { data: [1, 2] } },
  },
  {
    name: 'values of an existing join record are changed',
    request: 'POST /api/books/1/tags:add',
    body: [[1, { weight: 6 }]],
    expect: { status: 200, body: { data: [1, 2] }, events: ['bookTags.updated'] },
  },
  {
    name: 'a join value that names another pair is refused with 400',
    request: 'POST /api/authors/1/books:add',
    body: [[1, { weight: 6 }]],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'an invalid value of the join record rolls everything back',
    request: 'POST /api/books/1/tags:add',
    body: [3, [2, { weight: 'heavy' }]],
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  {
    name: 'belongsToMany set replaces the links and keeps common ones',
    request: 'POST /api/books/1/tags:set',
    body: { values: [2, 3] },
    expect: { status: 200, body: { data: [2, 3] }, events: ['bookTags.destroyed', 'bookTags.created'] },
  },
  {
    name: 'belongsToMany toggle changes one link',
    request: 'POST /api/books/1/tags:toggle?filterByTk=3',
    expect: { status: 200, body: { data: [2] }, events: ['bookTags.destroyed'] },
  },
  {
    name: 'belongsToMany list returns the linked records',
    request: 'GET /api/books/1/tags:list?fields=name',
    expect: { status: 200, body: { data: [{ name: 'blue' }] } },
  },
  {
    name: 'belongsToMany create creates and links a record',
    request: 'POST /api/books/1/tags:create',
    body: { name: 'fresh' },
    expect: { status: 200, body: { data: { id: 4, name: 'fresh' } }, events: ['tags.created', 'bookTags.created'] },
  },
  {
    name: 'an unknown target of a belongsToMany is refused with 400',
    request: 'POST /api/books/1/tags:set',
    body: [2, 77],
    expect: badTarget,
  },
  {
    name: 'belongsToMany remove removes a link',
    request: 'POST /api/books/1/tags:remove',
    body: [2, 4, 3],
    expect: { status: 200, body: { data: [] }, events: ['bookTags.destroyed', 'bookTags.destroyed'] },
  },
];

describeEngines('linking records', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startLibraryServer(engine);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));

  test('twenty parallel adds of one link create one link', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => server.call('POST /api/books/2/tags:add', { body: [1] })),
    );
    expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect((await server.call('GET /api/bookTags:list?filter={"bookId":2}')).body.meta.count).toBe(1);
  });
});
