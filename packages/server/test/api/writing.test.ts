import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type ExpectedOutcome, type Scenario, TestServer } from '../support/scenario.ts';

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

/** The scenarios run in this order. Author 1 is Ann, tags 1 and 2 are red and blue. */
const nested: readonly Scenario[] = [
  {
    name: 'a to-one object without a key is created and linked',
    request: 'POST /api/books:create?appends=author',
    body: { title: 'One', author: { name: 'Bob' } },
    expect: {
      status: 200,
      body: { data: { id: 1, authorId: 2, author: { name: 'Bob' } } },
      events: ['authors.created', 'books.created'],
    },
  },
  {
    name: 'a to-one object with an existing key is linked',
    request: 'POST /api/books:create',
    body: { title: 'Two', author: { id: 1 } },
    expect: { status: 200, body: { data: { authorId: 1 } }, events: ['books.created'] },
  },
  {
    name: 'other members of a linked object are refused with 400',
    request: 'POST /api/books:create',
    body: { title: 'X', author: { id: 1, name: 'Changed' } },
    expect: {
      status: 400,
      code: 'BODY_INVALID',
      body: { message: expect.stringContaining('updateAssociationValues') },
    },
  },
  {
    name: 'other members are written if updateAssociationValues names the relation',
    request: 'POST /api/books:update?filterByTk=2&updateAssociationValues=author&appends=author',
    body: { author: { id: 1, name: 'Anna' } },
    expect: { status: 200, body: { data: { author: { name: 'Anna' } } }, events: ['authors.updated', 'books.updated'] },
  },
  {
    name: 'an object with an unknown key is created with that key',
    request: 'POST /api/books:create',
    body: { title: 'Three', author: { id: 40, name: 'Forty' } },
    expect: { status: 200, body: { data: { authorId: 40 } }, events: ['authors.created', 'books.created'] },
  },
  {
    name: 'a to-many value takes keys, objects and new records, three levels deep',
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
    name: 'a to-many value replaces the set of links',
    request: 'POST /api/books:update?filterByTk=4&appends=tags',
    body: { title: 'A2', tags: [2] },
    expect: { status: 200, body: { data: { title: 'A2', tags: [{ name: 'blue' }] } } },
  },
  {
    name: 'null removes all links',
    request: 'POST /api/books:update?filterByTk=4&appends=tags',
    body: { tags: null },
    expect: { status: 200, body: { data: { tags: [] } } },
  },
  {
    name: 'an unknown key is refused with 400',
    request: 'POST /api/books:update?filterByTk=4',
    body: { tags: [1, 99] },
    expect: { status: 400, code: 'REFERENCE_MISSING' },
  },
  {
    name: 'an invalid nested value is reported with its error path, and nothing is stored',
    request: 'POST /api/authors:create',
    body: { name: 'Eve', books: [{ title: 'ok' }, { title: 'x'.repeat(30) }] },
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { 'books[1].title': expect.any(String) } } },
  },
  {
    name: 'problems of several records are reported with the index of the record',
    request: 'POST /api/authors:create',
    body: [{ name: 'Eve' }, { name: 'Fay', books: [{ title: 'x'.repeat(30) }] }],
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { '[1].books[0].title': expect.any(String) } } },
  },
  {
    name: 'a list for a to-one relation is refused with 400',
    request: 'POST /api/authors:create',
    body: { name: 'Eve', card: [{ no: 1 }] },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'a single record for a to-many relation is refused with 400',
    request: 'POST /api/authors:create',
    body: { name: 'Eve', books: { title: 'x' } },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'nested values in an update by filter are refused with 400',
    request: 'POST /api/books:update?filter={"id":1}',
    body: { tags: [1] },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'six levels of nested values are refused with 400',
    request: 'POST /api/authors:create',
    body: {
      name: '0',
      books: [{ author: { name: '2', books: [{ author: { name: '4', books: [{ author: { name: '6' } }] } }] } }],
    },
    expect: { status: 400, code: 'LIMIT_EXCEEDED' },
  },
  {
    name: 'problems of all records of a bulk create are listed, also nested ones',
    request: 'POST /api/authors:create',
    body: [
      { email: 'no address', books: [{ title: 'fits' }, { title: 'x'.repeat(21), tags: [{ name: 7 }] }] },
      { name: 'Ann', card: { no: 'x' } },
      { name: 5 },
    ],
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: {
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
    name: 'a malformed record does not hide the problems of the others',
    request: 'POST /api/authors:create',
    body: [
      { name: 'Ann', books: [{ title: 'x'.repeat(21) }] },
      { name: 'Bea', books: [{ ghost: 1 }] },
      { name: 'Eve', books: [{ title: 'x'.repeat(21) }] },
    ],
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: {
        message: expect.stringContaining(' [0].books[0].title: '),
        details: { '[0].books[0].title': expect.any(String), '[2].books[0].title': expect.any(String) },
      },
    },
  },
  {
    name: 'the message of a problem in an update by key contains the error path',
    request: 'POST /api/authors:update?filterByTk=1&updateAssociationValues=books',
    body: { books: [{ id: 1, title: 'x'.repeat(21) }] },
    expect: { status: 422, code: 'VALUE_INVALID', body: { message: expect.stringContaining(' books[0].title: ') } },
  },
  {
    name: 'problems of one record are reported together with nested ones',
    request: 'POST /api/books:create',
    body: { title: 'x'.repeat(21), author: { email: 'no' }, tags: [{ name: 1 }, 1, { name: 2 }] },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
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
    name: 'problems of an update are reported together with nested ones',
    request: 'POST /api/books:update?filterByTk=1',
    body: { title: 'x'.repeat(21), author: { name: null } },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: { details: { title: expect.any(String), 'author.name': expect.any(String) } },
    },
  },
  ...(
    [
      ['ghost', 'FIELD_UNKNOWN'],
      ['author.ghost', 'FIELD_UNKNOWN'],
      ['title', 'RELATION_UNKNOWN'],
      ['author.name', 'RELATION_UNKNOWN'],
      ['author,ghost', 'FIELD_UNKNOWN'],
    ] as const
  ).map(
    ([path, code]): Scenario => ({
      name: `updateAssociationValues=${path} is refused with 400`,
      request: `POST /api/books:update?filterByTk=1&updateAssociationValues=${path}`,
      body: { title: 'unchanged' },
      expect: { status: 400, code },
    }),
  ),
  {
    name: 'updateAssociationValues is checked for create and firstOrCreate',
    request: 'POST /api/authors:firstOrCreate?filterKeys=name&updateAssociationValues=ghost',
    body: { name: 'Ann' },
    expect: { status: 400, code: 'FIELD_UNKNOWN', body: { message: expect.stringContaining('"ghost"') } },
  },
  {
    name: 'members outside the whitelist are dropped',
    request: 'POST /api/books:update?filterByTk=1&whitelist=title',
    body: { title: 'W', note: 'dropped', nonsense: 1 },
    expect: { status: 200, body: { data: { title: 'W', note: null } }, events: ['books.updated'] },
  },
  {
    name: 'members of the blacklist are dropped',
    request: 'POST /api/books:create?blacklist=note,tags',
    body: { title: 'B', note: 'dropped', tags: [99] },
    expect: { status: 200, body: { data: { note: null } }, events: ['books.created'] },
  },
  {
    name: 'dryRun of a create reports the record',
    request: 'POST /api/books:create?dryRun=true',
    body: { title: 'Dry', author: { name: 'Dry' } },
    expect: { status: 200, body: { data: { title: 'Dry' }, meta: { dryRun: true } } },
  },
  {
    name: 'dryRun of a create stores nothing',
    request: 'GET /api/books:list?filter={"title":"Dry"}',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'dryRun of an update reports the record',
    request: 'POST /api/books:update?filterByTk=1&dryRun=true',
    body: { title: 'Dry' },
    expect: { status: 200, body: { data: { title: 'Dry' }, meta: { dryRun: true } } },
  },
  {
    name: 'dryRun of a destroy reports the number',
    request: 'POST /api/books:destroy?filter={"id":{"$gt":0}}&dryRun=true',
    expect: { status: 200, body: { data: 5, meta: { dryRun: true } } },
  },
  {
    name: 'dryRun of an invalid request is refused',
    request: 'POST /api/books:create?dryRun=true',
    body: { title: 'x'.repeat(30) },
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  {
    name: 'all records still exist after the dry runs',
    request: 'GET /api/books:list',
    expect: { status: 200, body: { meta: { count: 5 } } },
  },
  {
    name: 'firstOrCreate creates a record',
    request: 'POST /api/authors:firstOrCreate?filterKeys=email',
    body: { email: 'g@example.com', name: 'Gil' },
    expect: { status: 200, body: { data: { name: 'Gil' } }, events: ['authors.created'] },
  },
  {
    name: 'firstOrCreate finds a record and does not change it',
    request: 'POST /api/authors:firstOrCreate?filterKeys[]=email',
    body: { email: 'g@example.com', name: 'Other' },
    expect: { status: 200, body: { data: { name: 'Gil' } } },
  },
  {
    name: 'updateOrCreate changes a record',
    request: 'POST /api/authors:updateOrCreate?filterKeys=email',
    body: { email: 'g@example.com', name: 'Gilda' },
    expect: { status: 200, body: { data: { name: 'Gilda' } }, events: ['authors.updated'] },
  },
  {
    name: 'updateOrCreate creates a record with nested values',
    request: 'POST /api/authors:updateOrCreate?filterKeys=name&appends=books',
    body: { name: 'Hal', books: [{ title: 'H' }] },
    expect: {
      status: 200,
      body: { data: { name: 'Hal', books: [{ title: 'H' }] } },
      events: ['authors.created', 'books.created'],
    },
  },
  {
    name: 'firstOrCreate without filterKeys is refused with 400',
    request: 'POST /api/authors:firstOrCreate',
    body: { name: 'x' },
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a filter key that the body does not contain is refused with 400',
    request: 'POST /api/authors:firstOrCreate?filterKeys=email',
    body: { name: 'x' },
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'an unknown filter key is refused with 400',
    request: 'POST /api/authors:firstOrCreate?filterKeys=nope',
    body: { nope: 'x' },
    expect: { status: 400, code: 'FIELD_UNKNOWN' },
  },
  {
    name: 'search looks in every text field',
    request: 'GET /api/authors:list?search=GIL&fields=name',
    expect: { status: 200, body: { data: [{ name: 'Gilda' }], meta: { count: 1 } } },
  },
  {
    name: 'search looks in e-mail addresses',
    request: 'GET /api/authors:list?search=g%40example&fields=name',
    expect: { status: 200, body: { data: [{ name: 'Gilda' }] } },
  },
  {
    name: 'searchFields limits the searched fields',
    request: 'GET /api/authors:list?search=example&searchFields=name',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'search works with filter and cursor',
    request: 'GET /api/authors:list?search=a&filter={"id":{"$gt":1}}&sort=name&pageSize=1',
    expect: { status: 200, body: { meta: { hasNext: true } } },
  },
  {
    name: 'a blank search has no effect',
    request: 'GET /api/tags:list?search=%20&fields=name',
    expect: { status: 200, body: { meta: { count: 3 } } },
  },
  {
    name: 'a search in a number is refused with 400',
    request: 'GET /api/cards:list?search=1&searchFields=no',
    expect: { status: 400, code: 'OPERATOR_MISFIT' },
  },
  {
    name: 'a search in a collection without text finds nothing',
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
  describe('scenarios', () => {
    for (const scenario of nested)
      test(scenario.name, async () => {
        const events = 'events' in scenario.expect ? scenario.expect.events : undefined;
        if (scenario.expect.status === 200 && scenario.request.startsWith('POST') && !events) {
          const reply = await server.call(scenario.request, scenario);
          expect([reply.status, reply.status === 200 ? '' : reply.text]).toEqual([200, '']);
          expect(reply.body).toMatchObject(scenario.expect.body as object);
        } else await server.play(scenario);
      });
  });

  test('twenty parallel firstOrCreate create one record, and so do twenty updateOrCreate', async () => {
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

  test('nested values need the grants of each collection', async () => {
    const may = (resource: string, actions: string[], more: object = {}): Promise<unknown> =>
      server.data('POST /api/permissions:create', { body: { role: 'writer', resource, actions, ...more } });
    await server.data('POST /api/roles:create', { body: { name: 'writer' } });
    await may('books', ['create', 'get', 'list', 'update']);
    await may('authors', ['get', 'list'], { filter: { id: { $ne: 2 } } });
    await may('tags', ['get', 'list', 'create'], { fields: ['id'] });
    await server.createKey('writer');
    const rows: [unknown, ExpectedOutcome][] = [
      [
        { title: 'n', author: { name: 'New' } },
        { status: 403, code: 'NO_PERMISSION' },
      ],
      [
        { title: 'n', author: { id: 1, name: 'New' } },
        { status: 400, code: 'BODY_INVALID' },
      ],
      [
        { title: 'n', author: 2 },
        { status: 400, code: 'REFERENCE_MISSING' },
      ],
      [
        { title: 'n', tags: [{ name: 'secret' }] },
        { status: 403, code: 'FIELD_DENIED' },
      ],
      [
        { title: 'n', tags: [99] },
        { status: 400, code: 'REFERENCE_MISSING' },
      ],
    ];
    for (const [body, outcome] of rows)
      await server.play({
        name: JSON.stringify(body),
        request: 'POST /api/books:create',
        as: 'writer',
        body,
        expect: outcome,
      });
    const made = await server.data('POST /api/books:create', { as: 'writer', body: { title: 'n', tags: [1, {}] } });
    expect(made.title).toBe('n');
    const search = await server.call('GET /api/tags:list?search=red', { as: 'writer' });
    expect(search.body.data).toEqual([]);
    expect((await server.call('GET /api/tags:list?search=red&searchFields=name', { as: 'writer' })).status).toBe(403);
  });
});
