import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const runs = Number(process.env['PROPERTY_RUNS'] ?? 40);
const seed = Number(process.env['RANDOM_SEED'] ?? 20261124);

/** Short texts whose folding, length or bytes are special. They are combined, so that they repeat and overlap. */
const pieces = [
  ...['a', 'B', 'bc', 'abc', 'ABCD', 'straße', 'STRASSE', 'İ', 'ı', 'ΟΔΟΣ', 'οδός', 'ς', 'Σ', 'é', 'e\u0301', '\u0301'],
  ...['😀', '👩‍👩‍👧', '𝔘𝔫𝔦', '日本語', 'Ǆ', 'ŉ', 'K', '%', '_', '\\', '"', "'", '*', ' ', '\n', '-', '. ', 'null', '0'],
];
const text = fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((each) => each.join(''));
const nullable = fc.option(text, { freq: 6 });
const operators = [
  '$includes',
  '$notIncludes',
  '$startsWith',
  '$notStartsWith',
  '$endsWith',
  '$endWith',
  '$notEndsWith',
];
const patterns = ['$like', '$notLike', '$ilike'];
const condition = fc.record({
  field: fc.constantFrom('title', 'body'),
  operator: fc.constantFrom(...operators, ...patterns),
  value: text,
});
const query = fc.record({
  search: fc.option(text.filter((each) => each.trim() !== '')),
  searchFields: fc.option(fc.constantFrom('title', 'body', 'title,body')),
  conditions: fc.array(condition, { maxLength: 2 }),
  any: fc.boolean(),
  level: fc.option(fc.integer({ min: 0, max: 3 })),
  sort: fc.constantFrom('', 'id', '-id', 'level', '-level', 'title', '-body,level', '-level,id', 'team.name'),
  page: fc.integer({ min: 1, max: 3 }),
  pageSize: fc.constantFrom(1, 3, 20),
  trash: fc.constantFrom('', 'withDeleted=true', 'onlyDeleted=true'),
});

/** The value without trailing backslashes, which the server refuses in a pattern. */
const toPattern = (value: string): string => value.replace(/\\+$/, '');

function toPath(collection: string, parts: typeof query extends fc.Arbitrary<infer T> ? T : never): string {
  const conditions: object[] = parts.conditions.map(({ field, operator, value }) => ({
    [field]: { [operator]: patterns.includes(operator) ? toPattern(value) : value },
  }));
  const filters: object[] = conditions.length === 0 ? [] : [parts.any ? { $or: conditions } : { $and: conditions }];
  if (parts.level !== null) filters.push({ level: parts.level });
  const parameters = new URLSearchParams({
    ...(parts.search !== null && { search: parts.search }),
    ...(parts.search !== null && parts.searchFields !== null && { searchFields: parts.searchFields }),
    ...(filters.length > 0 && { filter: JSON.stringify({ $and: filters }) }),
    ...(parts.sort !== '' && { sort: parts.sort }),
    page: String(parts.page),
    pageSize: String(parts.pageSize),
    fields: 'id,title,body,level',
  });
  return `GET /api/${collection}:list?${parameters}&${parts.trash}`;
}

describeEngines('search indexes', (engine) => {
  let server: TestServer;
  const post = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
  const both = async (action: (name: string) => Promise<unknown>): Promise<void> => {
    for (const name of ['scanned', 'indexed']) await action(name);
  };
  const readStates = async (name = 'indexed'): Promise<unknown> => {
    const found = (await server.data(`GET /api/collections:get?filterByTk=${name}`)) as {
      searchIndexes?: readonly { field: string; state: string }[];
    };
    return found.searchIndexes?.map(({ field, state }) => `${field} ${state}`).join() ?? 'none';
  };
  const waitForIndexes = (states: string): Promise<void> =>
    vi.waitFor(async () => expect(await readStates()).toBe(states), { timeout: 15_000, interval: 20 });
  /** Expects that both collections answer a request with the same bytes. */
  const compare = async (path: (name: string) => string): Promise<string> => {
    const [scanned, indexed] = [await server.call(path('scanned')), await server.call(path('indexed'))];
    const withoutId = (reply: { status: number; text: string }): string =>
      `${reply.status} ${reply.text.replace(/"(requestId|nextCursor)":"[^"]*"/g, '').replaceAll('scanned', 'indexed')}`;
    expect(withoutId(indexed), path('indexed')).toBe(withoutId(scanned));
    return indexed.text;
  };
  const compareSearch = (search: string): Promise<string> =>
    compare((name) => `GET /api/${name}:list?${new URLSearchParams({ search })}`);

  beforeAll(async () => {
    server = await TestServer.start(engine);
    await post('collections:create', { name: 'teams', fields: [{ name: 'name', type: 'string' }] });
    await post('teams:create', [{ name: 'Red' }, { name: 'Blue' }]);
    await both((name) =>
      post('collections:create', {
        name,
        options: { paranoid: true, timestamps: false },
        fields: [
          { name: 'title', type: 'string', ...(name === 'indexed' && { searchIndex: true }) },
          { name: 'body', type: 'text' },
          { name: 'level', type: 'integer', index: true },
          { name: 'team', type: 'belongsTo', target: 'teams' },
        ],
      }),
    );
    const records = fc.sample(fc.record({ title: nullable, body: nullable, level: fc.integer({ min: 0, max: 3 }) }), {
      numRuns: 150,
      seed,
    });
    const rows = records.map((each, index) => ({ ...each, teamId: index % 3 === 0 ? null : 1 + (index % 2) }));
    await both((name) => post(`${name}:create`, rows));
    await both((name) => server.data(`POST /api/${name}:destroy?${new URLSearchParams({ filter: '{"level":3}' })}`));
    // The index of existing records is built in the background.
    await server.data('POST /api/collections:update?filterByTk=indexed', { body: { options: { search: ['body'] } } });
    await waitForIndexes('title ready,body ready');
  });
  afterAll(() => server.stop());

  test('give the same results as a scan, for all texts, operators and orders', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(query, async (parts) => {
        await compare((name) => toPath(name, parts));
      }),
      { numRuns: runs * 5, seed, endOnFailure: true },
    );
  });

  test('are updated by creates, updates, deletes, restores and imports in the transaction of the write', async () => {
    const change = fc.record({ id: fc.integer({ min: 1, max: 150 }), title: nullable, body: nullable });
    for (const [index, { id, title, body }] of fc.sample(change, { numRuns: runs, seed }).entries()) {
      const action = ['update', 'create', 'destroy', 'restore'][index % 4]!;
      const path = (name: string): string =>
        `POST /api/${name}:${action}${action === 'create' ? '' : `?filterByTk=${id}`}${action === 'destroy' && index % 8 < 4 ? '&force=true' : ''}`;
      const sent = action === 'update' || action === 'create' ? { body: { title, body } } : {};
      await both((name) => server.call(path(name), sent));
      for (const each of [title, body]) if (each !== null && each.trim() !== '') await compareSearch(each);
    }
    await server.call('POST /api/indexed:update?filterByTk=1', {
      body: { title: 'unfinished' },
      headers: { 'if-match': '"999"' },
    });
    expect(await compareSearch('unfinished')).toContain('"data":[]');
  });

  test('support paging with a cursor', async () => {
    for (const sort of ['id', '-id', 'level', '-level,title']) {
      const cursors: Record<string, string> = {};
      for (let page = 0; page < 3; page += 1) {
        const replies: string[] = [];
        for (const name of ['scanned', 'indexed']) {
          const after = cursors[name] === undefined ? {} : { after: cursors[name] };
          const parameters = new URLSearchParams({ search: 'abc', pageSize: '4', sort, ...after });
          const { data, meta } = (await server.call(`GET /api/${name}:list?${parameters}`)).body;
          replies.push(JSON.stringify([data, meta.count, meta.hasNext]));
          if (meta.nextCursor) cursors[name] = meta.nextCursor;
        }
        expect(replies[1], sort).toBe(replies[0]);
      }
    }
  });

  test('survive changes of the definition, and are rebuilt if the column changes', async () => {
    const change = (name: string, body: object): Promise<unknown> =>
      server.data(`POST /api/collections/${name}/fields:update?filterByTk=${'title'}`, { body });
    await both((name) => change(name, { newName: 'heading' }));
    expect(await readStates()).toBe('heading ready,body ready');
    await compareSearch('abc');
    // Rebuilds the table on SQLite.
    await both((name) => server.data(`POST /api/collections/${name}/fields:destroy?filterByTk=level`));
    await both((name) => post(`${name}:create`, { heading: 'after the rebuild', body: 'needle' }));
    expect(await compareSearch('after the rebuild')).toContain('"needle"');
    expect(await readStates()).toBe('heading ready,body ready');
    const refused = await server.call('POST /api/collections/indexed/fields:update?filterByTk=body', {
      body: { type: 'json' },
    });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('"type"')]);
    await both((name) =>
      server.data(`POST /api/collections/${name}/fields:update?filterByTk=body`, { body: { type: 'string' } }),
    );
    await compareSearch('needle');
    await waitForIndexes('heading ready,body ready');
    await compareSearch('needle');
    const update = (options: object, query = ''): Promise<unknown> =>
      server.data(`POST /api/collections:update?filterByTk=indexed${query}`, { body: { options } });
    await update({ search: [] }, '&dryRun=true');
    expect(await readStates()).toBe('heading ready,body ready');
    await update({ search: [] });
    expect(await readStates()).toBe('heading ready');
    await compareSearch('needle');
    for (const search of [['missing'], ['id'], ['heading', 'heading'], 'heading']) {
      const reply = await server.call('POST /api/collections:update?filterByTk=indexed', {
        body: { options: { search } },
      });
      expect(reply.status, JSON.stringify(search)).toBe(422);
    }
    await server.data('POST /api/collections/indexed/fields:destroy?filterByTk=heading');
    expect(await readStates()).toBe('none');
  });

  test('are defined by collections:apply, and do not reveal fields that the role cannot read', async () => {
    const definition = {
      name: 'notes',
      options: { search: ['open', 'secret'] },
      fields: [
        { name: 'code', type: 'string', primaryKey: true },
        { name: 'open', type: 'text' },
        { name: 'secret', type: 'text' },
      ],
    };
    await post('collections:apply', [definition]);
    expect(await post('collections:apply', [definition])).toHaveLength(1);
    await expect.poll(() => readStates('notes')).toBe('open ready,secret ready');
    await post('notes:create', [
      { code: 'a', open: 'common words', secret: 'hidden treasure' },
      { code: 'b', open: 'common ground', secret: 'nothing' },
    ]);
    await server.data('POST /api/notes:destroy?filterByTk=b');
    await post('notes:create', { code: 'c', open: 'common sense', secret: 'common' });
    await post('roles:create', { name: 'reader' });
    await post('permissions:create', {
      role: 'reader',
      resource: 'notes',
      actions: ['list'],
      fields: ['code', 'open'],
    });
    await server.createKey('reader');
    const search = async (text: string): Promise<unknown> =>
      ((await server.data(`GET /api/notes:list?search=${text}`, { as: 'reader' })) as { code: string }[]).map(
        (each) => each.code,
      );
    expect(await search('treasure')).toEqual([]);
    expect(await search('common')).toEqual(['a', 'c']);
  });
});
