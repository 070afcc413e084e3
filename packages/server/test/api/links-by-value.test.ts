import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

/** Relations that name records by another field than their key; `code` may be empty. */
const definitions = [
  {
    name: 'shelves',
    fields: [
      { name: 'code', type: 'string', unique: true },
      { name: 'books', type: 'hasMany', target: 'books', foreignKey: 'shelfCode', sourceKey: 'code' },
      { name: 'label', type: 'hasOne', target: 'labels', foreignKey: 'shelfCode', sourceKey: 'code' },
    ],
    options: { timestamps: false },
  },
  {
    name: 'books',
    fields: [
      { name: 'title', type: 'string' },
      { name: 'shelf', type: 'belongsTo', target: 'shelves', foreignKey: 'shelfCode', targetKey: 'code' },
      { name: 'author', type: 'belongsTo', target: 'authors' },
    ],
    options: { timestamps: false },
  },
  { name: 'labels', fields: [{ name: 'text', type: 'string' }], options: { timestamps: false } },
  { name: 'authors', fields: [{ name: 'name', type: 'string' }], options: { timestamps: false } },
];

const nothingToNameBy = {
  status: 400,
  body: { code: 'REFERENCE_MISSING', message: expect.stringContaining('is empty') },
};

/** Played in order. Shelf 1 has the code A, shelf 2 none; book 1 stands on shelf 1. */
const scenarios: readonly Scenario[] = [
  {
    name: 'nothing is linked to a record whose key of the relation is empty',
    request: 'POST /api/shelves/2/books:add',
    body: [1],
    expect: nothingToNameBy,
  },
  {
    name: 'nor made under it',
    request: 'POST /api/shelves/2/books:create',
    body: { title: 'Lost' },
    expect: nothingToNameBy,
  },
  {
    name: 'nor as its one record',
    request: 'POST /api/shelves/2/label:update',
    body: { text: 'Lost' },
    expect: nothingToNameBy,
  },
  {
    name: 'nor by nested values',
    request: 'POST /api/shelves:update?filterByTk=2',
    body: { books: [{ title: 'Lost' }] },
    expect: nothingToNameBy,
  },
  {
    name: 'nor does a record let go of its own for it',
    request: 'POST /api/books/1/shelf:set?filterByTk=2',
    expect: nothingToNameBy,
  },
  {
    name: 'a record made to be linked needs it as well',
    request: 'POST /api/books/1/shelf:create',
    body: {},
    expect: nothingToNameBy,
  },
  {
    name: 'also in nested values',
    request: 'POST /api/books:create',
    body: { title: 'Two', shelf: { id: 2 } },
    expect: nothingToNameBy,
  },
  {
    name: 'where nothing is linked nothing is missing',
    request: 'POST /api/shelves/2/books:set',
    body: [],
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'two for a hasOne are 400, also under add',
    request: 'POST /api/shelves/1/label:add',
    body: [1, 2],
    expect: { status: 400, body: { code: 'BODY_INVALID' } },
  },
  {
    name: 'a value by which others name a record does not change',
    request: 'POST /api/shelves:update?filterByTk=1',
    body: { code: 'Z' },
    expect: {
      status: 409,
      body: {
        code: 'DEPENDANTS_EXIST',
        message: expect.stringContaining('books.'),
        details: { code: expect.any(String) },
      },
    },
  },
  {
    name: 'nor is it emptied, for several',
    request: 'POST /api/shelves:update?filterByTk=[1]',
    body: { code: null },
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST' } },
  },
  {
    name: 'a missing record deep inside is named by its own field',
    request: 'POST /api/shelves:create',
    body: { code: 'E', books: [{ title: 'ok' }, { title: 'x', authorId: 999 }] },
    expect: {
      status: 400,
      body: { code: 'REFERENCE_MISSING', details: { 'books[1].authorId': expect.any(String) } },
    },
  },
  {
    name: 'an object that holds the value of a record links it',
    request: 'POST /api/books:create',
    body: { title: 'Two', shelf: { code: 'A' } },
    expect: { status: 200, body: { data: { shelfCode: 'A' } }, events: ['books.created'] },
  },
  {
    name: 'one that holds no value that is there is made',
    request: 'POST /api/books:create?appends=shelf',
    body: { title: 'Three', shelf: { code: 'B' } },
    expect: {
      status: 200,
      body: { data: { shelfCode: 'B', shelf: { code: 'B' } } },
      events: ['shelves.created', 'books.created'],
    },
  },
  {
    name: 'so is one that holds an unknown key alone, as in a to-many',
    request: 'POST /api/books:create?appends=author',
    body: { title: 'Four', author: { id: 70 } },
    expect: { status: 200, body: { data: { author: { id: 70 } } }, events: ['authors.created', 'books.created'] },
  },
  {
    name: 'deep inside and in a list too',
    request: 'POST /api/shelves:create?appends=books.author',
    body: [
      { code: 'C', books: [{ title: 'Five', author: { id: 70 } }] },
      { code: 'D', books: [{ author: { id: 71 } }] },
    ],
    expect: {
      status: 200,
      body: {
        data: [
          { books: [{ shelfCode: 'C', author: { id: 70 } }] },
          { books: [{ shelfCode: 'D', author: { id: 71 } }] },
        ],
      },
      events: ['shelves.created', 'books.created', 'shelves.created', 'authors.created', 'books.created'],
    },
  },
  {
    name: 'an update by filter takes a key of a record that is there',
    request: 'POST /api/books:update?filter={"title":"Two"}',
    body: { author: { id: 71 } },
    expect: { status: 200, body: { data: [{ authorId: 71 }] }, events: ['books.updated'] },
  },
  {
    name: 'and makes none for many',
    request: 'POST /api/books:update?filter={"title":"Two"}',
    body: { author: { id: 72 } },
    expect: { status: 400, body: { code: 'BODY_INVALID' } },
  },
  {
    name: 'who may make none is told that there is none',
    request: 'POST /api/books:create',
    as: 'clerk',
    body: { title: 'Six', author: { id: 99 } },
    expect: { status: 400, body: { code: 'REFERENCE_MISSING' } },
  },
  {
    name: 'as of one out of sight',
    request: 'POST /api/books:create',
    as: 'clerk',
    body: { title: 'Six', author: { id: 71 } },
    expect: { status: 400, body: { code: 'REFERENCE_MISSING' } },
  },
  {
    name: 'a hasOne object comes in the place of the one before it',
    request: 'POST /api/shelves:update?filterByTk=1&appends=label',
    body: { label: { text: 'new' } },
    expect: {
      status: 200,
      body: { data: { label: { text: 'new' } } },
      events: ['shelves.updated', 'labels.updated', 'labels.created'],
    },
  },
];

describeEngines('relations that name records by a field of theirs', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:apply', { body: definitions });
    await server.data('POST /api/shelves:create', { body: [{ code: 'A' }, { code: null }] });
    await server.data('POST /api/books:create', { body: { title: 'One', shelfCode: 'A' } });
    await server.data('POST /api/labels:create', { body: [{ text: 'old', shelfCode: 'A' }, { text: 'loose' }] });
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    const may = async (resource: string, actions: string[], more: object = {}): Promise<void> =>
      server.data('POST /api/permissions:create', { body: { role: 'clerk', resource, actions, ...more } });
    await may('books', ['create', 'get']);
    await may('authors', ['get'], { filter: { id: { $ne: 71 } } });
    await server.key('clerk');
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));

  /** A type, a value as it is sent, and again as another spelling of it. */
  const spellings: readonly [string, unknown, unknown, object?][] = [
    ['bigInt', '9223372036854775807', '9223372036854775807'],
    ['bigInt', 7, '7'],
    ['decimal', '1.50', '1.5', { precision: 6, scale: 2 }],
    ['uid', '0198b1f0-0000-7000-8000-00000000000a', '0198B1F0-0000-7000-8000-00000000000A'],
    ['datetime', '2026-03-29T01:00:00.000Z', '2026-03-29T03:00:00+02:00'],
    ['date', '2026-03-29', '2026-03-29'],
    ['time', '02:30:00', '02:30'],
    ['integer', 5, 5],
    ['email', 'A@x.org', 'A@x.org'],
  ];
  for (const [index, [type, value, spelling, more]] of spellings.entries())
    test(`an object by a ${type} finds its record, ${JSON.stringify(spelling)}`, async () => {
      const [targets, sources] = [`targets${index}`, `sources${index}`];
      const to = { name: 'to', type: 'belongsTo', target: targets, foreignKey: 'by', targetKey: 'v' };
      const body = [
        { name: targets, fields: [{ name: 'v', type, unique: true, ...more }] },
        { name: sources, fields: [to] },
      ];
      await server.data('POST /api/collections:apply', { body });
      await server.data(`POST /api/${targets}:create`, { body: { v: value } });
      const reply = await server.call(`POST /api/${sources}:create?appends=to`, { body: { to: { v: spelling } } });
      const plain = await server.call(`POST /api/${sources}:create?appends=to`, { body: { by: spelling } });
      expect([reply.status, reply.body.data?.to]).toEqual([plain.status, plain.body.data?.to]);
      expect((await server.call(`GET /api/${targets}:list`)).body.meta.count).toBe(1);
    });
});
