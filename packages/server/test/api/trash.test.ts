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
    expect: { status: 400, body: { message: expect.stringContaining('not paranoid') } },
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

describeEngines('authors', (engine) => {
  test('who made and who changed a record is kept, and read like any relation', async () => {
    const server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: { name: 'notes', fields: [{ name: 'text', type: 'string' }], options: { authors: true } },
    });
    await server.data('POST /api/users:create', {
      body: { email: 'b@example.com', password: 'correct horse', nickname: 'Bea', roles: ['editor'] },
    });
    server.tokens.set('bea', await server.signIn('b@example.com', 'correct horse'));
    const made = await server.data('POST /api/notes:create', { as: 'bea', body: { text: 'x', createdById: 1 } });
    expect(made).toMatchObject({ createdById: 2, updatedById: 2 });
    expect(await server.data('POST /api/notes:update?filterByTk=1', { body: { text: 'y' } })).toMatchObject({
      createdById: 2,
      updatedById: 1,
    });
    const key = await server.data('POST /api/apiKeys:create', { as: 'bea', body: { role: { name: 'editor' } } });
    const byKey = await server.data('POST /api/notes:create', { as: key.token as string, body: { text: 'z' } });
    expect(byKey).toMatchObject({ createdById: 2 });
    expect(
      await server.data('GET /api/notes:list?appends=createdBy&fields=id,createdBy.nickname&sort=createdBy.nickname'),
    ).toEqual([
      { id: 1, createdBy: { nickname: 'Bea' } },
      { id: 2, createdBy: { nickname: 'Bea' } },
    ]);
    expect(await server.data('GET /api/notes:list?filter={"updatedBy.nickname":"Admin"}')).toHaveLength(1);
    await server.data('POST /api/permissions:create', {
      body: {
        role: 'viewer',
        resource: 'notes',
        actions: ['list', 'get'],
        filter: { createdById: '{{$user.id}}' },
      },
    });
    await server.key('viewer');
    expect(await server.data('GET /api/notes:list', { as: 'viewer' })).toEqual([]);
    await server.data('POST /api/apiKeys:destroy?filter={"creatorId":2}').catch(() => {});
    await server.data('POST /api/users:destroy?filterByTk=2');
    expect(await server.data('GET /api/notes:get?filterByTk=1&appends=createdBy')).toMatchObject({
      createdById: null,
      createdBy: null,
      updatedById: 1,
    });
    const shown = await server.data('GET /api/collections:get?filterByTk=notes&appends=fields');
    expect(shown.fields.find((field: { name: string }) => field.name === 'createdBy')).toMatchObject({
      type: 'belongsTo',
      target: 'users',
      readOnly: true,
    });
    await server.play({
      name: 'nor does its relation',
      request: 'POST /api/notes/1/updatedBy:remove',
      expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
    });
    await server.play({
      name: 'a field that the server keeps does not change',
      request: 'POST /api/fields:update',
      body: { collectionName: 'notes', name: 'createdById', title: 'x' },
      expect: { status: 403 },
    });
    await server.stop();
  });
});

interface Entry {
  readonly tk: string;
  readonly action: string;
  readonly actor: string | null;
  readonly changes: Readonly<Record<string, unknown>>;
}

async function history(server: TestServer): Promise<Entry[]> {
  const { database, registry } = server.running.applications.main;
  const text = 'SELECT tk,action,actor,changes,collection_id FROM _history ORDER BY id';
  const [rows] = await database.read([{ text, values: [] }]);
  return rows!.map(([tk, action, actor, changes, id]) => {
    const collection = registry.all().find((each) => each.id === id);
    const byId = new Map(collection?.fields.map((field) => [String(field.id), field.name]));
    const named = Object.entries(JSON.parse(changes as string) as object).map(([field, pair]) => [
      byId.get(field) ?? 'gone',
      pair,
    ]);
    return { tk, action, actor, changes: Object.fromEntries(named) } as Entry;
  });
}

describeEngines('logging', (engine) => {
  test('before and after of every field, in the transaction of the change', async () => {
    const server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: {
        name: 'logs',
        fields: [
          { name: 'title', type: 'string', required: true },
          { name: 'data', type: 'json' },
          { name: 'secret', type: 'password' },
          { name: 'parent', type: 'belongsTo', target: 'logs' },
        ],
        options: { logging: true, paranoid: true },
      },
    });
    const body = [
      { id: 1, title: 'a', secret: 'hush hush' },
      { id: 2, title: 'b', data: { x: [1] }, parentId: 1 },
    ];
    await server.data('POST /api/logs:create', { body });
    await server.data('POST /api/logs:update?filterByTk=1', { body: { title: 'A', secret: 'changed now' } });
    await server.data('POST /api/logs:update?filterByTk=1', { body: { title: 'A' } });
    await server.data('POST /api/logs:update?filter={"id":{"$gt":0}}', { body: { data: null } });
    await server.play({
      name: 'a refusal leaves no trace',
      request: 'POST /api/logs:update?filterByTk=1',
      body: { title: null },
      expect: { status: 422 },
    });
    await server.data('POST /api/logs:destroy?filterByTk=2');
    await server.data('POST /api/logs:restore?filterByTk=2');
    await server.data('POST /api/logs:destroy?filterByTk=2&force=true');
    expect(await history(server)).toEqual([
      { tk: '1', action: 'created', actor: 'user:1', changes: { id: [null, 1], title: [null, 'a'] } },
      {
        tk: '2',
        action: 'created',
        actor: 'user:1',
        changes: { id: [null, 2], title: [null, 'b'], data: [null, { x: [1] }], parentId: [null, 1] },
      },
      { tk: '1', action: 'updated', actor: 'user:1', changes: { title: ['a', 'A'] } },
      { tk: '2', action: 'updated', actor: 'user:1', changes: { data: [{ x: [1] }, null] } },
      { tk: '2', action: 'destroyed', actor: 'user:1', changes: {} },
      { tk: '2', action: 'restored', actor: 'user:1', changes: {} },
      {
        tk: '2',
        action: 'destroyed',
        actor: 'user:1',
        changes: { id: [2, null], title: ['b', null], parentId: [1, null] },
      },
    ]);
    await server.stop();
  });

  test('twenty writers at once: as many entries as changes, each from the state before it', async () => {
    const server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: { name: 'logs', fields: [{ name: 'n', type: 'integer' }], options: { logging: true } },
    });
    await server.data('POST /api/logs:create', { body: { n: 0 } });
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => server.call('POST /api/logs:update?filterByTk=1', { body: { n: n + 1 } })),
    );
    const done = replies.filter((reply) => reply.status === 200).length;
    const entries = (await history(server)).slice(1).map(({ changes }) => changes['n'] as [number, number]);
    expect(entries).toHaveLength(done);
    entries.reduce((before, [from, to]) => {
      expect(from).toBe(before);
      return to;
    }, 0);
    await server.stop();
  });

  test('a store of an earlier version gets what it lacks', async () => {
    const server = await TestServer.start(engine);
    const { database } = server.running.applications.main;
    await database.write((transaction) => transaction.run({ text: 'DROP TABLE _history', values: [] }));
    await server.running.stop();
    await server.boot();
    await server.data('POST /api/collections:create', {
      body: { name: 'logs', fields: [{ name: 'n', type: 'integer' }], options: { logging: true } },
    });
    await server.data('POST /api/logs:create', { body: { n: 0 } });
    expect(await history(server)).toHaveLength(1);
    await server.stop();
  });
});
