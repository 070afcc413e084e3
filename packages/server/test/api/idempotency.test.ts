import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines, shareStore } from '../support/engines.ts';
import { day, hour, MovingClock } from '../support/moving-clock.ts';
import { type Reply, type Scenario, TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';

const things = {
  name: 'things',
  fields: [
    { name: 'n', type: 'integer' },
    { name: 'text', type: 'text' },
    { name: 'tags', type: 'belongsToMany', target: 'tags' },
  ],
};
const tags = { name: 'tags', fields: [{ name: 'label', type: 'string', unique: true }] };
let last = 0;
const fresh = (): string => `key-${++last}`;
const under = (key: string): { readonly 'idempotency-key': string } => ({ 'idempotency-key': key });

const refusals: readonly Scenario[] = [
  {
    name: 'an empty key is refused with 400',
    request: 'POST /api/things:create',
    body: { n: 1 },
    headers: under(''),
    expect: { status: 400, code: 'HEADER_INVALID' },
  },
  {
    name: 'a key with a space is refused with 400',
    request: 'POST /api/things:create',
    body: { n: 1 },
    headers: under('a b'),
    expect: { status: 400, code: 'HEADER_INVALID' },
  },
  {
    name: 'a key of 256 characters is refused with 400',
    request: 'POST /api/things:create',
    body: { n: 1 },
    headers: under('k'.repeat(256)),
    expect: { status: 400, code: 'HEADER_INVALID' },
  },
  {
    name: 'a definition request has the same key grammar',
    request: 'POST /api/collections:create',
    body: { name: 'x' },
    headers: under('a b'),
    expect: { status: 400, code: 'HEADER_INVALID' },
  },
];

describeEngines('Idempotency-Key', (engine) => {
  const clock = new MovingClock();
  let server: TestServer;
  const create = (key: string, body: unknown, more: Pick<Scenario, 'as' | 'headers'> = {}): Promise<Reply> =>
    server.call('POST /api/things:create', { ...more, body, headers: { ...under(key), ...more.headers } });
  const count = async (n: number): Promise<number> =>
    ((await server.data(`GET /api/things:list?filter={"n":${n}}&pageSize=100`)) as unknown[]).length;

  beforeAll(async () => {
    server = await TestServer.start(engine, { clock });
    await server.data('POST /api/collections:apply', { body: [tags, things] });
    for (const name of ['writer', 'other']) {
      await server.data('POST /api/roles:create', { body: { name, title: name } });
      await server.data('POST /api/permissions:create', {
        body: { role: name, resource: 'things', actions: ['create', 'get', 'list'] },
      });
      await server.createKey(name);
    }
    await server.data('POST /api/permissions:create', {
      body: { role: 'public', resource: 'tags', actions: ['create'] },
    });
  });
  afterAll(() => server.stop());

  for (const scenario of refusals) test(scenario.name, () => server.play(scenario));

  test('a repeated request gets the first reply and creates nothing', async () => {
    const key = fresh();
    const first = await create(key, { n: 1 });
    const since = await server.lastCursor();
    const again = await create(key, { n: 1 });
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([
      null,
      'true',
    ]);
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
    expect(await server.lastCursor()).toBe(since);
    expect(await count(1)).toBe(1);
  });

  test('another body, query or path under the same key is refused with 422', async () => {
    const key = fresh();
    await create(key, { n: 2 });
    for (const request of ['POST /api/things:create', 'POST /api/things:create?fields=n', 'POST /api/tags:create'])
      await server.play({
        name: request,
        request,
        body: request.includes('fields') ? { n: 2 } : { n: 3 },
        headers: under(key),
        expect: {
          status: 422,
          code: 'IDEMPOTENCY_KEY_REUSED',
          body: { details: { 'Idempotency-Key': expect.any(String) } },
        },
      });
  });

  test('the same key of another credential is a different key', async () => {
    const key = fresh();
    const replies = [await create(key, { n: 4 }), await create(key, { n: 4 }, { as: 'writer' })];
    expect(replies.map((reply) => reply.headers.get('idempotency-replayed'))).toEqual([null, null]);
    expect(await count(4)).toBe(2);
  });

  test('the same key in another application is a different key', async () => {
    const key = fresh();
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const entered = await server.data('POST /api/applications:enter?filterByTk=shop', { body: {} });
    const more = { as: entered.token as string, headers: { 'x-app': 'shop' } };
    await server.data('POST /api/collections:apply', { ...more, body: [tags, things] });
    expect([
      (await create(key, { n: 5 })).status,
      (await create(key, { n: 5 }, more)).headers.get('idempotency-replayed'),
    ]).toEqual([200, null]);
  });

  test('a refused request may be sent again under its key', async () => {
    const key = fresh();
    const body = { label: 'taken' };
    const { id } = await server.data('POST /api/tags:create', { body });
    const ask = (): Promise<Reply> => server.call('POST /api/tags:create', { body, headers: under(key) });
    expect((await ask()).status).toBe(409);
    await server.data(`POST /api/tags:destroy?filterByTk=${id}`);
    expect((await ask()).status).toBe(200);
    expect((await ask()).headers.get('idempotency-replayed')).toBe('true');
  });

  test('twenty parallel requests create one record, and the others get its reply or 409 with Retry-After', async () => {
    const key = fresh();
    const replies = await Promise.all(Array.from({ length: 20 }, () => create(key, { n: 6 })));
    expect(await count(6)).toBe(1);
    for (const reply of replies.filter(({ status }) => status !== 200)) {
      expect([reply.status, reply.body.code]).toEqual([409, 'REQUEST_RUNNING']);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    const texts = new Set(replies.filter(({ status }) => status === 200).map(({ text }) => text));
    expect(texts.size).toBe(1);
  });

  test('every write accepts the key: update, destroy, links, batch and definitions', async () => {
    const { id } = await server.data('POST /api/things:create', { body: { n: 7 } });
    const tag = await server.data('POST /api/tags:create', { body: { label: 'linked' } });
    const operations = [{ op: 'create', resource: 'things', values: { n: 8 } }];
    for (const [request, body] of [
      [`POST /api/things:update?filterByTk=${id}`, { text: 'x' }],
      [`POST /api/things:update?filter={"n":7}`, { text: 'y' }],
      [`POST /api/things/${id}/tags:toggle`, [tag.id]],
      [`POST /api/things/${id}/tags:create`, { label: 'by relation' }],
      ['POST /api/things:firstOrCreate?filterKeys=n', { n: 9 }],
      ['POST /api/batch', { operations }],
      ['POST /api/collections:create', { name: 'later', fields: [{ name: 'n', type: 'integer' }] }],
      [`POST /api/things:destroy?filterByTk=${id}`, undefined],
    ] as const) {
      const headers = under(fresh());
      const first = await server.call(request, { body, headers });
      const again = await server.call(request, { body, headers });
      expect([request, first.status, again.text]).toEqual([request, 200, first.text]);
      expect([request, again.headers.get('idempotency-replayed')]).toEqual([request, 'true']);
    }
    expect(await count(8)).toBe(1);
  });

  test('twenty parallel firstOrCreate under different keys create one record', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () =>
        server.call('POST /api/things:firstOrCreate?filterKeys=n', { body: { n: 10 }, headers: under(fresh()) }),
      ),
    );
    expect(replies.filter(({ status }) => status !== 200)).toEqual([]);
    expect(await count(10)).toBe(1);
  });

  test('parallel definitions under different keys are all created, and each reply is stored', async () => {
    const names = Array.from({ length: 6 }, (_, n) => `beside${n}`);
    const make = (name: string): Promise<Reply> =>
      server.call('POST /api/collections:create', { body: { name, fields: [] }, headers: under(name) });
    const made = await Promise.all(names.map(make));
    expect(made.map(({ status, body }) => [status, body.code])).toEqual(names.map(() => [200, undefined]));
    const again = await make(names.at(-1)!);
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([made.at(-1)!.text, 'true']);
  });

  test('parallel writes of one record under different keys run one after the other', async () => {
    const { id } = await server.data('POST /api/things:create', { body: { n: 30 } });
    const replies = await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        server.call(`POST /api/things:update?filterByTk=${id}`, { body: { text: `${n}` }, headers: under(fresh()) }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
  });

  test('a secret is never stored: a repeated request is refused with 409, and nothing is created', async () => {
    const headers = under(fresh());
    const body = { role: { name: 'writer' } };
    const made = await server.data('POST /api/apiKeys:create', { body, headers });
    await server.play({
      name: 'the repeated request is refused',
      request: 'POST /api/apiKeys:create',
      body,
      headers,
      expect: { status: 409, code: 'REPLY_NOT_KEPT', absent: [made.token] },
    });
    const { database } = server.running.applications.main;
    const [rows] = await database.read([{ text: 'SELECT reply FROM _replies', values: [] }]);
    expect(rows!.length).toBeGreaterThan(5);
    expect(JSON.stringify(rows)).not.toMatch(/tb[ks]_/);
  });

  test('without a credential the key is refused with 400 for creates and ignored for sign-ins', async () => {
    const body = { email: 'root@example.com', password: 'correct horse battery' };
    const headers = under(fresh());
    for (let times = 0; times < 2; times += 1)
      expect((await server.call('POST /api/auth:signIn', { as: 'nobody', body, headers })).status).toBe(200);
    await server.play({
      name: 'nobody',
      as: 'nobody',
      request: 'POST /api/tags:create',
      body: { label: 'nobody' },
      headers,
      expect: { status: 400, code: 'HEADER_INVALID' },
    });
  });

  test('a stored reply is not shown after the permissions of the role have changed', async () => {
    const key = fresh();
    await create(key, { n: 12, text: 'hush' }, { as: 'other' });
    const [row] = await server.data('GET /api/permissions:list?filter={"role":"other"}');
    await server.data(`POST /api/permissions:update?filterByTk=${row.id}`, { body: { exceptFields: ['text'] } });
    const again = await create(key, { n: 12, text: 'hush' }, { as: 'other' });
    expect([again.status, again.body.code, again.text.includes('"hush"')]).toEqual([409, 'REPLY_NOT_KEPT', false]);
    await server.data(`POST /api/permissions:destroy?filterByTk=${row.id}`);
    expect((await create(key, { n: 12, text: 'hush' }, { as: 'other' })).status).toBe(403);
    expect(await count(12)).toBe(1);
  });

  test('a dry run stores no reply', async () => {
    const headers = under(fresh());
    await server.data('POST /api/things:create?dryRun=true', { body: { n: 13 }, headers });
    const again = await server.call('POST /api/things:create?dryRun=true', { body: { n: 13 }, headers });
    expect(again.headers.get('idempotency-replayed')).toBe(null);
  });

  test('a read by POST is executed again', async () => {
    const headers = under(fresh());
    const ask = (): Promise<Reply> => server.call('POST /api/things:list', { body: { pageSize: 1 }, headers });
    expect([(await ask()).status, (await ask()).headers.get('idempotency-replayed')]).toEqual([200, null]);
  });

  test('keys are stored for 24 hours and then removed', async () => {
    const key = fresh();
    await create(key, { n: 14 });
    clock.advance(day - hour);
    await server.running.stop();
    await server.boot();
    server.tokens.set('kept', (await server.createKey('admin')) as string);
    const [mine] = [fresh()];
    await create(mine, { n: 15 }, { as: 'kept' });
    expect((await create(mine, { n: 15 }, { as: 'kept' })).headers.get('idempotency-replayed')).toBe('true');
    clock.advance(day + hour);
    expect((await create(mine, { n: 15 }, { as: 'kept' })).headers.get('idempotency-replayed')).toBe(null);
    expect(await count(15)).toBe(2);
    const { database } = server.running.applications.main;
    for (let attempt = 0; ; attempt += 1) {
      const [rows] = await database.read([{ text: 'SELECT key FROM _replies', values: [] }]);
      if (rows!.length === 1) break;
      if (attempt === 100) throw new Error(`${rows!.length} replies are left`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
});

describeEngines('Idempotency-Key and kill -9', (engine) => {
  test('a repeated request creates exactly one record, whatever happened to the first one', async () => {
    const store = await engine.store(true);
    const first = await ServerProcess.start(store);
    await first.data('collections:create', { name: 'things', fields: things.fields.slice(0, 1) });
    const create = (server: ServerProcess, n: number): Promise<Response | null> =>
      server.call('things:create', { n }, under(`n-${n}`));
    const sent: number[] = [];
    const answered = new Set<number>();
    const writer = async (from: number): Promise<void> => {
      for (let n = from; ; n += 8) {
        sent.push(n);
        const reply = await create(first, n);
        if (!reply) return;
        expect(reply.status).toBe(200);
        answered.add(n);
      }
    };
    const writers = Array.from({ length: 8 }, (_, offset) => writer(offset));
    for (let waited = 0; answered.size < 30 && waited < 400; waited += 1)
      await new Promise((resolve) => setTimeout(resolve, 25));
    await first.kill();
    await Promise.all(writers);
    expect(answered.size).toBeGreaterThan(8);
    expect(sent.length).toBeGreaterThan(answered.size);
    const second = await ServerProcess.start(store);
    second.token = first.token; // an idempotency key belongs to its credential
    for (const n of sent.slice(-200)) expect((await create(second, n))!.status).toBe(200);
    const groups = await second.data('things:query', {
      measures: [{ aggregation: 'count', alias: 'times' }],
      dimensions: ['n'],
      having: { times: { $ne: 1 } },
    });
    expect(groups).toEqual([]);
    await second.kill();
    await store.remove();
  }, 60_000);
});

describe('Idempotency-Key on two servers', () => {
  describeEngines('of one store', (engine) => {
    // Only one process can use a SQLite file.
    test.runIf(engine.name === 'postgres')('twenty parallel requests to both servers create one record', async () => {
      const store = await engine.store(true);
      const shared = shareStore(engine, store);
      const nodes = [await TestServer.start(shared), await TestServer.start(shared)];
      await nodes[0]!.data('POST /api/collections:create', {
        body: { name: 'things', fields: things.fields.slice(0, 1) },
      });
      const key = await nodes[0]!.createKey('admin');
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          nodes[index % 2]!.call('POST /api/things:create', { as: key, body: { n: 1 }, headers: under('both') }),
        ),
      );
      expect(replies.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
      expect(await nodes[1]!.data('GET /api/things:list')).toHaveLength(1);
      const again = await nodes[1]!.call('POST /api/things:create', {
        as: key,
        body: { n: 1 },
        headers: under('both'),
      });
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      await Promise.all(nodes.map((node) => node.stop()));
      await store.remove();
    });
  });
});
