import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { BoundStatement, Transaction } from '../../src/database/database.ts';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const filter = (value: unknown): string => `filter=${encodeURIComponent(JSON.stringify(value))}`;

/** Requests of every kind. Each value that must not occur in SQL text contains "needle" or 4242. */
const reads: Readonly<Record<string, string>> = {
  'get by key': 'albums:get?filterByTk=1',
  'get by filter': `albums:get?${filter({ title: 'needle' })}`,
  'list without count': 'albums:list?count=none',
  'list with count': `albums:list?${filter({ title: { $ne: 'needle' } })}`,
  'list with estimate': `albums:list?count=estimated&${filter({ id: { $gt: 4242 } })}`,
  'list that hides its key': 'albums:list?count=none&fields=title',
  'list with versions': 'albums:list?count=none&versions=true',
  'second page by offset': 'albums:list?count=none&page=2&pageSize=1',
  'far page by offset': 'albums:list?count=none&page=501&pageSize=1',
  'filter through to-one': `albums:list?count=none&${filter({ 'artist.name': 'needle' })}`,
  'filter through to-many': `artists:list?count=none&${filter({ albums: { title: { $includes: 'needle' } } })}`,
  'filter of lists and logic': `albums:list?count=none&${filter({ $or: [{ id: [1, 4242] }, { $not: { title: { $like: 'needle%' } } }] })}`,
  'sort through to-one': 'albums:list?count=none&sort=-artist.name',
  'appends two levels deep': 'artists:list?count=none&appends=albums,albums.artist',
  'list of a relation': 'artists/2/albums:list?count=none',
  'get of a relation': 'albums/2/artist:get',
  'list of a many-to-many relation': 'albums/2/tags:list?count=none',
  search: 'albums:list?count=none&search=needle',
  'search with an index, in the order of keys': 'letters:list?search=needle&sort=-id',
  'search with an index, in another order': `letters:list?count=none&sort=day&${filter({ text: { $like: 'needle_%' } })}`,
  'next page of a search with an index': 'letters:list?count=none&search=needle&page=2&pageSize=1',
  'descending order of an indexed field that may be null': 'letters:list?count=none&sort=-day',
  'filter by period': `albums:list?count=none&${filter({ released: { $dateOn: '2026W47' } })}`,
  'filter of list elements': `albums:list?count=none&${filter({ words: { $anyOf: ['needle'] } })}`,
  'list beside a trash': 'tags:list?count=none',
  'list of a trash': 'tags:list?count=none&onlyDeleted=true',
  'append beside a trash': 'albums:list?count=none&appends=tags',
  query: `albums:query?measures=[{"aggregation":"count"},{"field":"id","aggregation":"max"}]&dimensions=["artist.name",{"field":"released","format":"YYYY-MM"}]&having={"count":{"$lt":4242}}&${filter({ title: { $ne: 'needle' } })}`,
  'restricted query': 'albums:query?measures=[{"aggregation":"count"}]',
  'restricted list': 'albums:list?count=none',
  'restricted get': 'albums:get?filterByTk=2',
};

/**
 * Reads of background timers, which may happen during a request: mail to be sent, running imports, settings of other
 * servers, open transactions.
 */
const ofTimers = /FROM (?:"mailOutbox"|"mailCampaigns"|accounts|imports|_settings|pg_current_snapshot\(\) s)\b/;

describeEngines('statements', (engine) => {
  let server: TestServer;
  let seen: string[] = [];
  const plain = (text: string): string =>
    text
      .replaceAll(/_sx\d+_\d+/g, '_sxN')
      .replaceAll(/_\d+(_v\d+)?"/g, '_N"')
      .replaceAll(/'needle-[a-z]+'/g, "'…'");

  beforeAll(async () => {
    server = await TestServer.start(engine);
    const make = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    await make('collections:create', { name: 'artists', fields: [{ name: 'name', type: 'string', index: true }] });
    await make('collections:create', {
      name: 'albums',
      fields: [
        { name: 'title', type: 'string' },
        { name: 'released', type: 'datetime' },
        { name: 'live', type: 'boolean' },
        { name: 'notes', type: 'json' },
        { name: 'words', type: 'array' },
        { name: 'artist', type: 'belongsTo', target: 'artists' },
      ],
      options: { timestamps: false },
    });
    await make('collections:create', {
      name: 'tags',
      fields: [{ name: 'name', type: 'string', unique: true }],
      options: { timestamps: false, paranoid: true },
    });
    await make('fields:create', { collectionName: 'albums', name: 'tags', type: 'belongsToMany', target: 'tags' });
    await make('fields:create', { collectionName: 'artists', name: 'albums', type: 'hasMany', target: 'albums' });
    await make('collections:create', {
      name: 'letters',
      fields: [
        { name: 'text', type: 'text', searchIndex: true },
        { name: 'day', type: 'date', index: true },
      ],
      options: { timestamps: false },
    });
    await make('letters:create', [{ text: 'needle one' }, { text: 'two needle' }]);
    await make('artists:create', [{ name: 'Ann' }, { name: 'needle' }]);
    await make('albums:create', [
      { title: 'One', artistId: 1 },
      { title: 'needle', artistId: 2, artistsId: 2 },
      { title: 'Three, \n{"a":1},\n{"b', notes: { 'k,\n{': ',\n' }, artistId: 2 },
    ]);
    await make('tags:create', [{ name: 'a' }, { name: 'b' }]);
    await make('albums/2/tags:add', [2]);
    await make('roles:create', { name: 'shop' });
    await make('permissions:create', {
      role: 'shop',
      resource: 'albums',
      actions: ['list', 'get'],
      filter: { 'artist.name': 'needle' },
      fields: ['id', 'title', 'artist'],
    });
    await make('permissions:create', { role: 'shop', resource: 'artists', actions: ['get'], fields: ['id', 'name'] });
    const { token } = (await make('apiKeys:create', { role: { name: 'shop' } })) as { token: string };
    server.tokens.set('shop', token);
    await vi.waitFor(
      async () => {
        const { searchIndexes } = await server.data('GET /api/collections:get?filterByTk=letters');
        expect(searchIndexes).toEqual([{ field: 'text', state: 'ready' }]);
      },
      { timeout: 15_000 },
    );
    record();
    // Waits for the background work of the server after a start.
    for (let before = -1; before !== seen.length; ) {
      before = seen.length;
      await pause(250);
    }
  }, 60_000);
  afterAll(() => server.stop());

  function record(): void {
    const { database } = server.running.applications.main;
    const { read, write, writeNow, writeOne } = database;
    const note = (statement: BoundStatement): BoundStatement => {
      if (!ofTimers.test(statement.text)) seen.push(plain(statement.text));
      return statement;
    };
    database.read = (statements) => read.call(database, statements.map(note));
    database.writeOne = (statement, touched, options) => {
      const before = seen.length;
      note(statement);
      // SQLite runs a single write as a transaction with one statement; it counts as one statement here.
      return writeOne.call(database, statement, touched, options).finally(() => seen.splice(before + 1));
    };
    database.write = ((work: (transaction: Transaction) => Promise<unknown>, options?: object) =>
      write.call(
        database,
        (transaction: Transaction) =>
          work({ ...bound(transaction), run: (statement) => transaction.run(note(statement)) }),
        options,
      )) as typeof database.write;
    if (writeNow)
      database.writeNow = (work, options) =>
        writeNow.call(
          database,
          (transaction) =>
            work({
              ...bound(transaction),
              runNow: (statement) => transaction.runNow(note(statement)),
              insertNow: (statement) => transaction.insertNow(note(statement)),
            }),
          options,
        ) as Promise<never>;
  }

  function bound(transaction: Pick<Transaction, 'touch' | 'afterDurable'>): typeof transaction {
    return {
      touch: (table) => transaction.touch(table),
      afterDurable: (work) => transaction.afterDurable(work),
    };
  }

  /** The statements of a request, after two runs gave the same ones: statements of timers may come in between. */
  async function statementsOf(request: string, as: string, body?: unknown): Promise<string[]> {
    let before: string[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const statements = await runOnce(request, as, body);
      if (attempt > 0 && statements.join() === before.join()) break;
      before = statements;
    }
    return before;
  }

  async function runOnce(request: string, as: string, body: unknown): Promise<string[]> {
    await server.call(request, { as, ...(body !== undefined && { body }) }); // plans and callers are cached from here on
    await server.running.applications.main.journal.openFlushedStore(); // the journal writes its statements later than the request that they belong to
    await server.running.applications.main.shapes.settle(); // a new query shape is explained once, in the background
    seen = [];
    const reply = await server.call(request, { as, ...(body !== undefined && { body }) });
    expect(reply.status, request + reply.text).toBe(200);
    return seen;
  }

  test('are those of the golden file and contain no values, and a read is one statement', async () => {
    const parts: string[] = [];
    for (const [name, path] of Object.entries(reads)) {
      const statements = await statementsOf(`GET /api/${path}`, name.startsWith('restricted') ? 'shop' : 'admin');
      expect(statements.join('\n')).not.toMatch(/needle|4242/);
      // Counts of unchanged tables are cached, so the second run of a counted list only reads the page.
      expect([name, statements.length]).toEqual([name, 1]);
      parts.push(`-- ${name}\n${statements.join('\n')}\n`);
    }
    const writes: [string, string, unknown][] = [
      ['create', 'POST /api/albums:create', { title: 'needle' }],
      ['create with a foreign key', 'POST /api/albums:create', { title: 'needle', artistId: 1 }],
      ['create two', 'POST /api/albums:create', [{ title: 'needle' }, { title: 'needle' }]],
      ['update by key', 'POST /api/albums:update?filterByTk=1', { title: 'needle' }],
      ['update by filter', `POST /api/albums:update?${filter({ title: 'needle' })}`, { live: true }],
      ['add of a link', 'POST /api/albums/2/tags:add', [1]],
      ['restore of none', `POST /api/tags:restore?${filter({ name: 'needle' })}`, undefined],
      ['trash by filter', `POST /api/tags:destroy?${filter({ name: 'needle' })}`, undefined],
      ['destroy by filter', `POST /api/albums:destroy?${filter({ title: 'needle and none' })}`, undefined],
    ];
    for (const [name, request, body] of writes) {
      const statements = await statementsOf(request, 'admin', body);
      expect(statements.join('\n')).not.toMatch(/needle|4242/);
      parts.push(`-- ${name}\n${statements.join('\n')}\n`);
    }
    const golden = fileURLToPath(new URL(`./golden/${engine.name}.sql`, import.meta.url));
    await expect(parts.join('\n')).toMatchFileSnapshot(golden);
  });

  test('a page is read as one text that is split at a separator between its records', async () => {
    const { body, text } = await server.call('GET /api/albums:list?count=none&pageSize=2&sort=-id');
    expect(body.data).toHaveLength(2);
    expect(text).toContain('},\n{');
    const whole = (await server.data('GET /api/albums:list?pageSize=100&sort=-id')) as unknown[];
    const paged: unknown[] = [];
    for (let after = ''; ; ) {
      const page = (await server.call(`GET /api/albums:list?pageSize=1&sort=-id&count=none${after}`)).body;
      paged.push(...page.data);
      if (!page.meta.hasNext) break;
      after = `&after=${page.meta.nextCursor}`;
    }
    expect(paged).toEqual(whole);
  });
});
