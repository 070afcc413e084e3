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

const emptyKeyRefusal: Scenario['expect'] = {
  status: 400,
  code: 'REFERENCE_MISSING',
  body: { message: expect.stringContaining('references is null') },
};

/** The scenarios run in this order. Shelf 1 has the code A, shelf 2 has none, and book 1 is on shelf 1. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a record whose key of the relation is empty cannot be linked to',
    request: 'POST /api/shelves/2/books:add',
    body: [1],
    expect: emptyKeyRefusal,
  },
  {
    name: 'a record cannot be created under an empty key of the relation',
    request: 'POST /api/shelves/2/books:create',
    body: { title: 'Lost' },
    expect: emptyKeyRefusal,
  },
  {
    name: 'a hasOne cannot be set under an empty key of the relation',
    request: 'POST /api/shelves/2/label:update',
    body: { text: 'Lost' },
    expect: emptyKeyRefusal,
  },
  {
    name: 'nested values cannot be linked under an empty key of the relation',
    request: 'POST /api/shelves:update?filterByTk=2',
    body: { books: [{ title: 'Lost' }] },
    expect: emptyKeyRefusal,
  },
  {
    name: 'a refused link leaves the existing one',
    request: 'POST /api/books/1/shelf:set?filterByTk=2',
    expect: emptyKeyRefusal,
  },
  {
    name: 'a record that is created to be linked needs a value of the key',
    request: 'POST /api/books/1/shelf:create',
    body: {},
    expect: emptyKeyRefusal,
  },
  {
    name: 'nested values that are created to be linked need a value of the key',
    request: 'POST /api/books:create',
    body: { title: 'Two', shelf: { id: 2 } },
    expect: emptyKeyRefusal,
  },
  {
    name: 'an empty list needs no key',
    request: 'POST /api/shelves/2/books:set',
    body: [],
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'two records for a hasOne are refused with 400, also by add',
    request: 'POST /api/shelves/1/label:add',
    body: [1, 2],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'a value by which other records refer to a record cannot be changed',
    request: 'POST /api/shelves:update?filterByTk=1',
    body: { code: 'Z' },
    expect: {
      status: 409,
      code: 'DEPENDANTS_EXIST',
      body: {
        message: expect.stringContaining('books.'),
        details: { code: expect.any(String) },
      },
    },
  },
  {
    name: 'a value by which other records refer to several records cannot be emptied',
    request: 'POST /api/shelves:update?filterByTk=[1]',
    body: { code: null },
    expect: { status: 409, code: 'DEPENDANTS_EXIST' },
  },
  {
    name: 'a missing nested record is reported by the field that refers to it',
    request: 'POST /api/shelves:create',
    body: { code: 'E', books: [{ title: 'ok' }, { title: 'x', authorId: 999 }] },
    expect: {
      status: 400,
      code: 'REFERENCE_MISSING',
      body: { details: { 'books[1].authorId': expect.any(String) } },
    },
  },
  {
    name: 'an object with the referenced value of an existing record links it',
    request: 'POST /api/books:create',
    body: { title: 'Two', shelf: { code: 'A' } },
    expect: { status: 200, body: { data: { shelfCode: 'A' } }, events: ['books.created'] },
  },
  {
    name: 'an object with an unknown referenced value creates a record',
    request: 'POST /api/books:create?appends=shelf',
    body: { title: 'Three', shelf: { code: 'B' } },
    expect: {
      status: 200,
      body: { data: { shelfCode: 'B', shelf: { code: 'B' } } },
      events: ['shelves.created', 'books.created'],
    },
  },
  {
    name: 'an object that only has an unknown key creates a record, as in a to-many relation',
    request: 'POST /api/books:create?appends=author',
    body: { title: 'Four', author: { id: 70 } },
    expect: { status: 200, body: { data: { author: { id: 70 } } }, events: ['authors.created', 'books.created'] },
  },
  {
    name: 'nested objects and lists are resolved by the referenced value too',
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
    name: 'an update by filter accepts the referenced value of an existing record',
    request: 'POST /api/books:update?filter={"title":"Two"}',
    body: { author: { id: 71 } },
    expect: { status: 200, body: { data: [{ authorId: 71 }] }, events: ['books.updated'] },
  },
  {
    name: 'an update by filter creates no nested records',
    request: 'POST /api/books:update?filter={"title":"Two"}',
    body: { author: { id: 72 } },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'a caller who may not create is told that the record does not exist',
    request: 'POST /api/books:create',
    as: 'clerk',
    body: { title: 'Six', author: { id: 99 } },
    expect: { status: 400, code: 'REFERENCE_MISSING' },
  },
  {
    name: 'a caller gets the same reply for an invisible record',
    request: 'POST /api/books:create',
    as: 'clerk',
    body: { title: 'Six', author: { id: 71 } },
    expect: { status: 400, code: 'REFERENCE_MISSING' },
  },
  {
    name: 'a hasOne object replaces the previous record',
    request: 'POST /api/shelves:update?filterByTk=1&appends=label',
    body: { label: { text: 'new' } },
    expect: {
      status: 200,
      body: { data: { label: { text: 'new' } } },
      events: ['shelves.updated', 'labels.updated', 'labels.created'],
    },
  },
];

describeEngines('relations that refer to records by another field than the primary key', (engine) => {
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
    await server.createKey('clerk');
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));

  /** A type, a value, and another spelling of the same value. */
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
    test(`an object with a ${type} value finds its record: ${JSON.stringify(spelling)}`, async () => {
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
