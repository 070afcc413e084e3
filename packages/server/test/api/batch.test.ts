import { afterAll, beforeAll, expect, test } from 'vitest';
import { runOnJournalStore } from '../support/audit-entries.ts';
import { batch, order, startBatchServer } from '../support/batch-server.ts';
import { describeEngines } from '../support/engines.ts';
import { countPasswordHashes } from '../support/password-hashes.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('batch', (engine) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startBatchServer(engine);
  });
  afterAll(() => server.stop());

  test('operations can use earlier results in values, filters, keys and parents, and emit their events in order', async () => {
    const { body } = await server.play({
      name: 'all ops',
      ...batch(
        { op: 'create', resource: 'tags', as: 'tag', values: { label: 'new' } },
        { op: 'create', resource: 'orders', as: 'order', values: { no: 7, note: '$$5', data: { of: ['$tag.label'] } } },
        { op: 'create', resource: 'items', as: 'items', values: [{ name: 'a', orderId: '$order.id' }, { name: 'b' }] },
        { op: 'add', resource: 'orders', relation: 'tags', of: '$order.id', values: ['$tag.id'] },
        { op: 'set', resource: 'orders', relation: 'items', of: '$order.id', values: ['$items.0.id', '$items.1.id'] },
        { op: 'list', resource: 'items', filter: { orderId: { $eq: '$order.id' } } },
        { op: 'update', resource: 'orders', filterByTk: '$order.id', values: { note: 'paid' } },
        { op: 'remove', resource: 'orders', relation: 'items', of: '$order.id', filterByTk: '$items.1.id' },
        { op: 'create', resource: 'orders', relation: 'items', of: '$order.id', values: { name: 'c' } },
        { op: 'get', resource: 'orders', filter: { 'items.name': 'c' } },
        { op: 'destroy', resource: 'items', filterByTk: '$items.1.id' },
        { op: 'create', resource: 'bins', as: 'bin', values: {} },
        { op: 'destroy', resource: 'bins', filterByTk: '$bin.id' },
        { op: 'restore', resource: 'bins', filterByTk: '$bin.id' },
      ),
      expect: {
        status: 200,
        events: [
          'tags.created',
          'orders.created',
          'items.created',
          'items.created',
          'ordersTags.created',
          'items.updated',
          'orders.updated',
          'items.updated',
          'items.created',
          'items.destroyed',
          'bins.created',
          'bins.destroyed',
          'bins.restored',
        ],
      },
    });
    const [tag, made, items, added, set, listed, , removed, , got, gone] = body.data;
    expect(made).toMatchObject({ no: 7, note: '$5', data: { of: ['new'] } });
    expect(added).toEqual([tag.id]);
    expect(set).toEqual([items[0].id, items[1].id]);
    expect(listed).toHaveLength(2);
    expect(removed).toEqual([items[0].id]);
    expect(got).toMatchObject({ id: made.id, note: 'paid' });
    expect(gone).toBe(1);
  });

  test('dryRun reports the changes and rolls all of them back', async () => {
    const before = await server.readSnapshot();
    const reply = await server.call('POST /api/batch?dryRun=true', {
      body: batch(
        { ...order, values: { no: 60 } },
        { op: 'create', resource: 'items', values: { name: 'x', orderId: '$order.id' } },
      ).body,
    });
    expect(reply.body).toMatchObject({ data: [{ no: 60 }, { name: 'x' }], meta: { dryRun: true } });
    expect(await server.readSnapshot()).toBe(before);
  });

  test('passwords are hashed, rules of users apply, and the journal records each action', async () => {
    const { body } = batch(
      { op: 'create', resource: 'users', as: 'ann', values: { email: 'ann@example.com', password: 'a long password' } },
      { op: 'add', resource: 'users', relation: 'roles', of: '$ann.id', values: ['clerk'] },
    );
    const data = await server.data('POST /api/batch', { body });
    expect(data[1]).toContain('clerk');
    expect(JSON.stringify(data)).not.toContain('a long password');
    await server.signIn('ann@example.com', 'a long password');
    const acts = await runOnJournalStore(server, "SELECT target,actor FROM _audit WHERE action='users:create'");
    expect(acts).toEqual([[String(data[0].id), 'user:1']]);
  });

  test('a password that begins with $ is written with $$', async () => {
    const values = { email: 'bob@example.com', password: '$$a long password' };
    await server.data('POST /api/batch', { body: batch({ op: 'create', resource: 'users', values }).body });
    await server.signIn('bob@example.com', '$a long password');
  });

  test('no password is hashed inside the transaction', async () => {
    const values = Array.from({ length: 20 }, (_, n) => ({ code: `$$a long password ${n}` }));
    const hashes = await countPasswordHashes(server, async () => {
      const { body } = batch({ op: 'create', resource: 'vaults', values });
      expect((await server.data('POST /api/batch', { body }))[0]).toHaveLength(20);
    });
    expect(hashes).toEqual({ all: 20, withinTransactions: 0 });
  });

  test('ten parallel batches on one record run one after the other', async () => {
    const [{ id }] = await server.data('POST /api/orders:create', { body: [{ no: 80 }] });
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        server.call('POST /api/batch', {
          body: batch(
            { op: 'create', resource: 'items', as: 'item', values: { name: `parallel ${n}`, orderId: id } },
            { op: 'update', resource: 'orders', filterByTk: id, values: { note: '$item.name' } },
          ).body,
        }),
      ),
    );
    const done = replies.filter(({ status }) => status === 200).length;
    expect(replies.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    const items = await server.data(`GET /api/items:list?filter=${JSON.stringify({ orderId: id })}`);
    expect(items).toHaveLength(done);
  });

  test('more batches than connections, each with an unknown key, are refused immediately', async () => {
    const operations = [
      { op: 'create', resource: 'tags', values: { label: 'with nothing' } },
      { op: 'create', resource: 'items', values: { name: 'x', orderId: 99_999 } },
    ];
    const replies = await Promise.all(
      Array.from({ length: 40 }, () => server.call('POST /api/batch', { body: { operations } })),
    );
    const details = { 'operations[1].values.orderId': 'This record does not exist.' };
    for (const { status, body } of replies)
      expect({ status, body }).toMatchObject({ status: 400, body: { code: 'REFERENCE_MISSING', details } });
  });

  test('an unknown key is distinguished from a key that the batch has created', async () => {
    await server.play({
      name: 'one of two operations is refused',
      ...batch(
        { ...order, values: { no: 90 } },
        { op: 'create', resource: 'items', values: { name: 'a', orderId: '$order.id' } },
        { op: 'create', resource: 'items', values: { name: 'b', orderId: 99_999 } },
      ),
      expect: {
        status: 400,
        code: 'REFERENCE_MISSING',
        body: { details: { 'operations[2].values.orderId': expect.any(String) } },
      },
    });
  });

  test('five batches that conflict are retried until all are done', async () => {
    const [{ id }] = await server.data('POST /api/orders:create', { body: [{ no: 81 }] });
    const read = { op: 'get', resource: 'orders', filterByTk: id };
    const write = { op: 'update', resource: 'orders', filterByTk: id, values: { note: 'x' } };
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => server.call('POST /api/batch', { body: batch(read, write).body })),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  // PostgreSQL has no lock for all writes.
  test.runIf(engine.name === 'sqlite')(
    'a long transaction ends when its time is over, and its lock with it',
    async () => {
      const { database } = server.running.applications.main;
      const count =
        'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<300000) SELECT count(*) FROM n';
      const begun = performance.now();
      const long = database.write(
        async (transaction) => {
          await transaction.run({ text: 'DELETE FROM _events', values: [] });
          for (let turn = 0; turn < 1000; turn += 1) await transaction.run({ text: count, values: [] });
        },
        { heavy: true, totalMilliseconds: 300 },
      );
      await expect(long).rejects.toMatchObject({ kind: 'timeout' });
      expect(performance.now() - begun).toBeLessThan(15_000);
      await server.data('POST /api/tags:create', { body: { label: 'and the line goes on' } });
      expect(await server.lastCursor()).not.toBeNull();
      expect((await server.data('GET /api/changes:list?pageSize=2')).length).toBe(2);
    },
  );

  test('a batch cannot reach another application', async () => {
    await server.data('POST /api/applications:create', { body: { name: 'other' } });
    const reply = await server.call('POST /api/batch', {
      as: 'clerk',
      headers: { 'x-app': 'other' },
      body: batch(order).body,
    });
    expect(reply.status).toBe(403);
    expect(reply.body.code).toBe('APPLICATION_MISMATCH');
  });
});

describeEngines('the limit of requests', (engine) => {
  test('a batch uses one point for each operation', async () => {
    const server = await TestServer.start(engine, { env: { RATE_LIMIT_CREDENTIAL: '20/600s' } });
    await server.data('POST /api/auth:check'); // also loads the OpenAPI document with which replies are compared
    const lists = (count: number): object =>
      batch(...Array.from({ length: count }, () => ({ op: 'list', resource: 'roles' })));
    const ask = (body: object): Promise<number> =>
      fetch(`${server.running.url}/api/batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${server.tokens.get('admin')}` },
        body: JSON.stringify(body),
      }).then(({ status }) => status);
    const operations = (count: number): object => (lists(count) as { body: object }).body;
    // A batch is accepted while a point is left, however many it needs; otherwise, a small limit would accept none.
    expect(await ask(operations(200))).toBe(200);
    expect(await ask(operations(1))).toBe(429);
    await server.stop();
  });
});
