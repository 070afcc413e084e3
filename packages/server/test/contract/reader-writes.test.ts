/**
 * Writes on connections of reader threads, which plan them and have the main thread execute them: replies, events, permissions and failures
 * are the same as on connections of the main thread, and no write is lost or executed twice.
 */
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Json } from '../support/json.ts';
import { openConnections, startReaderServer, type WireConnection, type WireRequest } from '../support/reader-server.ts';
import type { TestServer } from '../support/scenario.ts';

let server: TestServer;
let connections: WireConnection[];
/** The key of a role that may only write posts with fewer than 100 views, and only their titles and views. */
let writer: string;
let permission: Json;
const admin = (): string => server.tokens.get('admin')!;
/** Connections that begin with a read: others with a write first are moved to the main thread. */
async function openReadingConnections(): Promise<WireConnection[]> {
  const opened = openConnections(server);
  for (const each of opened) await each.send('GET /api/posts:list', { token: admin() });
  return opened;
}
const body = (value: unknown): string => JSON.stringify(value);

const collections = [
  { name: 'authors', fields: [{ name: 'name', type: 'string', unique: true }] },
  { name: 'secrets', fields: [{ name: 'pin', type: 'password' }] },
  { name: 'logged', options: { logging: true }, fields: [{ name: 'title', type: 'string' }] },
  { name: 'kept', options: { paranoid: true }, fields: [{ name: 'title', type: 'string' }] },
  {
    name: 'posts',
    fields: [
      { name: 'title', type: 'string', required: true },
      { name: 'slug', type: 'string', unique: true },
      { name: 'views', type: 'integer' },
      { name: 'author', type: 'belongsTo', target: 'authors' },
    ],
  },
];

beforeAll(async () => {
  server = await startReaderServer();
  for (const { options = {}, ...collection } of collections)
    await server.data('POST /api/collections:create', { body: { ...collection, ...options } });
  await server.data('POST /api/authors:create', { body: { name: 'Ann' } });
  await server.data('POST /api/posts:create', { body: { title: 'first', slug: 'first', views: 1 } });
  await server.data('POST /api/roles:create', { body: { name: 'writer' } });
  permission = {
    role: { name: 'writer' },
    resource: 'posts',
    actions: ['create', 'update', 'destroy', 'get'],
    fields: ['title', 'views'],
    filter: { views: { $lt: 100 } },
  };
  await server.data('POST /api/permissions:create', { body: permission });
  writer = (await server.data('POST /api/apiKeys:create', { body: { role: { name: 'writer' } } })).token;
  connections = await openReadingConnections();
}, 60_000);

afterAll(async () => {
  for (const each of connections) each.close();
  await server.stop();
});

async function readEvents(): Promise<Json[]> {
  const events: Json[] = [];
  for (let since = ''; ; since = `&since=${events.at(-1).cursor}`) {
    const page = await server.data(`GET /api/changes:list?pageSize=1000${since}`);
    events.push(...page);
    if (page.length < 1000) return events;
  }
}

/** All records and events, so that a refusal can be shown to change nothing. */
async function readState(): Promise<Json> {
  const names = collections.map(({ name }) => name).filter((name) => name !== 'secrets');
  const lists = await Promise.all(names.map((name) => server.data(`GET /api/${name}:list?paginate=false&sort=id`)));
  return { lists, events: await readEvents() };
}

const refused: readonly (readonly [line: string, status: number, request: WireRequest & { readonly as?: 'writer' }])[] =
  [
    ['POST /api/posts:create', 422, { body: body({ views: 1 }) }],
    ['POST /api/posts:create', 422, { body: body({ title: 7 }) }],
    ['POST /api/posts:create', 400, { body: body({ title: 'a', nothing: 1 }) }],
    ['POST /api/posts:create', 400, { body: '{"title":' }],
    ['POST /api/posts:create', 400, { body: Buffer.from('{"title":"\xff"}', 'latin1') }],
    ['POST /api/posts:create', 400, { body: body('text') }],
    ['POST /api/posts:create', 415, { body: 'title=a', headers: { 'content-type': 'text/plain' } }],
    ['POST /api/posts:create', 409, { body: body({ title: 'again', slug: 'first' }) }],
    ['POST /api/posts:create', 400, { body: body({ title: 'nobody', authorId: 999 }) }],
    ['POST /api/posts:create', 422, { body: body([{ title: 'a' }, {}]) }],
    ['POST /api/posts:create', 403, { body: body({ title: 'a', views: 100 }), as: 'writer' }],
    ['POST /api/posts:create', 403, { body: body({ title: 'a', slug: 'b' }), as: 'writer' }],
    ['POST /api/authors:create', 403, { body: body({ name: 'b' }), as: 'writer' }],
    ['POST /api/posts:update/999', 404, { body: body({ title: 'a' }) }],
    ['POST /api/posts:update/999', 403, { body: body({ title: 'a' }), as: 'writer' }],
    ['POST /api/posts:update/1', 403, { body: body({ views: 100 }), as: 'writer' }],
    ['POST /api/posts:update/1', 400, { body: body({ id: 2 }) }],
    ['POST /api/posts:update', 400, { body: body({ title: 'a' }) }],
    ['POST /api/posts:update/1', 412, { body: body({ title: 'a' }), headers: { 'if-match': '"99"' } }],
    ['POST /api/posts:update/1', 401, { body: body({ title: 'a' }), headers: { authorization: 'Bearer no' } }],
    ['POST /api/posts:update/1', 403, { body: body({ title: 'a' }), headers: { 'x-role': 'nobody' } }],
    ['POST /api/posts:destroy/999', 404, {}],
    ['POST /api/posts:destroy', 400, {}],
    ['POST /api/nothing:create', 404, { body: body({ title: 'a' }) }],
    ['PUT /api/posts:create', 405, { body: body({ title: 'a' }) }],
    ['POST /api/posts:create?dryRun=true', 200, { body: body({ title: 'dry' }) }],
  ];

test('a refused write gets the same reply from each thread, and changes nothing', async () => {
  const before = await readState();
  for (const [line, status, { as, ...request }] of refused) {
    const sent = { token: as === 'writer' ? writer : admin(), ...request };
    const replies = await Promise.all(connections.map((each) => each.send(line, sent)));
    const plain = replies.map((each) =>
      each.plain.replaceAll(/"id":\d+/g, '"id":0').replaceAll(/\d{4}-[\d-]+T[\d:.]+Z/g, ''),
    );
    expect(new Set(replies.map((each) => each.status)), `${line} ${request.body}\n${plain[0]}`).toEqual(
      new Set([status]),
    );
    expect(new Set(plain).size, [...new Set(plain)].join('\n')).toBe(1);
  }
  expect(await readState()).toEqual(before);
});

test('creates, updates and destroys have the same replies and events on each connection, and readers plan most of them', async () => {
  const { readers } = server.running;
  await setTimeout(600); // readers report their numbers four times a second
  const [answered, handedOver] = [readers!.answered, readers!.handedOver];
  const before = (await readEvents()).length;
  const replies: Json[] = [];
  for (const [index, each] of connections.entries()) {
    const as = (token: string, value?: unknown): WireRequest => ({
      token,
      ...(value !== undefined && { body: body(value) }),
    });
    const created = await each.send(
      'POST /api/posts:create',
      as(admin(), { title: 'né', slug: `s${index}`, views: 1, authorId: 1 }),
    );
    const { id, ...values } = created.json.data;
    const updated = await each.send(`POST /api/posts:update/${id}`, as(writer, { views: 7 }));
    const hidden = await each.send(`POST /api/posts:update?filterByTk=${id}`, as(admin(), { slug: null }));
    const destroyed = await each.send(`POST /api/posts:destroy/${id}`, as(writer));
    expect([created.status, updated.status, hidden.status, destroyed.status]).toEqual([200, 200, 200, 200]);
    replies.push({
      ...values,
      slug: 0,
      createdAt: 0,
      updatedAt: 0,
      updated: Object.keys(updated.json.data),
      destroyed: destroyed.json,
    });
    expect(updated.json.data.views).toBe(7);
    expect(new Date(values.createdAt).getTime()).toBeGreaterThan(Date.now() - 60_000);
  }
  expect(new Set(replies.map((each) => JSON.stringify(each))).size).toBe(1);
  expect(replies[0]).toMatchObject({ title: 'né', views: 1, authorId: 1, updated: ['id', 'title', 'views'] });
  const events = (await readEvents()).slice(before);
  expect(events.length).toBe(4 * connections.length);
  expect(new Set(events.map(({ name, changed }: Json) => `${name} ${changed}`))).toEqual(
    new Set([
      'posts.created title,slug,views,authorId',
      'posts.updated views',
      'posts.updated slug',
      'posts.destroyed ',
    ]),
  );
  await expect.poll(() => readers!.answered - answered).toBeGreaterThan(8); // a thread may have accepted few connections
  expect(readers!.handedOver - handedOver).toBeLessThan(connections.length);
});

test('writes that only the main thread can execute are executed once', async () => {
  const writes: readonly (readonly [collection: string, value: unknown])[] = [
    ['posts', { title: 'nested', author: { name: 'Bob' } }],
    ['posts', [{ title: 'one' }, { title: 'two' }]],
    ['secrets', { pin: 'a long password' }],
    ['logged', { title: 'logged' }],
    ['kept', { title: 'kept' }],
    ['posts', { title: 'x'.repeat(70_000).slice(0, 200), slug: null, views: 1 }],
  ];
  for (const each of connections) {
    for (const [collection, value] of writes) {
      const count = async (): Promise<number> =>
        (await server.call(`GET /api/${collection}:list?count=exact`)).body.meta.count;
      const before = await count();
      const reply = await each.send(`POST /api/${collection}:create`, { token: admin(), body: body(value) });
      expect(reply.status, String(reply.bytes)).toBe(200);
      expect((await count()) - before).toBe(Array.isArray(value) ? value.length : 1);
      if (collection === 'posts' && 'author' in (value as Json))
        await server.data(`POST /api/authors:destroy?filter={"name":"Bob"}`);
    }
    const { id } = (await server.call('GET /api/kept:list?sort=-id')).body.data[0];
    expect((await each.send(`POST /api/kept:destroy/${id}`, { token: admin() })).status).toBe(200);
    expect((await each.send(`POST /api/kept:restore/${id}`, { token: admin() })).status).toBe(200);
  }
});

test('a unique value is only taken once, however many threads write it at the same time', async () => {
  for (let round = 0; round < 20; round += 1) {
    const value = body({ title: 'same', slug: `round ${round}` });
    const replies = await Promise.all(
      connections.map((each) => each.send('POST /api/posts:create', { token: admin(), body: value })),
    );
    const statuses = replies.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toEqual([200]);
    expect(statuses.filter((status) => status === 409).length).toBe(connections.length - 1);
  }
});

test('a permission that is taken away, or a field that is destroyed, is not valid for any write that begins later', async () => {
  const violations: string[] = [];
  for (let round = 0; round < 15; round += 1) {
    let isRevoked = false;
    let running = true;
    const load = connections.map(async (each, index) => {
      for (let count = 0; running; count += 1) {
        const wasRevoked = isRevoked;
        const value = body({ title: `round ${round}`, views: count % 90 });
        const { status } = await each.send(index % 2 ? 'POST /api/posts:update/1' : 'POST /api/posts:create', {
          token: writer,
          body: value,
        });
        if (status !== 200 && status !== 403) violations.push(`status ${status}`);
        if (wasRevoked && status !== 403) violations.push(`${status} after the permission was destroyed`);
      }
    });
    await setTimeout(30);
    const { id } = (await server.call('GET /api/permissions:list?filter={"role":"writer"}')).body.data[0] ?? {};
    await server.data(`POST /api/permissions:destroy/${id}`);
    isRevoked = true;
    await setTimeout(30);
    running = false;
    await Promise.all(load);
    await server.data('POST /api/permissions:create', { body: permission });
    const reply = await connections[0]!.send('POST /api/posts:update/1', { token: writer, body: body({ views: 2 }) });
    if (reply.status !== 200) violations.push('a new permission is not valid');
  }
  expect(violations).toEqual([]);
});

test('a field that appears and disappears under load is written by no statement of another version', async () => {
  let running = true;
  const statuses = new Set<number>();
  const lost: string[] = [];
  const load = connections.map(async (each) => {
    while (running) {
      const reply = await each.send('POST /api/posts:create', { token: admin(), body: body({ title: 'x', extra: 3 }) });
      statuses.add(reply.status);
      if (reply.status === 200 && reply.json.data.extra !== 3) lost.push(String(reply.bytes));
    }
  });
  for (let round = 0; round < 8; round += 1) {
    await server.data('POST /api/collections/posts/fields:create', { body: { name: 'extra', type: 'integer' } });
    await setTimeout(20);
    await server.data('POST /api/collections/posts/fields:destroy/extra');
  }
  running = false;
  await Promise.all(load);
  expect([...statuses].sort()).toEqual([200, 400]);
  expect(lost).toEqual([]);
});

test('when a reader thread ends, acknowledged writes exist, and none was executed twice', async () => {
  const { readers } = server.running;
  let running = true;
  const acknowledged = new Set<string>();
  const opened = await openReadingConnections();
  const load = opened.map(async (each, index) => {
    for (let count = 0; running; count += 1) {
      const slug = `end ${index} ${count}`;
      const value = body({ title: 'end', views: index, slug });
      const reply = await each.send('POST /api/posts:create', { token: admin(), body: value }).catch(() => null);
      if (reply?.status === 200) acknowledged.add(slug);
    }
    each.close();
  });
  for (let round = 0; round < 3; round += 1) {
    const before = acknowledged.size;
    await expect.poll(() => acknowledged.size).toBeGreaterThan(before + 50);
    await readers!.handles[0]!.terminate();
    await expect.poll(() => readers!.running, { timeout: 20_000 }).toBe(2);
  }
  running = false;
  await Promise.all(load);
  const stored = await server.data('GET /api/posts:list?paginate=false&fields=slug&filter={"title":"end"}');
  const slugs = stored.map((each: Json) => each.slug);
  expect(new Set(slugs).size).toBe(slugs.length);
  expect([...acknowledged].filter((slug) => !slugs.includes(slug))).toEqual([]);
});

test('a body may arrive in pieces, slowly, or not completely', async () => {
  const { port } = new URL(server.running.url);
  const value = body({ title: 'slow', views: 5 });
  const head = `POST /api/posts:create HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin()}\r\ncontent-type: application/json\r\ncontent-length: ${value.length}\r\n\r\n`;
  const exchange = async (pauses: readonly number[], isComplete: boolean): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += String(chunk);
    });
    socket.write(head);
    for (const [index, pause] of pauses.entries()) {
      socket.write(value.slice(index * 3, (index + 1) * 3));
      await setTimeout(pause);
    }
    if (isComplete) socket.write(value.slice(pauses.length * 3));
    else socket.destroy();
    await (isComplete
      ? expect.poll(() => received, { timeout: 10_000 }).toMatch(/^HTTP\/1.1 200 OK/)
      : setTimeout(100));
    socket.destroy();
    return received;
  };
  const count = async (): Promise<number> =>
    (await server.call('GET /api/posts:list?count=exact&filter={"title":"slow"}')).body.meta.count;
  const each = <T>(work: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: 8 }, work));
  await each(() => exchange([20, 20], true));
  await each(() => exchange([20], false));
  // Readers wait for five seconds; then the main thread gets the rest.
  await each(() => exchange([5500], true));
  expect(await count()).toBe(16);
}, 30_000);

test('a write whose reply is long is left to the main thread, and executed once', async () => {
  await server.data('POST /api/collections:create', {
    body: {
      name: 'texts',
      fields: [
        { name: 'text', type: 'text' },
        { name: 'n', type: 'integer' },
      ],
    },
  });
  const long = 'x'.repeat(200_000);
  const ids = (
    await server.data('POST /api/texts:create', { body: connections.map(() => ({ text: long, n: 0 })) })
  ).map((each: Json) => each.id);
  for (const each of connections) await each.send('GET /api/texts:get/1', { token: admin() }); // readers load the definition
  await setTimeout(600);
  const { readers } = server.running;
  const handedOver = readers!.handedOver;
  const replies = await Promise.all(
    connections.map((each, index) =>
      each.send(`POST /api/texts:update/${ids[index]}`, { token: admin(), body: body({ n: 1 }) }),
    ),
  );
  expect(replies.map(({ status, json }) => [status, json.data.n, json.data.text.length])).toEqual(
    connections.map(() => [200, 1, long.length]),
  );
  const updates = (await readEvents()).filter((each) => each.name === 'texts.updated');
  expect(updates.length).toBe(connections.length);
  await expect.poll(() => readers!.handedOver - handedOver).toBeGreaterThan(0);
  expect(readers!.running).toBe(2);
});

test('the times of writes and of their events follow the order in which they are executed', async () => {
  const { id } = await server.data('POST /api/posts:create', { body: { title: 'times' } });
  const written: { readonly counter: number; readonly at: string }[] = [];
  const end = performance.now() + 1500;
  await Promise.all(
    connections.map(async (each, index) => {
      while (performance.now() < end) {
        const reply = await each.send(`POST /api/posts:update/${id}`, { token: admin(), body: body({ views: index }) });
        const tag = reply.headers[reply.headers.findIndex((name) => name.toLowerCase() === 'etag') + 1]!;
        written.push({ counter: Number(/^"(\d+)/.exec(tag)![1]), at: reply.json.data.updatedAt });
      }
    }),
  );
  const times = written.sort((one, other) => one.counter - other.counter).map(({ at }) => at);
  expect(times.length).toBeGreaterThan(200);
  expect(times).toEqual([...times].sort());
  const events = (await readEvents()).filter((each) => each.name === 'posts.updated').map(({ at }) => at);
  expect(events.length).toBeGreaterThan(times.length);
  expect(events).toEqual([...events].sort());
});

test('every acknowledged write of a key is counted, also if its application is stopped meanwhile', async () => {
  await server.data('POST /api/applications:create', { body: { name: 'shop' } });
  const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
  const headers = { 'x-app': 'shop' };
  const shop = (each: WireConnection, line: string, as: string, value?: unknown) =>
    each.send(line, { token: as, headers, ...(value !== undefined && { body: body(value) }) });
  const [first] = connections;
  await shop(first!, 'POST /api/collections:create', token, {
    name: 'goods',
    fields: [{ name: 'title', type: 'string' }],
  });
  const key = (await shop(first!, 'POST /api/apiKeys:create', token, { role: { name: 'admin' } })).json.data;
  let [running, acknowledged] = [true, 0];
  const opened = openConnections(server);
  const load = opened.map(async (each) => {
    await shop(each, 'GET /api/goods:list', key.token);
    while (running)
      if ((await shop(each, 'POST /api/goods:create', key.token, { title: 'x' })).status === 200) acknowledged += 1;
    each.close();
  });
  for (let round = 0; round < 5; round += 1) {
    await setTimeout(150);
    await server.data('POST /api/applications:stop?filterByTk=shop');
    await server.data('POST /api/applications:start?filterByTk=shop');
  }
  running = false;
  await Promise.all(load);
  expect(acknowledged).toBeGreaterThan(50);
  const count = async (): Promise<number> => {
    const { endpoints } = (await shop(first!, `GET /api/apiKeys:stats?filterByTk=${key.id}`, token)).json.data;
    return endpoints.find((each: Json) => each.endpoint === 'goods:create')?.requests;
  };
  await expect.poll(count, { timeout: 5000 }).toBe(acknowledged);
  expect((await shop(first!, 'GET /api/goods:list?count=exact', token)).json.meta.count).toBe(acknowledged);
});
