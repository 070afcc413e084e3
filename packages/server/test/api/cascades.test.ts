import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LoggedEvent } from '../../src/changes/change-log.ts';
import { limits } from '../../src/protocol/limits.ts';
import { getField } from '../../src/schema/registry.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const belongsTo = (name: string, target: string, onDelete?: string): object => ({
  name,
  type: 'belongsTo',
  target,
  ...(onDelete && { onDelete }),
});
const logging = { options: { logging: true } };
const definitions = [
  { name: 'shelves', fields: [{ name: 'code', type: 'string', unique: true }] },
  {
    name: 'books',
    fields: [
      { name: 'title', type: 'string' },
      belongsTo('shelf', 'shelves', 'cascade'),
      belongsTo('sequelTo', 'books', 'cascade'),
      { name: 'tags', type: 'belongsToMany', target: 'tags' },
    ],
    ...logging,
  },
  { name: 'tags', fields: [{ name: 'name', type: 'string' }] },
  { name: 'pages', fields: [belongsTo('book', 'books', 'cascade')] },
  {
    name: 'notes',
    fields: [
      { name: 'text', type: 'string' },
      belongsTo('book', 'books'),
      belongsTo('shelf', 'shelves'),
      belongsTo('page', 'pages', 'cascade'),
    ],
    options: { logging: true, paranoid: true },
  },
  {
    name: 'signs',
    fields: [{ ...belongsTo('shelf', 'shelves', 'cascade'), targetKey: 'code', foreignKey: 'shelfCode' }],
  },
  { name: 'loans', fields: [belongsTo('page', 'pages', 'restrict')] },
  { name: 'plain', fields: [{ name: 'n', type: 'integer' }] },
];

/** The scenarios run in this order. The keys of each library begin at their own multiple of 100. */
const scenarios: readonly Scenario[] = [
  {
    name: 'every deleted record emits one event, level by level',
    request: 'POST /api/shelves:destroy?filterByTk=101',
    expect: {
      status: 200,
      body: { data: 1 },
      events: [
        'shelves.destroyed',
        'books.destroyed',
        'books.destroyed',
        'books.destroyed',
        'notes.updated',
        'signs.destroyed',
        'booksTags.destroyed',
        'pages.destroyed',
        'notes.destroyed',
      ],
    },
  },
  {
    name: 'a destroy by filter cascades too, and a cycle of records ends',
    request: 'POST /api/books:destroy?filter={"id":{"$in":[201,202]}}',
    expect: {
      status: 200,
      body: { data: 2 },
      events: [
        'books.destroyed',
        'books.destroyed',
        'books.destroyed',
        'notes.updated',
        'booksTags.destroyed',
        'pages.destroyed',
        'notes.destroyed',
      ],
    },
  },
  {
    name: 'destroying a tag deletes its links to books',
    request: 'POST /api/tags:destroy?filterByTk=301',
    expect: { status: 200, events: ['tags.destroyed', 'booksTags.destroyed'] },
  },
  {
    name: 'a restricted record prevents the deletion of everything above it',
    request: 'POST /api/shelves:destroy?filterByTk=302',
    expect: { status: 409, code: 'DEPENDANTS_EXIST', body: { message: expect.stringContaining('Records of loans') } },
  },
  {
    name: 'a restricted record is also respected in a batch of several operations',
    request: 'POST /api/batch',
    body: { operations: [{ op: 'destroy', resource: 'shelves', filterByTk: 302 }] },
    expect: { status: 409, code: 'DEPENDANTS_EXIST', body: { message: expect.stringContaining('Records of loans') } },
  },
  {
    name: 'a dry run reports the cascade and stores nothing',
    request: 'POST /api/shelves:destroy?filterByTk=301&dryRun=true',
    expect: { status: 200, body: { data: 1 } },
  },
  {
    name: 'an outdated If-Match leaves everything unchanged',
    request: 'POST /api/shelves:destroy?filterByTk=301',
    headers: { 'if-match': '"77.x"' },
    expect: { status: 412, code: 'VERSION_STALE' },
  },
  {
    name: 'a batch emits the same events as separate requests',
    request: 'POST /api/batch',
    body: { operations: [{ op: 'destroy', resource: 'tags', filterByTk: 401 }] },
    expect: { status: 200, events: ['tags.destroyed', 'booksTags.destroyed'] },
  },
  {
    name: 'destroying a role deletes its permissions',
    request: 'POST /api/roles:destroy?filterByTk=helper',
    expect: { status: 200, events: ['roles.destroyed', 'permissions.destroyed'] },
  },
  {
    name: 'destroying a user deletes the API keys that the user created',
    request: 'POST /api/users:destroy?filterByTk=2',
    expect: { status: 200, events: ['users.destroyed', 'apiKeys.destroyed'] },
  },
];

describeEngines('cascades of a destroy', (engine) => {
  let server: TestServer;
  const create = (name: string, body: unknown): Promise<Json> => server.data(`POST /api/${name}:create`, { body });

  /** Waits for events. On PostgreSQL, a transaction in another database of the cluster may delay the log. */
  async function toldSince(since: string | null, count: number): Promise<LoggedEvent[]> {
    const { changes } = server.running.applications.main;
    await expect
      .poll(async () => (await changes.read(since, 5000)).length, { timeout: 20_000 })
      .toBeGreaterThanOrEqual(count);
    return changes.read(since, 5000);
  }

  async function fill(from: number): Promise<void> {
    const [one, two, three, four] = [from + 1, from + 2, from + 3, from + 4];
    await create('shelves', [
      { id: one, code: `a${from}` },
      { id: two, code: `b${from}` },
    ]);
    await create('tags', [{ id: one, name: 'red' }]);
    await create('books', [
      { id: one, shelfId: one },
      { id: two, shelfId: one },
      { id: three, sequelToId: one },
      { id: four, shelfId: two },
    ]);
    await server.data(`POST /api/books:update?filterByTk=${one}`, { body: { sequelToId: three } });
    await create('booksTags', [{ booksId: two, tagsId: one }]);
    await create('pages', [
      { id: one, bookId: three },
      { id: two, bookId: four },
    ]);
    await create('notes', [
      { id: one, text: 'kept', bookId: one, shelfId: one },
      { id: two, text: 'falls', bookId: three, pageId: one },
      { id: three, text: 'in the trash', bookId: one },
    ]);
    await server.data(`POST /api/notes:destroy?filterByTk=${three}`);
    await create('signs', [{ shelfCode: `a${from}` }]);
    await create('loans', [{ pageId: two }]);
  }

  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:apply', { body: definitions });
    for (const from of [0, 100, 200, 300, 400]) await fill(from);
    await create('roles', { name: 'helper' });
    await create('permissions', { role: 'helper', resource: 'books', actions: ['get'] });
    await create('users', { email: 'two@example.com', password: 'another long password', roles: ['editor'] });
    const token = await server.signIn('two@example.com', 'another long password');
    await server.data('POST /api/apiKeys:create', { as: token, body: { role: { name: 'editor' } } });
  });
  afterAll(() => server.stop());

  test('the event of a child names the user and the changed fields, and the child has a history entry', async () => {
    const etag = (await server.call('GET /api/notes:get?filterByTk=1')).headers.get('etag')!;
    const since = await server.lastCursor();
    await server.call('POST /api/shelves:destroy?filterByTk=1', { headers: { 'x-request-id': 'the-one' } });
    const told = await toldSince(since, 8);
    const updated = told.filter(({ name }) => name === 'notes.updated');
    expect(updated).toMatchObject([{ tk: '1', requestId: 'the-one', actor: 'user:1' }]);
    expect([...updated[0]!.changed].sort()).toEqual(['bookId', 'shelfId']);
    expect(told.filter(({ name }) => name === 'notes.destroyed').map(({ tk }) => tk)).toEqual(['2']);
    expect(told.every(({ actor, requestId }) => actor === 'user:1' && requestId === 'the-one')).toBe(true);
    const histories = await server.data('GET /api/notes:history?filterByTk=1');
    const entry = histories.find(({ action }: Json) => action === 'updated');
    const lost = entry.changes.filter(({ field }: Json) => field.endsWith('Id'));
    expect(lost).toEqual([
      { field: 'bookId', before: 1, after: null },
      { field: 'shelfId', before: 1, after: null },
    ]);
    await server.play({
      name: 'a child that was read before has a new version',
      request: 'POST /api/notes:update?filterByTk=1',
      headers: { 'if-match': etag },
      body: { text: 'y' },
      expect: { status: 412, code: 'VERSION_STALE' },
    });
  });

  test('the histories of deleted children and of children in the trash are kept', async () => {
    const { database, registry } = server.running.applications.main;
    const { id } = registry.get('books');
    const notes = registry.get('notes').id;
    const text = `SELECT tk,action FROM _history WHERE collection_id IN (${id},${notes}) AND tk IN ('1','2','3') AND action<>'created' ORDER BY collection_id,tk,id`;
    const [rows] = await database.read([{ text, values: [] }]);
    expect(rows!.map((row) => row.join(' '))).toEqual([
      '1 updated',
      '1 destroyed',
      '2 destroyed',
      '3 destroyed',
      '1 updated',
      '2 destroyed',
      '3 destroyed',
      '3 updated',
    ]);
  });

  for (const scenario of scenarios)
    test(scenario.name, async () => {
      await server.play(scenario);
    });

  test('a refusal does not name the children if the caller may not read them', async () => {
    await server.data('POST /api/collections:apply', {
      body: [
        { name: 'houses', fields: [], options: { paranoid: true } },
        { name: 'hiddenGuests', fields: [belongsTo('house', 'houses', 'restrict')] },
      ],
    });
    await create('houses', {});
    await create('hiddenGuests', { houseId: 1 });
    await create('roles', { name: 'mover' });
    await create('permissions', { role: 'mover', resource: 'houses', actions: ['get', 'destroy'] });
    await server.createKey('mover');
    for (const [as, words] of [
      ['admin', 'hiddenGuests'],
      ['mover', 'Other records'],
    ])
      await server.play({
        name: `a destroy by ${as} is refused`,
        request: 'POST /api/houses:destroy?filterByTk=1',
        as: as!,
        expect: {
          status: 409,
          code: 'DEPENDANTS_EXIST',
          body: { message: expect.stringContaining(words!) },
          absent: as === 'mover' ? ['hiddenGuests', 'houseId'] : [],
        },
      });
  });

  test('a long cascade runs off the event loop, and a cascade over the limit is refused', {
    timeout: 240_000,
  }, async () => {
    const { database, registry } = server.running.applications.main;
    const { id } = await create('shelves', { code: 'large' });
    const books = registry.get('books');
    const column = (name: string): string => `"${getField(books, name).column}"`;
    const many = async (count: number): Promise<void> => {
      const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<${count})`;
      const moment = database.dialect.name === 'sqlite' ? "'2026-01-01T00:00:00.000Z'" : 'now()';
      const text = `INSERT INTO "${books.table}" (${column('shelfId')},${column('createdAt')},${column('updatedAt')}) ${numbers} SELECT ${id},${moment},${moment} FROM n`;
      await database.write((transaction) => transaction.run({ text, values: [] }), { heavy: true, longRunning: true });
    };
    await many(1500);
    const since = await server.lastCursor();
    expect(await server.data(`POST /api/shelves:destroy?filterByTk=${id}`)).toBe(1);
    const told = await toldSince(since, 1501);
    expect(told.filter(({ name }) => name === 'books.destroyed')).toHaveLength(1500);
    await server.data('POST /api/shelves:create', { body: { id, code: 'large' } });
    await many(limits.maxCascade + 1);
    const refused = await server.call(`POST /api/shelves:destroy?filterByTk=${id}`);
    expect([refused.status, refused.body.code]).toEqual([400, 'LIMIT_EXCEEDED']);
    expect(refused.body.message).toContain('First destroy records of books');
    expect((await server.call(`GET /api/shelves:get?filterByTk=${id}`)).status).toBe(200);
  });
});
