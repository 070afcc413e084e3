import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const chinook = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../../../scripts/chinook-definitions.json', import.meta.url)), 'utf8'),
) as { name: string; fields: { name: string; type: string }[] }[];

const authors = { name: 'authors', fields: [{ name: 'name', type: 'string', required: true }] };
const books = {
  name: 'books',
  fields: [
    { name: 'title', type: 'string' },
    { name: 'author', type: 'belongsTo', target: 'authors' },
  ],
};
const apply = 'POST /api/collections:apply';
const invalid = (details: object): Scenario['expect'] => ({
  status: 422,
  code: 'DEFINITION_INVALID',
  body: { error: 'Validation Error', details },
});

/** `authors` and `books` exist, with two authors and three books. */
const refusals: readonly Scenario[] = [
  {
    name: 'a body that is not a list is refused with 422',
    request: apply,
    body: authors,
    expect: invalid({ body: expect.any(String) }),
  },
  {
    name: 'all problems of all definitions are reported together, with their error paths',
    request: apply,
    body: [authors, { name: 'a b', fields: [{ name: 'n', type: 'number' }] }, { name: 'users2', fields: 'none' }],
    expect: invalid({
      '[1].name': expect.any(String),
      '[1].fields[0].type': expect.any(String),
      '[2].fields': expect.any(String),
    }),
  },
  {
    name: 'a duplicate name is refused with 422',
    request: apply,
    body: [authors, authors],
    expect: invalid({ '[1].name': 'Two collections are named "authors". Rename one of them.' }),
  },
  {
    name: 'an unknown target is refused with 422 and its error path, and earlier changes are rolled back',
    request: apply,
    body: [
      { name: 'firstOne', fields: [{ name: 'n', type: 'integer' }] },
      {
        name: 'secondOne',
        fields: [
          { name: 'n', type: 'integer' },
          { name: 'to', type: 'hasMany', target: 'nowhere' },
        ],
      },
    ],
    expect: invalid({ '[1].fields[1].target': 'There is no collection "nowhere".' }),
  },
  {
    name: 'an unknown target of a belongsTo is refused with 422',
    request: apply,
    body: [
      {
        name: 'secondOne',
        fields: [
          { name: 'many', type: 'hasMany', target: 'authors' },
          { name: 'to', type: 'belongsTo', target: 'nowhere' },
        ],
      },
    ],
    expect: invalid({ '[0].fields[1].target': 'There is no collection "nowhere".' }),
  },
  {
    name: 'a new collection with a reserved name is refused with 422',
    request: apply,
    body: [{ name: 'realtime' }],
    expect: invalid({ '[0].name': expect.any(String) }),
  },
  {
    name: 'a type change that cannot convert a value rolls back the whole set',
    request: apply,
    body: [{ name: 'fresh' }, { name: 'authors', fields: [{ name: 'name', type: 'integer' }] }],
    expect: invalid({ '[1].fields[0].type': expect.stringContaining('2 values cannot be converted') }),
  },
  {
    name: 'a required field without a default on a collection with records is refused with 422',
    request: apply,
    body: [{ name: 'authors', fields: [{ name: 'born', type: 'integer', required: true }] }],
    expect: invalid({ '[0].fields[0].defaultValue': expect.stringContaining('already has 2 records') }),
  },
  {
    name: 'a unique field over equal values is refused with 409',
    request: apply,
    body: [{ name: 'books', fields: [{ name: 'title', type: 'string', unique: true }] }],
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'an option that would lose data is refused with 409, and apply has no parameter "force"',
    request: apply,
    body: [{ name: 'authors', options: { timestamps: false } }],
    expect: {
      status: 409,
      code: 'DATA_WOULD_BE_LOST',
      body: { message: expect.stringContaining('collections:update with force=true') },
    },
  },
  {
    name: 'contradicting options are refused with 400 and their error path',
    request: apply,
    body: [authors, { name: 'books', paranoid: true, options: { paranoid: false } }],
    expect: { status: 400, code: 'BODY_INVALID', body: { message: expect.stringContaining('[1]: "paranoid"') } },
  },
  {
    name: 'the target of a relation cannot change',
    request: apply,
    body: [{ name: 'books', fields: [{ name: 'author', type: 'belongsTo', target: 'books' }] }],
    expect: invalid({ '[0].fields[0].target': expect.any(String) }),
  },
  {
    name: 'a core field of a system collection cannot change',
    request: apply,
    body: [{ name: 'users', fields: [{ name: 'email', type: 'integer' }] }],
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'a role without the grants is refused with 403',
    request: apply,
    as: 'editor',
    body: [authors],
    expect: { status: 403, code: 'NO_PERMISSION', body: { error: 'No permissions' } },
  },
  {
    name: 'dryRun reports the changes and stores nothing',
    request: `${apply}?dryRun=true`,
    body: [{ name: 'shelves' }, { ...books, fields: [{ name: 'pages', type: 'integer' }] }],
    expect: {
      status: 200,
      body: {
        data: {
          dryRun: true,
          changes: [
            { name: 'collections.created', tk: 'shelves' },
            { name: 'fields.created', tk: 'books.pages' },
          ],
          records: { books: 3 },
        },
      },
    },
  },
  {
    name: 'dryRun of an unchanged set reports no changes',
    request: `${apply}?dryRun=true`,
    body: [authors, books],
    expect: { status: 200, body: { data: { dryRun: true, changes: [], records: {} } } },
  },
  {
    name: 'an empty set changes nothing',
    request: apply,
    body: [],
    expect: { status: 200, body: { data: [], meta: { changes: [] } } },
  },
  {
    name: 'unchanged definitions stay, and so do collections that the set does not name',
    request: apply,
    body: [books, { name: 'authors' }],
    expect: { status: 200, body: { data: [{ name: 'books' }, { name: 'authors' }], meta: { changes: [] } } },
  },
];

describeEngines('collections:apply', (engine) => {
  describe('on existing collections', () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await TestServer.start(engine);
      await server.data(apply, { body: [books, authors] });
      await server.data('POST /api/authors:create', { body: [{ name: 'Ann' }, { name: 'Bob' }] });
      await server.data('POST /api/books:create', {
        body: [{ title: 'One', authorId: 1 }, { title: 'Two', authorId: 2 }, { title: 'Two' }],
      });
      await server.createKey('editor');
      await server.createKey('developer');
    });
    afterAll(() => server.stop());
    for (const scenario of refusals) test(scenario.name, async () => void (await server.play(scenario)));

    test('adds, changes and relabels in one transaction, and does nothing the second time', async () => {
      const set = [
        {
          name: 'authors',
          title: 'Writers',
          fields: [
            { name: 'name', type: 'string', required: true, maxLength: 50 },
            { name: 'books', type: 'hasMany', target: 'books', foreignKey: 'authorId' },
            { name: 'country', type: 'string', defaultValue: 'unknown' },
          ],
        },
        {
          name: 'books',
          fields: [
            { name: 'title', type: 'text' },
            { name: 'year', type: 'integer' },
          ],
          options: { indexes: [{ fields: ['year', 'authorId'] }] },
        },
        { name: 'users', fields: [{ name: 'desk', type: 'string' }] },
      ];
      const first = await server.play({
        name: 'a role with the grants applies the set',
        request: apply,
        as: 'developer',
        body: set,
        expect: {
          status: 200,
          events: [
            'fields.created',
            'fields.created',
            'fields.created',
            'fields.created',
            'fields.updated',
            'fields.updated',
            'collections.updated',
            'collections.updated',
          ],
        },
      });
      expect(first.body.meta.changes).toHaveLength(8);
      const again = await server.call(apply, { body: set });
      expect(again.body).toEqual({ data: first.body.data, meta: { changes: [] } });
      expect(await server.data('GET /api/authors:get?filterByTk=1&appends=books')).toMatchObject({
        country: 'unknown',
        books: [{ title: 'One', year: null }],
      });
    });
  });

  test('accepts collections that refer to each other, to themselves and to a join, in any order', async () => {
    const server = await TestServer.start(engine);
    const set = [
      {
        name: 'a',
        fields: [
          { name: 'b', type: 'belongsTo', target: 'b' },
          { name: 'cs', type: 'belongsToMany', target: 'c' },
          { name: 'top', type: 'belongsTo', target: 'a', onDelete: 'cascade' },
        ],
        options: { indexes: [{ fields: ['bId'], unique: true }] },
      },
      {
        name: 'b',
        fields: [
          { name: 'aId', type: 'integer' },
          { name: 'a', type: 'belongsTo', target: 'a', foreignKey: 'aId' },
          { name: 'one', type: 'hasOne', target: 'c' },
        ],
      },
      { name: 'c', fields: [{ name: 'as', type: 'belongsToMany', target: 'a' }] },
    ];
    const first = await server.call(apply, { body: set });
    expect([first.status, first.text]).toEqual([200, expect.any(String)]);
    const again = await server.call(apply, { body: set.toReversed() });
    expect(again.body.meta.changes).toEqual([]);
    await server.data('POST /api/c:create', { body: {} });
    await server.data('POST /api/a:create', { body: {} });
    await server.data('POST /api/b:create', { body: { aId: 1 } });
    expect((await server.call('POST /api/b:create', { body: { aId: 7 } })).status).toBe(400);
    expect(await server.data('GET /api/b:list?appends=a')).toMatchObject([{ a: { id: 1 } }]);
    await server.stop();
  });

  test('applies all of Chinook at once, twice, and reports nothing to do in a dry run', async () => {
    const server = await TestServer.start(engine);
    const first = await server.call(apply, { body: chinook });
    expect(first.status).toBe(200);
    expect(first.body.data.map((each: { name: string }) => each.name)).toEqual(chinook.map(({ name }) => name));
    const again = await server.call(apply, { body: chinook });
    expect(again.body.meta.changes).toEqual([]);
    const shown = await server.data('GET /api/collections:list');
    await server.running.stop();
    await server.boot();
    expect(await server.data('GET /api/collections:list')).toEqual(shown);
    // The server accepts the definitions that it shows: to apply the whole list changes nothing.
    const own = (shown as { system?: boolean }[]).filter((each) => !each.system);
    const bare = own.map((each) =>
      JSON.parse(JSON.stringify(each, (_key, value) => (value === null ? undefined : value))),
    );
    for (const each of bare) each.fields = each.fields.filter((field: { readOnly?: boolean }) => !field.readOnly);
    const echoed = await server.call(apply, { body: bare });
    expect([echoed.status, echoed.body.meta?.changes]).toEqual([200, []]);
    await server.stop();
  });

  test('ten parallel applies have the result of one', async () => {
    const server = await TestServer.start(engine);
    const replies = await Promise.all(Array.from({ length: 10 }, () => server.call(apply, { body: chinook })));
    expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(replies.filter((reply) => reply.body.meta.changes.length > 0)).toHaveLength(1);
    await server.stop();
  });
});

describeEngines('turning a plain field into a foreign key', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data(apply, {
      body: [
        authors,
        {
          name: 'notes',
          fields: [
            { name: 'writer', type: 'integer' },
            { name: 'text', type: 'string', index: true },
            { name: 'code', type: 'string' },
          ],
        },
        { name: 'marks', fields: [{ name: 'note', type: 'belongsTo', target: 'notes', onDelete: 'cascade' }] },
      ],
    });
    await server.data('POST /api/authors:create', { body: [{ name: 'Ann' }, { name: 'Bob' }] });
    await server.data('POST /api/notes:create', { body: [{ writer: 1, text: 'x' }, { writer: 9 }, {}] });
    await server.data('POST /api/marks:create', { body: [{ noteId: 1 }, { noteId: 2 }] });
  });
  afterAll(() => server.stop());

  test('is refused while a value refers to no record', async () => {
    await server.play({
      name: 'the set is refused',
      request: 'POST /api/fields:create',
      body: { collectionName: 'notes', name: 'author', type: 'belongsTo', target: 'authors', foreignKey: 'writer' },
      expect: invalid({ foreignKey: expect.stringContaining('1 record of "notes" cannot be linked by "writer"') }),
    });
  });

  test('is refused if the types differ', async () => {
    await server.play({
      name: 'the set is refused',
      request: 'POST /api/fields:create',
      body: { collectionName: 'notes', name: 'author', type: 'belongsTo', target: 'authors', foreignKey: 'code' },
      expect: invalid({
        foreignKey: expect.stringContaining(
          '"code" has the type "string", but the key that it refers to has the type "integer".',
        ),
      }),
    });
  });

  test('keeps the records and their children', async () => {
    await server.data('POST /api/notes:update?filterByTk=2', { body: { writer: 2 } });
    await server.play({
      name: 'a belongsTo uses the plain field',
      request: 'POST /api/fields:create',
      body: { collectionName: 'notes', name: 'author', type: 'belongsTo', target: 'authors', foreignKey: 'writer' },
      expect: { status: 200, events: ['fields.updated', 'fields.created'] },
    });
    expect(await server.data('GET /api/notes:list?appends=author&fields=id,writer')).toEqual([
      { id: 1, writer: 1, author: expect.objectContaining({ name: 'Ann' }) },
      { id: 2, writer: 2, author: expect.objectContaining({ name: 'Bob' }) },
      { id: 3, writer: null, author: null },
    ]);
    expect(await server.data('GET /api/marks:list?fields=noteId')).toEqual([{ noteId: 1 }, { noteId: 2 }]);
    expect((await server.call('POST /api/notes:create', { body: { writer: 77 } })).status).toBe(400);
    await server.data('POST /api/authors:destroy?filterByTk=1');
    expect(await server.data('GET /api/notes:get?filterByTk=1')).toMatchObject({ writer: null });
  });

  test('works through a hasMany of the other collection', async () => {
    await server.data('POST /api/fields:create', {
      body: { collectionName: 'notes', name: 'marked', type: 'integer' },
    });
    await server.play({
      name: 'a hasMany uses the plain field',
      request: 'POST /api/fields:create',
      body: { collectionName: 'marks', name: 'notes', type: 'hasMany', target: 'notes', foreignKey: 'marked' },
      expect: { status: 200, events: ['fields.updated', 'fields.created'] },
    });
    await server.data('POST /api/notes:update?filterByTk=3', { body: { marked: 2 } });
    expect(await server.data('GET /api/marks:get?filterByTk=2&appends=notes')).toMatchObject({ notes: [{ id: 3 }] });
    expect((await server.call('POST /api/notes:create', { body: { marked: 77 } })).status).toBe(400);
  });

  test('works for two fields in one definition', async () => {
    for (const name of ['p', 'q'])
      await server.data('POST /api/fields:create', { body: { collectionName: 'notes', name, type: 'integer' } });
    await server.data('POST /api/collections:create', {
      body: {
        name: 'owners',
        fields: [
          { name: 'first', type: 'hasMany', target: 'notes', foreignKey: 'p' },
          { name: 'second', type: 'hasMany', target: 'notes', foreignKey: 'q' },
          { name: 'third', type: 'hasMany', target: 'notes' },
        ],
      },
    });
    for (const name of ['p', 'q', 'ownersId'])
      expect((await server.call('POST /api/notes:create', { body: { [name]: 77 } })).status).toBe(400);
    expect(await server.data('GET /api/marks:list?fields=noteId')).toEqual([{ noteId: 1 }, { noteId: 2 }]);
  });
});
