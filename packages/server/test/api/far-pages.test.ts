import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('pages far from the start', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: {
        name: 'cards',
        fields: [
          { name: 'title', type: 'string' },
          { name: 'rank', type: 'integer', index: true },
          { name: 'set', type: 'integer', required: true },
          { name: 'number', type: 'integer', required: true },
        ],
        options: { indexes: [{ fields: ['createdAt'] }, { fields: ['set', 'number'] }] },
      },
    });
    // Records of one request are created at the same time.
    for (let start = 0; start < 1200; start += 300) {
      const body = Array.from({ length: 300 }, (_, index) => {
        const number = (start + index) * 7;
        return { title: `Card ${number}`, rank: number % 5 === 0 ? null : number % 11, set: number % 3, number };
      });
      await server.data('POST /api/cards:create', { body });
    }
  });
  afterAll(() => server?.stop());

  const all = (query: string): Promise<Json[]> => server.data(`GET /api/cards:list?paginate=false&${query}`);

  test.each([
    'sort=id',
    'sort=-id',
    'sort=createdAt',
    'sort=-createdAt',
    'sort=-createdAt,id',
    'sort=rank',
    'sort=-rank',
    'sort=set,number',
    'sort=-set,-number',
    'sort=-number',
    'sort=-createdAt&filter={"set":1}',
  ])('contain the records of that part of the whole list: %s', async (query) => {
    const records = await all(query);
    for (const [page, pageSize] of [
      [1, 30],
      [9, 30],
      [18, 30],
      [33, 37],
      [40, 30],
      [41, 30],
      [400, 1000],
    ] as const) {
      const reply = await server.call(`GET /api/cards:list?page=${page}&pageSize=${pageSize}&${query}`);
      expect(reply.status, reply.text).toBe(200);
      const start = (page - 1) * pageSize;
      expect(reply.body.data, `page ${page} of ${pageSize}`).toEqual(records.slice(start, start + pageSize));
      const hasNext = start + pageSize < records.length;
      expect(reply.body.meta).toMatchObject({ count: records.length, hasNext });
    }
  });

  test('may omit the key, and continue by cursor', async () => {
    const records = await all('sort=-createdAt');
    const path = 'GET /api/cards:list?sort=-createdAt&count=none&pageSize=100';
    const titles = await server.call(`${path}&page=7&fields=title`);
    expect(titles.body.data).toEqual(records.slice(600, 700).map(({ title }) => ({ title })));
    const next = await server.data(`${path}&after=${encodeURIComponent(titles.body.meta.nextCursor)}`);
    expect(next).toEqual(records.slice(700, 800));
  });
});
