import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { behind } from '../support/audit-entries.ts';
import { describeEngines } from '../support/engines.ts';
import { hashesWhile } from '../support/password-hashes.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const collections = [
  { name: 'tags', fields: [{ name: 'label', type: 'string', unique: true }] },
  {
    name: 'orders',
    fields: [
      { name: 'no', type: 'integer', required: true, unique: true },
      { name: 'note', type: 'string' },
      { name: 'cost', type: 'integer' },
      { name: 'data', type: 'json' },
      { name: 'items', type: 'hasMany', target: 'items', foreignKey: 'orderId' },
      { name: 'tags', type: 'belongsToMany', target: 'tags' },
    ],
  },
  {
    name: 'items',
    fields: [
      { name: 'name', type: 'string', required: true },
      { name: 'order', type: 'belongsTo', target: 'orders' },
    ],
  },
  { name: 'bins', fields: [{ name: 'name', type: 'string' }], options: { paranoid: true } },
  { name: 'secrets', fields: [{ name: 'text', type: 'string' }] },
  { name: 'vaults', fields: [{ name: 'code', type: 'password' }] },
];
const permissions = [
  { role: 'clerk', resource: 'orders', actions: ['create', 'list', 'get'], exceptFields: ['cost'] },
  { role: 'clerk', resource: 'orders', actions: ['update'], filter: { no: { $lt: 100 } }, exceptFields: ['cost'] },
  { role: 'clerk', resource: 'items', actions: ['create', 'list', 'get'] },
];

const batch = (...operations: readonly object[]): { request: string; body: object } => ({
  request: 'POST /api/batch',
  body: { operations },
});
const refused = (
  name: string,
  operations: readonly object[],
  expected: Scenario['expect'],
  as = 'clerk',
): Scenario => ({
  name,
  as,
  ...batch(...operations),
  expect: expected,
});
const order = { op: 'create', resource: 'orders', as: 'order', values: { no: 50 } };

const refusals: readonly Scenario[] = [
  refused('without a credential 401', [order], { status: 401 }, 'nobody'),
  refused('no operations are 400', [], { status: 400 }, 'admin'),
  refused('an unknown op is 400', [{ op: 'move', resource: 'orders' }], {
    status: 400,
    body: { details: { 'operations[0]': expect.stringContaining('"op"') } },
  }),
  refused('an unknown member is 400 and named', [order, { op: 'list', resource: 'orders', sort: 'no' }], {
    status: 400,
    body: { details: { 'operations[1]': expect.stringContaining('"sort"') } },
  }),
  {
    name: 'an unknown member of the batch is 400',
    request: 'POST /api/batch',
    body: { operations: [order], mode: 1 },
    expect: { status: 400 },
  },
  refused(
    'more than 200 operations are 400',
    Array.from({ length: 201 }, () => ({ op: 'list', resource: 'orders' })),
    { status: 400 },
  ),
  refused('relation without of is 400', [{ op: 'add', resource: 'orders', relation: 'tags' }], { status: 400 }),
  refused('add without a relation is 400', [{ op: 'add', resource: 'orders', values: [1] }], { status: 400 }),
  refused('one name twice is 400', [order, { ...order, values: { no: 51 } }], { status: 400 }),
  refused(
    'a reference to a later name is 400',
    [{ op: 'create', resource: 'items', values: { name: 'x', orderId: '$order.id' } }, order],
    {
      status: 400,
      body: { code: 'BODY_INVALID', details: { 'operations[0]': expect.stringContaining('$order.id') } },
    },
  ),
  refused('a reference to an unknown name is 400', [{ ...order, values: { no: 50, note: '$nobody.id' } }], {
    status: 400,
  }),
  refused('a text with one $ is 400 and tells of $$', [{ ...order, values: { no: 50, note: '$5' } }], {
    status: 400,
    body: { message: expect.stringContaining('$$') },
  }),
  refused(
    'the second failure of three takes the first back',
    [order, { op: 'create', resource: 'items', values: {} }, { op: 'list', resource: 'orders' }],
    {
      status: 422,
    },
  ),
  refused('422 with the place of the field', [order, { op: 'create', resource: 'items', values: { name: null } }], {
    status: 422,
    body: { details: { 'operations[1]': expect.any(String), 'operations[1].values.name': expect.any(String) } },
  }),
  refused('bulk places stand below the operation', [{ op: 'create', resource: 'items', values: [{ name: 'a' }, {}] }], {
    status: 422,
    body: { details: { 'operations[0].values[1].name': expect.any(String) } },
  }),
  refused('409 with its details', [{ ...order, values: { no: 1 } }], {
    status: 409,
    body: { code: 'UNIQUE_CONFLICT' },
  }),
  refused('an action that is not granted is 403', [order, { op: 'destroy', resource: 'orders', filterByTk: 1 }], {
    status: 403,
    body: { error: 'No permissions', details: { 'operations[1]': expect.any(String) } },
  }),
  refused('a denied field is 403', [{ ...order, values: { no: 50, cost: 1 } }], { status: 403 }),
  refused('a denied field in a filter is 403', [{ op: 'list', resource: 'orders', filter: { cost: 1 } }], {
    status: 403,
  }),
  refused(
    'a record outside the row filter is 403',
    [{ op: 'update', resource: 'orders', filterByTk: 2, values: { note: 'x' } }],
    {
      status: 403,
    },
  ),
  refused(
    'a record made in the batch is held against the row filter too',
    [
      { ...order, values: { no: 500 } },
      { op: 'update', resource: 'orders', filterByTk: '$order.id', values: { note: 'x' } },
    ],
    { status: 403 },
  ),
  refused(
    'what get does not show cannot be referred to',
    [
      { op: 'get', resource: 'orders', filterByTk: 1, as: 'seen' },
      { op: 'create', resource: 'items', values: { name: '$seen.cost' } },
    ],
    { status: 400, absent: ['777'] },
  ),
  refused('a collection without a grant is the same 403 whether it is there', [{ op: 'list', resource: 'secrets' }], {
    status: 403,
  }),
  refused('or not', [{ op: 'list', resource: 'nothing' }], { status: 403 }),
  refused(
    'a role cannot be made through a batch',
    [{ op: 'create', resource: 'roles', values: { name: 'x', title: 'x' } }],
    {
      status: 403,
    },
  ),
  refused(
    'nor a permission',
    [
      { op: 'create', resource: 'permissions', values: { role: 'clerk', resource: '*', actions: ['*'] } },
      { op: 'list', resource: 'secrets' },
    ],
    { status: 403 },
  ),
  refused('nor a key', [{ op: 'create', resource: 'apiKeys', values: { role: { name: 'admin' } } }], { status: 400 }),
  refused(
    'keys are made by themselves, for an admin too',
    [{ op: 'create', resource: 'apiKeys', values: { role: { name: 'admin' } } }],
    {
      status: 400,
      absent: ['tbk_'],
    },
    'admin',
  ),
  refused(
    'collections are defined by themselves',
    [{ op: 'create', resource: 'collections', values: { name: 'x' } }],
    { status: 400 },
    'admin',
  ),
  refused('the last admin stays', [{ op: 'destroy', resource: 'users', filterByTk: 1 }], { status: 403 }, 'admin'),
  refused(
    'a password is named by nobody',
    [{ op: 'list', resource: 'users', filter: { password: 'x' } }],
    { status: 403 },
    'admin',
  ),
  refused(
    'a password cannot be referred to',
    [
      { ...order, values: { no: 50, note: 'a long password' } },
      { op: 'create', resource: 'vaults', values: { code: '$order.note' } },
    ],
    { status: 400, body: { details: { 'operations[1]': expect.stringContaining('password') } } },
    'admin',
  ),
  refused(
    'nor a record with one',
    [
      { ...order, values: { no: 50, data: [{ code: 'a long password' }] } },
      { op: 'create', resource: 'vaults', values: '$order.data' },
    ],
    { status: 400 },
    'admin',
  ),
  refused(
    'a stale ifMatch is 412',
    [{ op: 'update', resource: 'orders', filterByTk: 1, ifMatch: '"9.x"', values: { note: 'x' } }],
    {
      status: 412,
    },
  ),
  { name: 'a batch by GET is 405', request: 'GET /api/batch', expect: { status: 405 } },
  { name: 'an unknown parameter is 400', ...batch(order), request: 'POST /api/batch?mode=x', expect: { status: 400 } },
];

describeEngines('batch', (engine) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:apply', { body: collections });
    await server.data('POST /api/roles:create', { body: { name: 'clerk', title: 'Clerk' } });
    for (const body of permissions) await server.data('POST /api/permissions:create', { body });
    await server.key('clerk');
    await server.data('POST /api/orders:create', { body: [{ no: 1, cost: 777 }, { no: 200 }] });
  });
  afterAll(() => server.stop());

  describe('refused means unchanged', () => {
    for (const scenario of refusals) test(scenario.name, () => server.play(scenario));
  });

  test('operations refer to earlier results, in values, filters, keys and parents, and leave their events in order', async () => {
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

  test('dryRun says what would be, and takes all of it back', async () => {
    const before = await server.picture();
    const reply = await server.call('POST /api/batch?dryRun=true', {
      body: batch(
        { ...order, values: { no: 60 } },
        { op: 'create', resource: 'items', values: { name: 'x', orderId: '$order.id' } },
      ).body,
    });
    expect(reply.body).toMatchObject({ data: [{ no: 60 }, { name: 'x' }], meta: { dryRun: true } });
    expect(await server.picture()).toBe(before);
  });

  test('passwords are hashed, rules of users hold, and the journal names each act', async () => {
    const { body } = batch(
      { op: 'create', resource: 'users', as: 'ann', values: { email: 'ann@example.com', password: 'a long password' } },
      { op: 'add', resource: 'users', relation: 'roles', of: '$ann.id', values: ['clerk'] },
    );
    const data = await server.data('POST /api/batch', { body });
    expect(data[1]).toContain('clerk');
    expect(JSON.stringify(data)).not.toContain('a long password');
    await server.signIn('ann@example.com', 'a long password');
    const acts = await behind(server, "SELECT target,actor FROM _audit WHERE action='users:create'");
    expect(acts).toEqual([[String(data[0].id), 'user:1']]);
  });

  test('a password that begins with $ is written with $$', async () => {
    const values = { email: 'bob@example.com', password: '$$a long password' };
    await server.data('POST /api/batch', { body: batch({ op: 'create', resource: 'users', values }).body });
    await server.signIn('bob@example.com', '$a long password');
  });

  test('no password is hashed while other writes wait', async () => {
    const values = Array.from({ length: 20 }, (_, n) => ({ code: `$$a long password ${n}` }));
    const hashes = await hashesWhile(server, async () => {
      const { body } = batch({ op: 'create', resource: 'vaults', values });
      expect((await server.data('POST /api/batch', { body }))[0]).toHaveLength(20);
    });
    expect(hashes).toEqual({ all: 20, withinTransactions: 0 });
  });

  test('ten batches at once on one record follow each other', async () => {
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

  test('more batches than connections, each with a key that names nothing, are refused at once', async () => {
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

  test('a key that names nothing is told apart from one that the batch has made', async () => {
    await server.play({
      name: 'one of two',
      ...batch(
        { ...order, values: { no: 90 } },
        { op: 'create', resource: 'items', values: { name: 'a', orderId: '$order.id' } },
        { op: 'create', resource: 'items', values: { name: 'b', orderId: 99_999 } },
      ),
      expect: { status: 400, body: { details: { 'operations[2].values.orderId': expect.any(String) } } },
    });
  });

  test('five batches that collide are run again until all are done', async () => {
    const [{ id }] = await server.data('POST /api/orders:create', { body: [{ no: 81 }] });
    const read = { op: 'get', resource: 'orders', filterByTk: id };
    const write = { op: 'update', resource: 'orders', filterByTk: id, values: { note: 'x' } };
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => server.call('POST /api/batch', { body: batch(read, write).body })),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  test('its statements together hold the line of writes no longer than they may', async () => {
    const { database } = server.running.applications.main;
    if (database.multiNode) return expect(database.dialect.name).toBe('postgres');
    const count = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<300000) SELECT count(*) FROM n';
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
  });

  test('another application is out of reach', async () => {
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
  test('a batch takes a point for each operation', async () => {
    const server = await TestServer.start(engine, { env: { RATE_LIMIT_CREDENTIAL: '20/600s' } });
    await server.data('POST /api/auth:check'); // the document that replies are held against is asked for, too
    const lists = (count: number): object =>
      batch(...Array.from({ length: count }, () => ({ op: 'list', resource: 'roles' })));
    const ask = (body: object): Promise<number> =>
      fetch(`${server.running.url}/api/batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${server.tokens.get('admin')}` },
        body: JSON.stringify(body),
      }).then(({ status }) => status);
    const operations = (count: number): object => (lists(count) as { body: object }).body;
    // While a point is left it is let in, however many it takes: else a small limit would admit none.
    expect(await ask(operations(200))).toBe(200);
    expect(await ask(operations(1))).toBe(429);
    await server.stop();
  });
});
