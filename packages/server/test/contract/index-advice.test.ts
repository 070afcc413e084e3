import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MissingIndex } from '../../src/collections/index-advice.ts';
import { describeEngines, type Engine } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { day, MovingClock } from '../support/moving-clock.ts';
import { TestServer } from '../support/scenario.ts';

const records = 20_000;
const secret = 'value-that-nobody-may-see';
const secretDay = '1999-12-31';

describeEngines('the index advice', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const define = (body: object): Promise<Json> => server.data('POST /api/collections:create', { body });
    await define({ name: 'writers', fields: [{ name: 'country', type: 'string' }] });
    await define({
      name: 'posts',
      fields: [
        { name: 'status', type: 'string' },
        { name: 'views', type: 'integer' },
        { name: 'due', type: 'date' },
        { name: 'writer', type: 'belongsTo', target: 'writers' },
      ],
    });
    await server.data('POST /api/writers:create', { body: { country: 'se' } });
    await server.data('POST /api/posts:create', { body: { status: 'open', views: 0, due: '2026-01-01', writerId: 1 } });
    await fill(server, engine);
  }, 60_000);
  afterAll(() => server.stop());

  const advise = (collection = 'posts'): Promise<Json> =>
    server.data(`GET /api/indexes:advice?collectionName=${collection}`);
  const call = async (path: string): Promise<void> => {
    for (let index = 0; index < 3; index += 1) await server.data(`GET /api/${path}`);
  };
  const list = (filter: object, rest: string): Promise<void> =>
    call(`posts:list?count=none&filter=${JSON.stringify(filter)}&${rest}`);
  const dropIndexes = async (): Promise<void> => {
    for (const name of ['posts', 'writers'])
      await server.data(`POST /api/collections:update?filterByTk=${name}`, { body: { options: { indexes: [] } } });
  };
  const addIndex = async (collection: string, fields: readonly string[]): Promise<void> => {
    const { options } = await server.data(`GET /api/collections:get?filterByTk=${collection}`);
    const indexes = [...(options.indexes ?? []), { fields }];
    await server.data(`POST /api/collections:update?filterByTk=${collection}`, { body: { options: { indexes } } });
  };

  /**
   * Reads that need an index: collection, description, the fields of that index, whether its effect can be predicted,
   * and the read.
   */
  const cases: readonly (readonly [string, string, readonly string[], boolean, () => Promise<void>])[] = [
    [
      'posts',
      'one condition and the order of the list',
      ['status', 'createdAt'],
      true,
      () => list({ status: 'open' }, 'sort=-createdAt'),
    ],
    ['posts', 'an order without conditions', ['views'], true, () => list({}, 'sort=views')],
    ['posts', 'a condition that few records match', ['status'], true, () => list({ status: 'rare' }, 'sort=id')],
    [
      'posts',
      'a range that few records match, in another order',
      ['views'],
      true,
      () => list({ views: { $gt: 19_990 } }, 'sort=-createdAt'),
    ],
    [
      'posts',
      'a condition, and a range in the order of the list',
      ['status', 'views'],
      true,
      () => list({ status: 'open', views: { $gt: 5000 } }, 'sort=views'),
    ],
    ['posts', 'an order from high to low by a field that can be null', ['views'], true, () => list({}, 'sort=-views')],
    [
      'writers',
      'the condition on a related record',
      ['country'],
      false,
      () => list({ writer: { country: 'no' } }, 'sort=-id'),
    ],
  ];

  describe.each(cases)('on %s for %s', (collection, _, fields, isComplete, run) => {
    test('names an index that is then used, reduces the visited records, and ends the advice', async () => {
      await dropIndexes();
      await run();
      const before = find((await advise(collection)).missing, fields);
      expect(before).toMatchObject({ calls: 3, expectedRows: isComplete ? before?.rowsReturned : null });
      expect(before?.rowsVisited).toBeGreaterThan(records / 4);
      expect(before?.summary).toContain(`index on ${collection} (${fields.join(', ')}): 3 calls looked at about `);
      await addIndex(collection, fields);
      await run();
      expect((await advise(collection)).missing).toEqual([]);
      const { shapes, registry } = server.running.applications.main;
      const [shape] = shapes.listCurrent(registry);
      const used = shape?.access?.tables.flatMap(({ index, seeks }) => (index === null ? [] : [{ index, seeks }]));
      const ids = fields.map((name) => registry.get(collection).byName.get(name)?.id).join('_');
      expect(used?.map(({ index }) => index)).toContain(`i_${registry.get(collection).id}_${ids}`);
      if (collection === 'posts') expect(shape!.visited / shape!.calls).toBeLessThan(records / 20);
    });
  });

  describe('on conditions that need more than one index', () => {
    const fieldsOf = (missing: readonly MissingIndex[]): unknown =>
      missing.map(({ type, fields, onlyWith }) => [type, fields.join(), ...onlyWith.map(String)]).sort();

    test('names an index for each branch of an $or, which are used together', async () => {
      const run = (): Promise<void> =>
        list({ $or: [{ status: 'rare', due: { $ne: null } }, { views: { $gt: 19_995 } }] }, 'sort=-createdAt');
      await dropIndexes();
      await run();
      const { missing } = await advise();
      expect(fieldsOf(missing)).toEqual([
        ['index', 'status', 'views'],
        ['index', 'views', 'status'],
      ]);
      expect(missing[0].summary).toMatch(/ these fields, together with an index on \((status|views)\)$/);
      await addIndex('posts', ['status', 'createdAt']);
      await run();
      expect(fieldsOf((await advise()).missing)).toEqual([['index', 'views']]);
      await addIndex('posts', ['views']);
      await run();
      expect((await advise()).missing).toEqual([]);
      const { shapes, registry } = server.running.applications.main;
      const [shape] = shapes.listCurrent(registry);
      expect(shape?.access?.tables.filter(({ seeks }) => seeks).length).toBeGreaterThanOrEqual(2);
      expect(shape!.visited / shape!.calls).toBeLessThan(records / 20);
    });

    test('names search indexes for texts in lists, which end the advice', async () => {
      await dropIndexes();
      const includes = { status: { $includes: 'rar' } };
      await list(includes, 'sort=-createdAt');
      await call('posts:list?count=none&search=rar&searchFields=status&sort=-createdAt');
      const { missing } = await advise();
      expect(fieldsOf(missing)).toEqual([['search', 'status']]);
      expect(missing[0]).toMatchObject({ calls: 6, expectedRows: null });
      expect(missing[0].summary).toContain('search index on posts (status): 6 calls');
      await server.data('POST /api/collections:update?filterByTk=posts', { body: { options: { search: ['status'] } } });
      await expect
        .poll(async () => (await server.data('GET /api/collections:get?filterByTk=posts')).searchIndexes[0].state, {
          timeout: 10_000,
        })
        .toBe('ready');
      await list(includes, 'sort=-createdAt');
      expect((await advise()).missing).toEqual([]);
      const { shapes, registry } = server.running.applications.main;
      const [shape] = shapes.listCurrent(registry);
      const names = shape!.access!.tables.flatMap(({ table, index }) => [table, index ?? '']);
      expect(names).toContainEqual(expect.stringMatching(/^_sx\d/));
      await server.data('POST /api/collections:update?filterByTk=posts', { body: { options: { search: [] } } });
    });

    test('advises nothing if no index would help', async () => {
      await dropIndexes();
      await list({}, 'sort=writer.country');
      await list({ writer: { country: { $includes: 'zzz' } } }, 'sort=-id');
      await list({ $or: [{ status: 'rare' }, { status: { $ne: 'open' } }] }, 'sort=-id');
      await list({ $or: [{ status: 'rare' }, { writer: { country: { $includes: 'zzz' } } }] }, 'sort=-id');
      await list({ $or: [{ status: 'rare' }, { status: { $includes: 'rar' } }] }, 'sort=-id');
      await list({ status: { $ne: 'open' } }, 'sort=views');
      await call(`posts:get?filter=${JSON.stringify({ status: { $includes: 'rar' } })}&sort=-id`);
      await call(`posts:query?measures=[{"aggregation":"count"}]&filter={"status":{"$includes":"rar"}}`);
      for (const name of ['posts', 'writers']) expect((await advise(name)).missing).toEqual([]);
      await list({ status: 'rare' }, 'sort=writer.country');
      expect(fieldsOf((await advise()).missing)).toEqual([['index', 'status']]);
    });
  });

  describe('on reads of other kinds', () => {
    const open = async (): Promise<Json[]> => {
      await dropIndexes();
      return (await advise()).missing;
    };

    test('counts queries, streams, gets and writes by filter', async () => {
      expect(await open()).toEqual([]);
      const filter = JSON.stringify({ status: 'rare' });
      await call(`posts:query?measures=[{"aggregation":"count"}]&filter=${filter}`);
      await call(`posts:get?filter=${filter}&sort=-id`);
      for (let index = 0; index < 3; index += 1)
        await server.data(`POST /api/posts:update?filter=${filter}`, { body: { due: `2026-02-0${index + 1}` } });
      const missing = find((await advise()).missing, ['status']);
      expect(missing?.requests.map(({ conditions, sort }) => [conditions, sort])).toContainEqual([['status $eq'], []]);
      expect(missing?.calls).toBeGreaterThanOrEqual(6);
    });

    test('contains the fields of the row filter of a role, but no values of any request', async () => {
      await open();
      await server.data('POST /api/roles:create', { body: { name: 'reader' } });
      const rows = { $or: [{ status: 'rare' }, { status: secret }] };
      const permission = {
        role: 'reader',
        resource: 'posts',
        actions: ['list'],
        filter: { $and: [{ status: 'rare' }, { due: { $ne: secretDay } }] },
      };
      await server.data('POST /api/permissions:create', { body: permission });
      await server.createKey('reader');
      for (let index = 0; index < 3; index += 1) {
        await server.data('GET /api/posts:list?count=none', { as: 'reader' });
        await server.data(`GET /api/posts:list?count=none&filter=${JSON.stringify(rows)}`);
        await server.data(`GET /api/posts:list?count=none&filter={"status":"${secret}"}`);
      }
      const advice = await advise();
      const { shapes, registry } = server.running.applications.main;
      expect(advice.missing[0].fields).toEqual(['status']);
      const shown = JSON.stringify(shapes.listCurrent(registry).map(({ need }) => [need.conditions, need.sort]));
      expect(shown).toContain('status $eq');
      for (const text of [JSON.stringify(advice), shown]) {
        expect(text).not.toContain(secret);
        expect(text).not.toContain(secretDay);
      }
    });

    test('is not given if all indexes exist, nor for few calls, small collections and full scans', async () => {
      const indexes = [{ fields: ['status', 'createdAt'] }, { fields: ['views'] }];
      await server.data('POST /api/collections:update?filterByTk=posts', { body: { options: { indexes } } });
      await list({ status: 'open' }, 'sort=-createdAt');
      await list({}, 'sort=-views');
      await list({ writerId: 7 }, 'sort=-id');
      await call('posts:list?pageSize=5&page=3000');
      await call('writers:list');
      await call('posts:query?measures=[{"aggregation":"sum","field":"views"}]');
      await server.data('GET /api/posts:list?count=none&sort=due');
      const { missing } = await server.data('GET /api/indexes:advice');
      expect(missing).toEqual([]);
    });
  });

  describe('with the permissions of a role', () => {
    const may = (role: string, resource: string, more: object): Promise<Json> =>
      server.data('POST /api/permissions:create', { body: { role, resource, ...more } });

    test('is refused without the permissions to read and to change definitions', async () => {
      await server.data('POST /api/roles:create', { body: { name: 'looker' } });
      await may('looker', 'collections', { actions: ['list'] });
      await may('looker', 'posts', { actions: ['list'] });
      await server.createKey('looker');
      for (const as of ['looker', 'nobody'])
        await server.play({
          name: 'the advice is refused',
          request: 'GET /api/indexes:advice',
          as,
          expect: as === 'nobody' ? { status: 401, code: 'TOKEN_MISSING' } : { status: 403, code: 'NO_PERMISSION' },
        });
    });

    test('only names collections and fields that the role may list without a row filter', async () => {
      await dropIndexes();
      await list({}, 'sort=due');
      await list({ status: { $ne: 'open' }, due: '2000-01-01' }, 'sort=-id');
      await list({ status: 'rare' }, 'sort=id');
      await list({ writer: { country: 'no' } }, 'sort=-id');
      const fields = async (as: string): Promise<string[]> => {
        const { missing } = await server.data('GET /api/indexes:advice', { as });
        return missing.map((each: Json) => `${each.collection}: ${each.fields}`).sort();
      };
      expect(await fields('admin')).toEqual(['posts: due', 'posts: status', 'writers: country']);
      const grants: Readonly<Record<string, object>> = {
        partial: { actions: ['list'], exceptFields: ['status'] },
        filtered: { actions: ['list'], filter: { status: 'open' } },
        none: { actions: ['create'] },
      };
      for (const [role, grant] of Object.entries(grants)) {
        await server.data('POST /api/roles:create', { body: { name: role } });
        await may(role, 'collections', { actions: ['list', 'update'] });
        await may(role, 'posts', grant);
        await server.createKey(role);
      }
      expect(JSON.stringify(await server.data('GET /api/indexes:advice', { as: 'admin' }))).toContain(
        '$not(status $eq)',
      );
      expect(JSON.stringify(await server.data('GET /api/indexes:advice', { as: 'partial' }))).not.toContain('status');
      expect([await fields('partial'), await fields('filtered'), await fields('none')]).toEqual([
        ['posts: due'],
        [],
        [],
      ]);
    });
  });
});

describeEngines('unneeded indexes', (engine) => {
  test('are indexes that another index covers, or that no request has used for a day', async () => {
    const clock = new MovingClock();
    const server = await TestServer.start(engine, { clock });
    const fields = [
      { name: 'a', type: 'string', index: true },
      { name: 'b', type: 'string', unique: true },
      { name: 'c', type: 'string', index: true },
      { name: 'd', type: 'string', index: true },
      { name: 'parent', type: 'belongsTo', target: 'notes' },
    ];
    const indexes = [{ fields: ['a', 'b'] }, { fields: ['d', 'c'], unique: true }];
    await server.data('POST /api/collections:create', { body: { name: 'notes', fields, options: { indexes } } });
    const notes = Array.from({ length: 1000 }, (_, index) => ({
      a: 'x',
      b: `${index}`,
      c: `${index % 400}`,
      d: `d${index}`,
    }));
    await server.data('POST /api/notes:create', { body: notes });
    const find = async (): Promise<unknown> => {
      const { unneeded } = await server.data('GET /api/indexes:advice?collectionName=notes');
      return unneeded.map(({ fields, source, reason, coveredBy }: Json) => [
        fields.join(),
        source,
        reason,
        coveredBy?.join(),
      ]);
    };
    expect(await find()).toEqual([['a', 'field', 'covered', 'a,b']]);
    await server.data('GET /api/notes:list?count=none&filter={"c":"7"}');
    expect(await find()).toEqual([['a', 'field', 'covered', 'a,b']]);
    clock.advance(day + 1000);
    await server.signInAsAdmin();
    expect(await find()).toEqual([
      ['a', 'field', 'covered', 'a,b'],
      ['d', 'field', 'unused', undefined],
      ['a,b', 'options', 'unused', undefined],
    ]);
    await server.data('POST /api/fields:update', { body: { collectionName: 'notes', name: 'a', index: false } });
    expect(await find()).toEqual([]);
    // An index that serves a request better does not count as covered: only this one is in key order for equal values
    // of `a`.
    await server.data('POST /api/fields:update', { body: { collectionName: 'notes', name: 'a', index: true } });
    await server.data('GET /api/notes:list?count=none&filter={"a":"x"}&sort=-id');
    expect(await find()).toEqual([]);
    await server.stop();
  });
});

function find(missing: readonly MissingIndex[], fields: readonly string[]): MissingIndex | undefined {
  expect(missing.map((each) => each.fields)).toEqual([fields]);
  return missing[0];
}

/**
 * Copies the first record until there are enough. Each value of `views` occurs once, and nearly all records are open.
 */
async function fill(server: TestServer, engine: Engine): Promise<void> {
  const { database, registry } = server.running.applications.main;
  const column = (name: string, field: string): string => `"${registry.get(name).byName.get(field)!.column}"`;
  const counted =
    engine.name === 'sqlite'
      ? `WITH RECURSIVE c(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM c WHERE i<${records})`
      : `WITH c(i) AS (SELECT generate_series(2,${records}))`;
  const insert = (name: string, values: Readonly<Record<string, string>>): string => {
    const { table } = registry.get(name);
    const stamps = ['createdAt', 'updatedAt'].map((field) => column(name, field));
    const columns = [...Object.keys(values).map((field) => column(name, field)), ...stamps];
    const selected = [...Object.values(values), ...stamps.map((each) => `o.${each}`)];
    return `${counted} INSERT INTO "${table}" (${columns}) SELECT ${selected} FROM c,(SELECT * FROM "${table}") o`;
  };
  const country = "CASE WHEN i%5000=0 THEN 'no' ELSE 'se' END";
  const status = "CASE WHEN i%5000=0 THEN 'rare' ELSE 'open' END";
  const statements = [
    insert('writers', { country }),
    insert('posts', { status, views: 'i', due: `o.${column('posts', 'due')}`, writerId: 'i' }),
    ...(engine.name === 'postgres' ? ['ANALYZE'] : []),
  ];
  for (const text of statements)
    await database.write((transaction) => transaction.run({ text, values: [] }), { heavy: true, longRunning: true });
}
