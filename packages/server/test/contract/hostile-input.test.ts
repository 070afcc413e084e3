import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Reply, TestServer } from '../support/scenario.ts';

/** Texts that end literals, start comments, name functions, or are odd in themselves. */
const texts = [
  `'; DROP TABLE users; --`,
  `" OR "1"="1`,
  `') UNION SELECT password FROM users --`,
  `$1::text || (SELECT 1)`,
  `?1 ? :a @b $c`,
  `\\'; SELECT pg_sleep(5); --`,
  `%' OR 1=1 /*`,
  `{{process.env.APP_KEY}}`,
  `\u2028\u202e\ufeff`,
  `İıßſK😀e\u0301`,
  `${'['.repeat(300)}`,
];
const enc = encodeURIComponent;

describeEngines('hostile input', (engine) => {
  let server: TestServer;
  let before: string;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const make = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    await make('collections:create', {
      name: 'things',
      fields: [
        { name: 'text', type: 'string' },
        { name: 'data', type: 'json' },
        { name: 'other', type: 'belongsTo', target: 'things' },
      ],
    });
    await make('things:create', [{ text: 'plain' }, { text: 'other' }]);
    before = await server.picture();
  });
  afterAll(() => server.stop());

  /** Nothing fails inside, says SQL, or changes anything. */
  async function harmless(request: string, body?: unknown, quoted = ''): Promise<Reply> {
    const reply = await server.call(request, body === undefined ? {} : { body });
    expect(reply.status, reply.text).toBeLessThan(500);
    if (reply.status >= 400)
      expect(reply.body.message.replaceAll(quoted, '')).not.toMatch(
        /syntax error|SQLITE|near "|_fold|posts_\d|SELECT |pg_/,
      );
    return reply;
  }

  /** Objects that no text can be made of: those of bracketed parameters, and what a body can name. */
  const textless = { toString: 1, valueOf: 1 };
  test.each<[string, unknown?]>([
    ['GET apiKeys:stats?filterByTk[]=1'],
    ['POST apiKeys:stats', { filterByTk: textless }],
    ['GET permissions:explain?role=viewer&resource=roles&action=list&user[]=1'],
    ['POST roles:create', { name: textless }],
    ['POST things:list?filter[text]=plain', { filter: textless }],
    ['POST things:get', { filterByTk: [textless] }],
    ['POST things:query', { measures: [{ field: [textless], aggregation: 'sum' }] }],
    ['POST things:query', { measures: [{ aggregation: 'count' }], orders: [{ alias: textless }] }],
    ['POST things:query', { measures: [{ aggregation: 'count' }], orders: [{ alias: 'count', order: textless }] }],
  ])('an object where a text belongs is refused: %s %j', async (request, body) => {
    const reply = await harmless(request.replace(' ', ' /api/'), body);
    expect([400, 422]).toContain(reply.status);
    expect(await server.picture()).toBe(before);
  });

  describe.each(texts)('%j', (text) => {
    test('as a value it is only a value', async () => {
      const { id } = await server.data('POST /api/things:create', { body: { text, data: { [text]: [text] } } });
      for (const operator of ['$eq', '$includes', '$startsWith', '$endsWith', '$in']) {
        const value = operator === '$in' ? [text] : text;
        const filter = enc(JSON.stringify({ text: { [operator]: value } }));
        const { body } = await harmless(`GET /api/things:list?filter=${filter}&sort=id`);
        expect([operator, body.data.map((each: { id: number }) => each.id)]).toEqual([operator, [id]]);
      }
      const found = await server.data(`GET /api/things:get?filterByTk=${id}`);
      expect([found.text, found.data]).toEqual([text, { [text]: [text] }]);
      await server.data(`POST /api/things:destroy?filterByTk=${id}`);
    });

    test('as a name it is refused', async () => {
      const name = enc(text);
      const json = (value: unknown): string => enc(JSON.stringify(value));
      const requests = [
        `GET /api/things:list?filter=${json({ [text]: 1 })}`,
        `GET /api/things:list?filter=${json({ text: { [`$${text}`]: 1 } })}`,
        `GET /api/things:list?filter=${json({ [`other.${text}`]: 1 })}`,
        `GET /api/things:list?fields=${json([text])}`,
        `GET /api/things:list?appends=${json([text])}`,
        `GET /api/things:list?sort=${json([text])}`,
        `GET /api/things:list?after=${name}`,
        `GET /api/things:list?after=${Buffer.from(JSON.stringify([text, text])).toString('base64url')}`,
        `GET /api/things:list?${name}=1`,
        `GET /api/things:list?page=${name}`,
        `GET /api/things:get?filterByTk=${name}`,
        `GET /api/${name}:list`,
        `GET /api/things:${name}`,
      ];
      for (const request of requests) {
        const { status } = await harmless(request, undefined, text);
        expect([request, status >= 400]).toEqual([request, true]);
      }
      const bodies: [string, unknown][] = [
        ['things:create', { [text]: 1 }],
        ['things:update?filterByTk=1', { [text]: 1 }],
        ['collections:create', { name: text }],
        ['collections:create', { name: 'x', fields: [{ name: text, type: 'string' }] }],
        ['collections:create', { name: 'x', fields: [{ name: 'a', type: text }] }],
        ['collections:create', { name: 'x', fields: [{ name: 'a', type: 'belongsTo', target: text }] }],
        ['fields:create', { collectionName: text, name: 'a', type: 'string' }],
        ['permissions:create', { role: 'viewer', resource: text, actions: ['list'] }],
      ];
      for (const [action, body] of bodies) {
        const { status } = await harmless(`POST /api/${action}`, body, text);
        expect([action, status >= 400]).toEqual([action, true]);
      }
    });
  });

  test('at the bounds of a filter it answers, past them it refuses', async () => {
    const list = (filter: unknown): Promise<Reply> => harmless('POST /api/things:list', { filter });
    const many = (count: number): unknown => ({ $or: Array.from({ length: count }, (_, n) => ({ text: `t${n}` })) });
    const deep = (depth: number): unknown => (depth === 0 ? { text: 'plain' } : { $and: [deep(depth - 1)] });
    expect((await list(many(500))).status).toBe(200);
    expect((await list(many(501))).body.code).toBe('LIMIT_EXCEEDED');
    expect((await list(deep(16))).status).toBe(200);
    expect((await list(deep(17))).body.code).toBe('LIMIT_EXCEEDED');
    expect((await list(deep(5000))).body.code).toBe('LIMIT_EXCEEDED');
    const values = Array.from({ length: 10_000 }, (_, n) => `v${n}`);
    expect((await list({ text: { $in: values } })).status).toBe(200);
    expect((await list({ text: { $in: [...values, 'one'] } })).body.code).toBe('LIMIT_EXCEEDED');
    expect((await list({ text: { $like: '%'.repeat(1000) } })).status).toBe(200);
    expect((await list({ text: { $like: '%'.repeat(1001) } })).body.code).toBe('LIMIT_EXCEEDED');
    expect((await list({ 'other.other.other.other.other.text': 'x' })).status).toBe(200);
    expect((await list({ 'other.other.other.other.other.other.text': 'x' })).body.code).toBe('LIMIT_EXCEEDED');
  });

  test('a key of the wrong kind is refused, never half read', async () => {
    for (const key of ['1 OR 1=1', '1.5', '1e0', '0x1', ' 1', '９', '-', '99999999999999999999', '1;']) {
      const { status } = await harmless(`GET /api/things:get?filterByTk=${enc(key)}`);
      expect([key, status >= 400]).toEqual([key, true]);
    }
  });

  test('nothing of all this changed anything', async () => {
    expect(await server.picture()).toBe(before);
  });
});
