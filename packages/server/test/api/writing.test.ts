import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const definitions = [
  {
    name: 'authors',
    fields: [
      { name: 'name', type: 'string', required: true },
      { name: 'email', type: 'email', unique: true },
      { name: 'books', type: 'hasMany', target: 'books', foreignKey: 'authorId', onDelete: 'cascade' },
      { name: 'card', type: 'hasOne', target: 'cards', foreignKey: 'ownerId' },
    ],
  },
  {
    name: 'books',
    fields: [
      { name: 'title', type: 'string', maxLength: 20 },
      { name: 'note', type: 'text' },
      { name: 'author', type: 'belongsTo', target: 'authors', onDelete: 'cascade' },
      { name: 'tags', type: 'belongsToMany', target: 'tags' },
    ],
  },
  { name: 'cards', fields: [{ name: 'no', type: 'integer' }] },
  { name: 'tags', fields: [{ name: 'name', type: 'string' }] },
];

/** Played in order. Author 1 is Ann, tags 1 and 2 are red and blue. */
const nested: readonly Scenario[] = [
  {
    name: 'a to-one object without a key is made and linked',
    request: 'POST /api/books:create?appends=author',
    body: { title: 'One', author: { name: 'Bob' } },
    expect: {
      status: 200,
      body: { data: { id: 1, authorId: 2, author: { name: 'Bob' } } },
      events: ['authors.created', 'books.created'],
    },
  },
  {
    name: 'a to-one object with a key that is there links',
    request: 'POST /api/books:create',
    body: { title: 'Two', author: { id: 1 } },
    expect: { status: 200, body: { data: { authorId: 1 } }, events: ['books.created'] },
  },
  {
    name: 'its other members are 400',
    request: 'POST /api/books:create',
    body: { title: 'X', author: { id: 1, name: 'Changed' } },
    expect: { status: 400, body: { message: expect.stringContaining('updateAssociationValues') } },
  },
  {
    name: 'unless updateAssociationValues names the relation',
    request: 'POST /api/books:update?filterByTk=2&updateAssociationValues=author&appends=author',
    body: { author: { id: 1, name: 'Anna' } },
    expect: { status: 200, body: { data: { author: { name: 'Anna' } } }, events: ['authors.updated', 'books.updated'] },
  },
  {
    name: 'an object with an unknown key is made under it',
    request: 'POST /api/books:create',
    body: { title: 'Three', author: { id: 40, name: 'Forty' } },
    expect: { status: 200, body: { data: { authorId: 40 } }, events: ['authors.created', 'books.created'] },
  },
  {
    name: 'to-many by keys, objects, and new ones, three deep',
    request: 'POST /api/authors:create?appends=books.tags,card',
    body: {
      name: 'Cid',
      card: { no: 3 },
      books: [{ title: 'A', tags: [1, { name: 'new' }] }, 2, { id: 1 }],
    },
    expect: {
      status: 200,
      body: {
        data: {
          name: 'Cid',
          card: { no: 3 },
          books: [
            { id: 1, title: 'One', tags: [] },
            { id: 2, title: 'Two' },
            { id: 4, title: 'A', tags: [{ name: 'red' }, { name: 'new' }] },
          ],
        },
      },
    },
  },
  {
    name: 'a to-many value replaces the set',
    request: 'POST /api/books:update?filterByTk=4&appends=tags',
    body: { title: 'A2', tags: [2] },
    expect: { status: 200, body: { data: { title: 'A2', tags: [{ name: 'blue' }] } } },
  },
  {
    name: 'null clears it',
    request: 'POST /api/books:update?filterByTk=4&appends=tags',
    body: { tags: null },
    expect: { status: 200, body: { data: { tags: [] } } },
  },
  {
    name: 'an unknown key is 400',
    request: 'POST /api/books:update?filterByTk=4',
    body: { tags: [1, 99] },
    expect: { status: 400, body: { code: 'REFERENCE_MISSING' } },
  },
  {
    name: 'a bad value deep inside is told at its place, and nothing is kept',
    request: 'POST /api/authors:create',
    body: { name: 'Eve', books: [{ title: 'ok' }, { title: 'x'.repeat(30) }] },
    expect: { status: 422, body: { details: { 'books[1].title': expect.any(String) } } },
  },
  {
    name: 'in many records under the index of the record',
    request: 'POST /api/authors:create',
    body: [{ name: 'Eve' }, { name: 'Fay', books: [{ title: 'x'.repeat(30) }] }],
    expect: { status: 422, body: { details: { '[1].books[0].title': expect.any(String) } } },
  },
  {
    name: 'a list for a to-one is 400',
    request: 'POST /api/authors:create',
    body: { name: 'Eve', card: [{ no: 1 }] },
    expect: { status: 400 },
  },
  {
    name: 'one record for a to-many is 400',
    request: 'POST /api/authors:create',
    body: { name: 'Eve', books: { title: 'x' } },
    expect: { status: 400 },
  },
  {
    name: 'nested values by filter are 400',
    request: 'POST /api/books:update?filter={"id":1}',
    body: { tags: [1] },
    expect: { status: 400 },
  },
  {
    name: 'six deep is 400',
    request: 'POST /api/authors:create',
    body: {
      name: '0',
      books: [{ author: { name: '2', books: [{ author: { name: '4', books: [{ author: { name: '6' } }] } }] } }],
    },
    expect: { status: 400, body: { code: 'LIMIT_EXCEEDED' } },
  },
  {
    name: 'problems of all records of a bulk create are listed, nested ones too',
    request: 'POST /api/authors:create',
    body: [
      { email: 'no address', books: [{ title: 'fits' }, { title: 'x'.repeat(21), tags: [{ name: 7 }] }] },
      { name: 'Ann', card: { no: 'x' } },
      { name: 5 },
    ],
    expect: {
      status: 422,
      body: {
        code: 'VALUE_INVALID',
        details: {
          '[0].name': expect.any(String),
          '[0].email': expect.any(String),
          '[0].books[1].title': expect.any(String),
          '[0].books[1].tags[0].name': expect.any(String),
          '[1].card.no': expect.any(String),
          '[2].name': expect.any(String),
        },
      },
    },
  },
  {
    name: 'a malformed record among them does not hide the problems of the others',
    request: 'POST /api/authors:create',
    body: [
      { name: 'Ann', books: [{ title: 'x'.repeat(21) }] },
      { name: 'Bea', books: [{ ghost: 1 }] },
      { name: 'Eve', books: [{ title: 'x'.repeat(21) }] },
    ],
    expect: {
      status: 422,
      body: {
        message: expect.stringContaining(' [0].books[0].title: '),
        details: { '[0].books[0].title': expect.any(String), '[2].books[0].title': expect.any(String) },
      },
    },
  },
  {
    name: 'the message of a problem in an update by key names the place too',
    request: 'POST /api/authors:update?filterByTk=1&updateAssociationValues=books',
    body: { books: [{ id: 1, title: 'x'.repeat(21) }] },
    expect: { status: 422, body: { message: expect.stringContaining(' books[0].title: ') } },
  },
  {
    name: 'problems of one record with those nested in it',
    request: 'POST /api/books:create',
    body: { title: 'x'.repeat(21), author: { email: 'no' }, tags: [{ name: 1 }, 1, { name: 2 }] },
    expect: {
      status: 422,
      body: {
        details: {
          title: expect.any(String),
          'author.name': expect.any(String),
          'author.email': expect.any(String),
          'tags[0].name': expect.any(String),
          'tags[2].name': expect.any(String),
        },
      },
    },
  },
  {
    name: 'problems of an update with those nested in it',
    request: 'POST /api/books:update?filterByTk=1',
    body: { title: 'x'.repeat(21), author: { name: null } },
    expect: { status: 422, body: { details: { title: expect.any(String), 'author.name': expect.any(String) } } },
  },
  ...['ghost', 'author.ghost', 'title', 'author.name', 'author,ghost'].map(
    (path): Scenario => ({
      name: `updateAssociationValues=${path} is 400`,
      request: `POST /api/books:update?filterByTk=1&updateAssociationValues=${path}`,
      body: { title: 'unchanged' },
      expect: { status: 400 },
    }),
  ),
  {
    name: 'updateAssociationValues of a create and of firstOrCreate too',
    request: 'POST /api/authors:firstOrCreate?filterKeys=name&updateAssociationValues=ghost',
    body: { name: 'Ann' },
    expect: { status: 400, body: { message: expect.stringContaining('"ghost"') } },
  },
  {
    name: 'keys outside whitelist are dropped',
    request: 'POST /api/books:update?filterByTk=1&whitelist=title',
    body: { title: 'W', note: 'dropped', nonsense: 1 },
    expect: { status: 200, body: { data: { title: 'W', note: null } }, events: ['books.updated'] },
  },
  {
    name: 'keys inside blacklist too',
    request: 'POST /api/books:create?blacklist=note,tags',
    body: { title: 'B', note: 'dropped', tags: [99] },
    expect: { status: 200, body: { data: { note: null } }, events: ['books.created'] },
  },
  {
    name: 'dryRun of a create says what would be',
    request: 'POST /api/books:create?dryRun=true',
    body: { title: 'Dry', author: { name: 'Dry' } },
    expect: { status: 200, body: { data: { title: 'Dry' }, meta: { dryRun: true } } },
  },
  {
    name: 'and keeps nothing',
    request: 'GET /api/books:list?filter={"title":"Dry"}',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'dryRun of an update',
    request: 'POST /api/books:update?filterByTk=1&dryRun=true',
    body: { title: 'Dry' },
    expect: { status: 200, body: { data: { title: 'Dry' }, meta: { dryRun: true } } },
  },
  {
    name: 'dryRun of a destroy',
    request: 'POST /api/books:destroy?filter={"id":{"$gt":0}}&dryRun=true',
    expect: { status: 200, body: { data: 5, meta: { dryRun: true } } },
  },
  {
    name: 'dryRun of what would be refused is refused',
    request: 'POST /api/books:create?dryRun=true',
    body: { title: 'x'.repeat(30) },
    expect: { status: 422 },
  },
  { name: 'all are there', request: 'GET /api/books:list', expect: { status: 200, body: { meta: { count: 5 } } } },
  {
    name: 'firstOrCreate makes',
    request: 'POST /api/authors:firstOrCreate?filterKeys=email',
    body: { email: 'g@example.com', name: 'Gil' },
    expect: { status: 200, body: { data: { name: 'Gil' } }, events: ['authors.created'] },
  },
  {
    name: 'firstOrCreate finds, and changes nothing',
    request: 'POST /api/authors:firstOrCreate?filterKeys[]=email',
    body: { email: 'g@example.com', name: 'Other' },
    expect: { status: 200, body: { data: { name: 'Gil' } } },
  },
  {
    name: 'updateOrCreate changes',
    request: 'POST /api/authors:updateOrCreate?filterKeys=email',
    body: { email: 'g@example.com', name: 'Gilda' },
    expect: { status: 200, body: { data: { name: 'Gilda' } }, events: ['authors.updated'] },
  },
  {
    name: 'updateOrCreate makes, nested values too',
    request: 'POST /api/authors:updateOrCreate?filterKeys=name&appends=books',
    body: { name: 'Hal', books: [{ title: 'H' }] },
    expect: {
      status: 200,
      body: { data: { name: 'Hal', books: [{ title: 'H' }] } },
      events: ['authors.created', 'books.created'],
    },
  },
  {
    name: 'without filterKeys it is 400',
    request: 'POST /api/authors:firstOrCreate',
    body: { name: 'x' },
    expect: { status: 400 },
  },
  {
    name: 'a filter key that the body does not give is 400',
    request: 'POST /api/authors:firstOrCreate?filterKeys=email',
    body: { name: 'x' },
    expect: { status: 400 },
  },
  {
    name: 'an unknown filter key is 400',
    request: 'POST /api/authors:firstOrCreate?filterKeys=nope',
    body: { nope: 'x' },
    expect: { status: 400, body: { code: 'FIELD_UNKNOWN' } },
  },
  {
    name: 'search looks into every text field',
    request: 'GET /api/authors:list?search=GIL&fields=name',
    expect: { status: 200, body: { data: [{ name: 'Gilda' }], meta: { count: 1 } } },
  },
  {
    name: 'and into e-mail addresses',
    request: 'GET /api/authors:list?search=g%40example&fields=name',
    expect: { status: 200, body: { data: [{ name: 'Gilda' }] } },
  },
  {
    name: 'searchFields narrows it',
    request: 'GET /api/authors:list?search=example&searchFields=name',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'with filter and cursor',
    request: 'GET /api/authors:list?search=a&filter={"id":{"$gt":1}}&sort=name&pageSize=1',
    expect: { status: 200, body: { meta: { hasNext: true } } },
  },
  {
    name: 'a blank search is none',
    request: 'GET /api/tags:list?search=%20&fields=name',
    expect: { status: 200, body: { meta: { count: 3 } } },
  },
  {
    name: 'a search in a number is 400',
    request: 'GET /api/cards:list?search=1&searchFields=no',
    expect: { status: 400 },
  },
  {
    name: 'where there is no text nothing is found',
    request: 'GET /api/cards:list?search=1',
    expect: { status: 200, body: { data: [] } },
  },
];

describeEngines('writing', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:apply', { body: definitions });
    await server.data('POST /api/authors:create', { body: { name: 'Ann' } });
    await server.data('POST /api/tags:create', { body: [{ name: 'red' }, { name: 'blue' }] });
  });
  afterAll(() => server.stop());
  describe('in order', () => {
    for (const scenario of nested)
      test(scenario.name, async () => {
        const events = scenario.expect.events;
        if (scenario.expect.status === 200 && scenario.request.startsWith('POST') && !events) {
          const reply = await server.call(scenario.request, scenario);
          expect([reply.status, reply.status === 200 ? '' : reply.text]).toEqual([200, '']);
          expect(reply.body).toMatchObject(scenario.expect.body as object);
        } else await server.play(scenario);
      });
  });

  test('twenty parallel firstOrCreate make one, twenty updateOrCreate too', async () => {
    for (const action of ['firstOrCreate', 'updateOrCreate']) {
      const body = { name: action, title: 'x' };
      const replies = await Promise.all(
        Array.from({ length: 20 }, () =>
          server.call(`POST /api/tags:${action}?filterKeys=name&whitelist=name`, { body }),
        ),
      );
      expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 20 }, () => 200));
      expect(await server.data(`GET /api/tags:list?filter={"name":"${action}"}`)).toHaveLength(1);
    }
  });

  test('nested values take the grants of each collection, node by node', async () => {
    const may = (resource: string, actions: string[], more: object = {}): Promise<unknown> =>
      server.data('POST /api/permissions:create', { body: { role: 'writer', resource, actions, ...more } });
    await server.data('POST /api/roles:create', { body: { name: 'writer' } });
    await may('books', ['create', 'get', 'list', 'update']);
    await may('authors', ['get', 'list'], { filter: { id: { $ne: 2 } } });
    await may('tags', ['get', 'list', 'create'], { fields: ['id'] });
    await server.key('writer');
    const rows: [unknown, number][] = [
      [{ title: 'n', author: { name: 'New' } }, 403],
      [{ title: 'n', author: { id: 1, name: 'New' } }, 400],
      [{ title: 'n', author: 2 }, 400],
      [{ title: 'n', tags: [{ name: 'secret' }] }, 403],
      [{ title: 'n', tags: [99] }, 400],
    ];
    for (const [body, status] of rows)
      await server.play({
        name: JSON.stringify(body),
        request: 'POST /api/books:create',
        as: 'writer',
        body,
        expect: { status },
      });
    const made = await server.data('POST /api/books:create', { as: 'writer', body: { title: 'n', tags: [1, {}] } });
    expect(made.title).toBe('n');
    const search = await server.call('GET /api/tags:list?search=red', { as: 'writer' });
    expect(search.body.data).toEqual([]);
    expect((await server.call('GET /api/tags:list?search=red&searchFields=name', { as: 'writer' })).status).toBe(403);
  });
});
