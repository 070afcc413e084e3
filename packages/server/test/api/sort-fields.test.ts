import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type ExpectedOutcome, TestServer } from '../support/scenario.ts';

describeEngines('sort fields and move', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: {
        name: 'tasks',
        fields: [
          { name: 'title', type: 'string' },
          { name: 'lane', type: 'string' },
          { name: 'sort', type: 'sort', scopeKey: 'lane' },
        ],
      },
    });
    const body = [...'abcde'].map((title) => ({ title, lane: 'one' }));
    await server.data('POST /api/tasks:create', { body: [...body, { title: 'x', lane: 'two' }, { title: 'n' }] });
  });
  afterAll(() => server.stop());

  const order = async (lane: string | null): Promise<string> => {
    const filter = encodeURIComponent(JSON.stringify({ lane }));
    const tasks = await server.data(`GET /api/tasks:list?filter=${filter}&sort=sort&pageSize=100`);
    return tasks.map((each: { title: string }) => each.title).join('');
  };
  const move = (query: string): ReturnType<TestServer['play']> =>
    server.play({
      name: query,
      request: `POST /api/tasks:move?${query}`,
      expect: { status: 200, events: ['tasks.updated'] },
    });

  test('new records are placed at the end of their scope', async () => {
    expect(await server.data('GET /api/tasks:list?fields=sort')).toEqual(
      [1, 2, 3, 4, 5, 1, 1].map((sort) => ({ sort })),
    );
    expect(await server.data('POST /api/tasks:create', { body: { title: 'f', lane: 'one' } })).toMatchObject({
      sort: 6,
    });
  });

  test('a record moves down and up to the position of another one', async () => {
    await move('sourceId=1&targetId=3');
    expect(await order('one')).toBe('bcadef');
    await move('sourceId=5&targetId=2');
    expect(await order('one')).toBe('ebcadf');
  });

  test('a record moves before or after another one', async () => {
    await move('sourceId=6&targetId=6&sticky=true');
    await move('sourceId=5&targetId=4&method=insertBefore');
    expect(await order('one')).toBe('bcaedf');
    await move('filterByTk=2&targetId=4&method=insertAfter');
    expect(await order('one')).toBe('caedbf');
    await move('sourceId=8&targetId=3&method=insertAfter');
    expect(await order('one')).toBe('cfaedb');
  });

  test('a record moves to the first position, and to the end of another scope', async () => {
    await move('sourceId=2&sticky=true');
    expect(await order('one')).toBe('bcfaed');
    await move('sourceId=2&targetScope=two');
    expect([await order('one'), await order('two')]).toEqual(['cfaed', 'xb']);
    await move('sourceId=1&targetId=6&method=insertBefore');
    expect([await order('one'), await order('two')]).toEqual(['cfed', 'axb']);
  });

  test('dryRun of a move keeps the order', async () => {
    const reply = await server.call('POST /api/tasks:move?sourceId=3&sticky=true&dryRun=true');
    expect([reply.status, reply.body.meta]).toEqual([200, { dryRun: true }]);
    expect(await order('one')).toBe('cfed');
    expect((await server.call('POST /api/tasks:move?sourceId=3&targetId=4&targetScope=two')).status).toBe(400);
  });

  test('duplicate positions are put in order before a move', async () => {
    await server.data('POST /api/tasks:update?filter={"lane":"two"}', { body: { sort: 7 } });
    await move('sourceId=6&targetId=1');
    expect(await order('two')).toBe('xab');
  });

  test('random moves give the order that an array would have', async () => {
    const expected = [...(await order('one'))];
    const ids = new Map([...'abcdef'].map((title, index) => [title, index < 5 ? index + 1 : 8]));
    let state = 7;
    const below = (most: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * most);
    };
    for (let round = 0; round < 40; round += 1) {
      const [from, to] = [below(expected.length), below(expected.length)];
      const [source, target] = [expected[from]!, expected[to]!];
      await server.data(`POST /api/tasks:move?sourceId=${ids.get(source)}&targetId=${ids.get(target)}`);
      expected.splice(from, 1);
      expected.splice(to, 0, source);
      expect(await order('one')).toBe(expected.join(''));
    }
  });

  test('a new sort field numbers the existing records', async () => {
    await server.data('POST /api/fields:create', { body: { collectionName: 'tasks', name: 'rank', type: 'sort' } });
    const ranks = await server.data('GET /api/tasks:list?fields=rank');
    expect(ranks.map((each: { rank: number }) => each.rank)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await server.data('POST /api/tasks:create', { body: { title: 'z' } })).toMatchObject({ rank: 9 });
  });

  test('invalid moves are refused', async () => {
    const rows: [string, ExpectedOutcome, string?][] = [
      ['tasks:move', { status: 400, code: 'TARGET_MISSING' }],
      ['tasks:move?sourceId=1', { status: 400, code: 'TARGET_MISSING' }],
      ['tasks:move?sourceId=1&targetId=99', { status: 400, code: 'REFERENCE_MISSING' }],
      ['tasks:move?sourceId=99&targetId=1', { status: 404, code: 'RECORD_UNKNOWN' }],
      ['tasks:move?sourceId=x&targetId=1', { status: 400, code: 'PARAMETER_INVALID' }],
      ['tasks:move?sourceId=1&targetId=2&method=over', { status: 400, code: 'PARAMETER_INVALID' }],
      ['tasks:move?sourceId=1&targetId=2&sortField=title', { status: 400, code: 'PARAMETER_INVALID' }],
      ['tasks:move?sourceId=1&targetScope=1&sortField=rank', { status: 400, code: 'PARAMETER_INVALID' }],
      ['tasks:move?sourceId=1&targetId=2&speed=1', { status: 400, code: 'PARAMETER_UNKNOWN' }],
      ['users:move?sourceId=1&targetId=1', { status: 400, code: 'PARAMETER_INVALID' }],
      ['tasks:move?sourceId=1&targetId=2', { status: 403, code: 'NO_PERMISSION' }, 'viewer'],
    ];
    await server.createKey('viewer');
    for (const [path, outcome, as] of rows)
      await server.play({ name: path, request: `POST /api/${path}`, ...(as && { as }), expect: outcome });
    await server.play({
      name: 'a scope field cannot be changed',
      request: 'POST /api/fields:destroy',
      body: { collectionName: 'tasks', name: 'lane' },
      expect: { status: 409, code: 'DEPENDANTS_EXIST' },
    });
    await server.play({
      name: 'an invalid scope is refused',
      request: 'POST /api/fields:create',
      body: { collectionName: 'tasks', name: 'other', type: 'sort', scopeKey: 'nope' },
      expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { scopeKey: expect.any(String) } } },
    });
    await server.data('POST /api/fields:update', { body: { collectionName: 'tasks', name: 'lane', newName: 'track' } });
    await server.data('POST /api/tasks:move?sourceId=3&targetScope=two');
    expect(await server.data('GET /api/tasks:get?filterByTk=3')).toMatchObject({ track: 'two' });
  });
});
