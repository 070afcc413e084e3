import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Reply, TestServer } from '../support/scenario.ts';

/** Texts that terminate literals, start comments, look like function calls, or contain unusual characters. */
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
    const smtp = { SMTP_URL: 'smtp://127.0.0.1:1', SMTP_FROM: 'a@example.com', PUBLIC_URL: 'http://localhost' };
    server = await TestServer.start(engine, { env: { ...smtp, ALLOW_SIGN_UP: 'main', RATE_LIMIT_SIGN_IN: 'off' } });
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
    before = await server.readSnapshot();
  });
  afterAll(() => server.stop());

  /**
   * Expects that the request causes no internal error, that the reply contains no SQL, and that nothing was changed.
   */
  async function harmless(request: string, body?: unknown, quoted = ''): Promise<Reply> {
    const reply = await server.call(request, body === undefined ? {} : { body });
    expect(reply.status, reply.text).toBeLessThan(500);
    if (reply.status >= 400)
      expect(reply.body.message.replaceAll(quoted, '')).not.toMatch(
        /syntax error|SQLITE|near "|_fold|posts_\d|SELECT |pg_/,
      );
    return reply;
  }

  /**
   * Requests with text that PostgreSQL does not accept, in every place where text of a caller can reach a statement:
   * [request, body, status].
   */
  const illFormed = (text: string): [string, unknown, (number | undefined)?][] => [
    ['POST auth:signIn', { email: `a${text}@b.test`, password: text }, 401],
    ['POST auth:signIn', { account: text, password: 'x' }, 401],
    ['POST auth:lostPassword', { email: `a${text}@b.test` }, 200],
    ['POST auth:resetPassword', { token: text, password: `correct horse${text}` }],
    ['POST auth:signUp', { email: `a${text}@b.test`, password: 'correct horse battery' }],
    ['POST auth:setup', { token: text, email: `a${text}@b.test`, password: 'correct horse battery' }],
    ['POST things:list', { search: text }, 400],
    ['POST things:list', { search: `x${text}`, searchFields: ['text'] }, 400],
    ['POST things:list', { filter: { text } }, 400],
    ['POST things:list', { filter: { text: { $in: ['x', text] } } }, 400],
    ['POST things:list', { filter: { data: { $eq: text } } }],
    ['POST things:list', { after: text }, 400],
    ['POST things:list', { after: Buffer.from(JSON.stringify([text, text])).toString('base64url') }, 400],
    ['POST things:get', { filterByTk: text }, 400],
    ['POST things:create', { text }, 422],
    ['POST things:create', { data: { [text]: text } }, 422],
    ['POST things:firstOrCreate?filterKeys=text', { text }],
    ['POST things:query', { measures: [{ aggregation: 'count', alias: text }] }],
    ['POST things:query', { measures: [{ aggregation: 'count' }], filter: { text } }],
    ['POST things:export', { search: text }],
    ['POST audit:list', { search: text }, 400],
    ['POST audit:list', { filter: { action: { $includes: text } } }, 400],
    ['POST collections:list', { search: text }, 400],
    ['POST collections:list', { filter: { name: text } }, 400],
    ['POST collections:get', { filterByTk: text }, 404],
    ['POST collections:create', { name: 'x', title: text, description: text }, 422],
    ['POST fields:create', { collectionName: text, name: text, type: 'string' }, 404],
    ['POST fields:create', { collectionName: 'things', name: 'x', type: 'string', defaultValue: text }, 422],
    ['POST roles:create', { name: text, title: text }, 422],
    ['POST roles:get', { filterByTk: text }, 400],
    ['POST permissions:create', { role: text, resource: text, actions: [text] }, 422],
    ['POST permissions:create', { role: 'viewer', resource: 'things', actions: ['list'], filter: { text } }, 422],
    ['POST permissions:explain', { role: text, resource: text, action: text }],
    ['POST users:create', { email: `a${text}@b.test`, username: text, nickname: text }, 422],
    ['POST apiKeys:create', { name: text, role: { name: 'viewer' } }, 422],
    ['POST apiKeys:create', { role: { name: text } }, 422],
    ['POST applications:create', { name: text, displayName: text }, 422],
    ['POST applications:create', { name: 'ill', displayName: text, options: { metadata: { [text]: text } } }, 422],
    ['POST webhooks:create', { url: `https://example.com/${text}`, events: [text], role: 'viewer', secret: text }, 422],
    ['POST changes:publish', { name: 'campaign.sent', payload: { [text]: text } }, 422],
    ['POST changes:list', { since: text }, 400],
    ['POST changes:list', { resource: text }, 404],
    ['POST emails:list', { search: text }],
    ['POST emails:list', { folder: text, from: text, to: text }],
    ['POST conversations:list', { search: `subject:${text} in:${text}` }],
    ['POST accounts:create', { email: `a${text}@b.test`, name: text }],
    ['POST batch', { operations: [{ op: 'get', resource: 'things', filterByTk: text }] }, 400],
    ['POST batch', { operations: [{ op: 'create', as: text, resource: text, values: { text } }] }],
  ];
  test.each(['\u0000', '\ud800'])('text that no engine can store is refused or not found: %j', async (text) => {
    await harmless(`GET /api/things:list?search=%00`);
    await harmless(`GET /api/emails?search=%00&folder=%00`);
    await harmless(`GET /api/applications:get/%00`);
    for (const action of ['start', 'stop', 'destroy', 'enter'])
      await harmless(`POST /api/applications:${action}?filterByTk=%00&confirm=%00`);
    await harmless(`GET /api/%00:list`);
    const others: unknown[] = [];
    for (const [request, body, status] of illFormed(text)) {
      const reply = await harmless(request.replace(' ', ' /api/'), body);
      const isRight =
        status === undefined ? reply.status >= 400 || reply.body.data.length === 0 : reply.status === status;
      if (!isRight) others.push([request, body, reply.text.slice(0, 300)]);
    }
    expect(others).toEqual([]);
    expect(await server.readSnapshot()).toBe(before);
  });

  test('a key that looks like a list is one key in a path, and one element in a list of keys', async () => {
    const key = [
      { name: 'key', type: 'string', primaryKey: true },
      { name: 'n', type: 'integer' },
    ];
    const tags = {
      name: 'tags',
      type: 'belongsToMany',
      target: 'odd',
      through: 'oddTags',
      foreignKey: 'a',
      otherKey: 'b',
    };
    await server.data('POST /api/collections:create', {
      body: { name: 'odd', fields: [...key, tags], options: { logging: true } },
    });
    await server.data('POST /api/odd:create', {
      body: [{ key: '[1]' }, { key: '["a"]' }, { key: '[x' }, { key: '1' }],
    });
    for (const name of ['[1]', '["a"]', '[x']) {
      const path = enc(name);
      expect((await server.data(`GET /api/odd:get/${path}`)).key).toBe(name);
      expect((await server.data(`POST /api/odd:update/${path}`, { body: { n: 1 } })).n).toBe(1);
      expect(await server.data(`GET /api/odd:history/${path}`)).toHaveLength(2);
      expect(await server.data(`POST /api/odd/1/tags:add/${path}`)).toContain(name);
      expect((await server.data(`GET /api/odd/1/tags:get/${path}`)).key).toBe(name);
      expect(await server.data(`GET /api/odd/${path}/tags:list`)).toEqual([]);
    }
    const listed = await server.data(`GET /api/odd:list?filterByTk=${enc(JSON.stringify(['[1]', '1']))}&fields=key`);
    expect(listed).toEqual([{ key: '1' }, { key: '[1]' }]);
    expect(await server.data(`POST /api/odd:destroy/${enc('[1]')}`)).toBe(1);
    await server.data('POST /api/collections:destroy?filterByTk=odd&cascade=true');
  });

  /** Objects that cannot be converted to text: from bracketed parameters, and from a body with its own `toString`. */
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
  ])('an object instead of a text is refused: %s %j', async (request, body) => {
    const reply = await harmless(request.replace(' ', ' /api/'), body);
    expect([400, 422]).toContain(reply.status);
    expect(await server.readSnapshot()).toBe(before);
  });

  describe.each(texts)('%j', (text) => {
    test('is stored as a plain value', async () => {
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

    test('is refused as a name', async () => {
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

  test('a filter at its limits is accepted, and one beyond them is refused', async () => {
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

  test('a key of the wrong type is refused, even if it begins with a valid key', async () => {
    for (const key of ['1 OR 1=1', '1.5', '1e0', '0x1', ' 1', '９', '-', '99999999999999999999', '1;']) {
      const { status } = await harmless(`GET /api/things:get?filterByTk=${enc(key)}`);
      expect([key, status >= 400]).toEqual([key, true]);
    }
  });

  test('none of these requests changed anything', async () => {
    expect(await server.readSnapshot()).toBe(before);
  });
});
