import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/**
 * Requests that are larger than anybody needs: each is refused immediately because of its size, before any work is
 * done. Other tests:
 * filters at their limits in `contract/hostile-input.test.ts`; expensive reads and writes in
 * `contract/expensive-requests.test.ts`; slow
 * readers in `contract/long-streams.test.ts`; headers and bodies over the limit in `api/http-refusals.test.ts`.
 */
describeEngines('resource exhaustion', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: {
        name: 'things',
        fields: [
          { name: 'text', type: 'string' },
          { name: 'data', type: 'json' },
          { name: 'parent', type: 'belongsTo', target: 'things' },
        ],
      },
    });
    await server.data('POST /api/things:create', { body: [{ text: 'one' }, { text: 'two', parentId: 1 }] });
  });
  afterAll(() => server.stop());

  const numbers = [
    '1e309',
    '1e3',
    '0',
    '-1',
    '1.5',
    '0x10',
    '010e2',
    'NaN',
    'Infinity',
    '9007199254740993',
    '１',
    '+1',
    '1_000',
    ' ',
    '1;2',
    '99999999999999999999',
  ];
  test.each(['page', 'pageSize'])('%s only accepts whole numbers', async (name) => {
    for (const value of numbers) {
      const { status, text } = await server.call(`GET /api/things:list?${name}=${encodeURIComponent(value)}`);
      expect([value, status, text.includes(name)]).toEqual([value, 400, true]);
    }
    for (const value of ['1e309', -1, 1.5, true, {}, [1], '1e3']) {
      const { status } = await server.call('POST /api/things:list', { body: { [name]: value } });
      expect([value, status]).toEqual([value, 400]);
    }
  });

  const deep = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
  const requests: readonly (readonly [string, string, unknown])[] = [
    ['a page far beyond the last one', 'GET /api/things:list?pageSize=1001', undefined],
    ['a very large offset', 'POST /api/things:query', { measures: [{ aggregation: 'count' }], offset: 1e300 }],
    ['a query over everything', 'POST /api/things:query', { measures: [{ aggregation: 'count' }], limit: 10_001 }],
    [
      'a thousand measures',
      'POST /api/things:query',
      { measures: Array.from({ length: 2000 }, (_, n) => ({ aggregation: 'count', alias: `a${n}` })) },
    ],
    ['a hundred appends', 'POST /api/things:list', { appends: Array.from({ length: 51 }, (_, n) => `parent${n}`) }],
    ['appends six levels deep', 'GET /api/things:list?appends=parent.parent.parent.parent.parent.parent', undefined],
    [
      'a sort of a thousand terms',
      'POST /api/things:list',
      { sort: Array.from({ length: 1000 }, (_, n) => `text${n}`) },
    ],
    ['a search of a megabyte', 'POST /api/things:list', { search: 'a'.repeat(1_000_000) }],
    ['a filter nested a thousand levels deep', 'POST /api/things:list', `{"filter":${deep(20_000, '{"$not":', '}')}}`],
    ['deeply nested lists', 'POST /api/things:list', `{"filter":{"$and":${deep(20_000, '[', ']')}}}`],
    ['JSON nested past 100', 'POST /api/things:create', `{"data":${deep(20_000, '[', ']')}}`],
    ['brackets nested a hundred levels deep', `GET /api/things:list?filter${'[a]'.repeat(300)}=1`, undefined],
    ['a list with one very large index', 'GET /api/things:list?filter[text][$in][999999999]=1', undefined],
    ['a name of a megabyte', 'POST /api/collections:create', { name: 'a'.repeat(1_000_000) }],
    ['a field name of a megabyte', 'POST /api/things:create', { ['a'.repeat(1_000_000)]: 1 }],
    [
      'a thousand fields',
      'POST /api/collections:create',
      { name: 'wide', fields: Array.from({ length: 201 }, (_, n) => ({ name: `f${n}`, type: 'string' })) },
    ],
    ['more than a thousand records', 'POST /api/things:create', Array.from({ length: 1001 }, () => ({ text: 'x' }))],
    ['more than a thousand links', 'POST /api/things:create', { parent: Array.from({ length: 1001 }, (_, n) => n) }],
    [
      'a hundred thousand keys',
      'POST /api/things:list',
      { filter: { id: { $in: Array.from({ length: 100_000 }, (_, n) => n) } } },
    ],
    [
      'a pattern with exponential backtracking',
      'POST /api/things:list',
      { filter: { text: { $like: '%a'.repeat(600) } } },
    ],
    ['very deeply nested records', 'POST /api/things:create', `${'{"parent":'.repeat(50)}{}${'}'.repeat(50)}`],
    ['a cursor of a megabyte', 'POST /api/things:list', { after: 'a'.repeat(1_000_000) }],
    ['a key of a megabyte', 'POST /api/things:get', { filterByTk: '1'.repeat(1_000_000) }],
  ];
  test.each(requests)('%s is refused immediately with a short message', async (_name, request, body) => {
    const before = await server.readSnapshot();
    const started = performance.now();
    const { status, text } = await server.call(request, body === undefined ? {} : { body });
    expect([400, 413, 422]).toContain(status);
    expect(text.length).toBeLessThan(2000);
    expect(performance.now() - started).toBeLessThan(20_000);
    expect(await server.readSnapshot()).toBe(before);
  });

  test('requests without a credential cannot open unknown applications', async () => {
    const { openCount } = server.running.applications;
    for (let count = 0; count < 50; count += 1) {
      const headers = { 'x-app': `app${count}` };
      expect((await server.call('GET /api/x:list', { as: 'nobody', headers })).status).toBe(401);
    }
    expect(server.running.applications.openCount).toBe(openCount);
  });
});
