/**
 * Reader threads on SQLite: replies, visibility of writes and permissions, limits and failures are the same as with one
 * thread.
 */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { postJson, rootSettings, signInAsRoot, startCliProcess } from '../support/cli-process.ts';
import { sqlite } from '../support/engines.ts';
import { openConnections, startReaderServer, type WireConnection, type WireRequest } from '../support/reader-server.ts';
import type { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';
import { SocketClient } from '../support/socket-client.ts';

/** Requests of the tests under load: READER_REQUESTS=100000 for a long run. */
const loadRequests = Number(process.env['READER_REQUESTS'] ?? 3000);
const posts = {
  name: 'posts',
  fields: [
    { name: 'title', type: 'string' },
    { name: 'views', type: 'integer' },
    { name: 'text', type: 'text' },
  ],
};

let server: TestServer;
let connections: WireConnection[];
/** The id of the permission of the role `reader` to list posts. */
let permission: number;
const admin = (): string => server.tokens.get('admin')!;
const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;

async function createPosts(target: TestServer, count: number): Promise<void> {
  await target.data('POST /api/collections:create', { body: posts });
  const body = Array.from({ length: count }, (_, index) => ({
    title: `post ${index}`,
    views: index,
    text: 'long '.repeat(20),
  }));
  await target.data('POST /api/posts:create', { body });
}

beforeAll(async () => {
  server = await startReaderServer();
  connections = openConnections(server);
  await createPosts(server, 60);
  await server.data('POST /api/roles:create', { body: { name: 'reader' } });
  const granted = await server.data('POST /api/permissions:create', {
    body: { role: { name: 'reader' }, resource: 'posts', actions: ['list'] },
  });
  permission = granted.id;
}, 60_000);

afterAll(async () => {
  for (const each of connections) each.close();
  await server.stop();
});

const title = '%7B%22title%22%3A%22post%207%22%7D';
const rows: readonly (readonly [line: string, request?: WireRequest & { readonly anonymous?: true }])[] = [
  ['GET /api/posts:list'],
  ['GET /api/posts:list?pageSize=50&sort=-views&count=exact'],
  [`GET /api/posts:list?filter=${title}&fields=id,title`],
  ['GET /api/posts:list?paginate=false'],
  ['HEAD /api/posts:list?pageSize=50'],
  ['GET /api/posts:get/7'],
  ['GET /api/posts:get?filterByTk=7', { headers: { 'if-none-match': '*' } }],
  ['GET /api/posts:list?pageSize=50', { headers: { 'accept-encoding': 'gzip' } }],
  ['GET /api/posts:list?pageSize=50', { headers: { 'accept-encoding': 'br;q=1, gzip;q=0.5' } }],
  ['GET /api/posts:list?pageSize=50', { headers: { 'accept-encoding': 'zstd' } }],
  [
    'GET /api/posts:query?measures=%5B%7B%22field%22%3A%22*%22%2C%22aggregation%22%3A%22count%22%2C%22alias%22%3A%22n%22%7D%5D',
  ],
  ['GET /api/posts:list', { headers: { origin: 'https://other.example', 'x-timezone': 'Europe/Berlin' } }],
  ['GET /api/posts:list', { headers: { 'x-timezone': 'Nowhere' } }],
  ['GET /api/posts:list?sort=nothing'],
  ['GET /api/posts:list?pageSize=x'],
  ['GET /api/posts:get/999'],
  ['GET /api/posts:get'],
  ['GET /api/nothing:list'],
  ['GET /api/posts:nothing'],
  ['GET /api/posts%3Alist'],
  ['GET /api/posts:list', { anonymous: true }],
  ['GET /api/posts:list', { anonymous: true, headers: { authorization: 'Bearer wrong' } }],
  ['GET /api/posts:list', { headers: { 'x-role': 'nobody' } }],
  ['GET /api/posts:list', { headers: { 'x-app': 'nothing' } }],
  ['POST /api/posts:list', { body: '{"pageSize":2}' }],
  ['POST /api/posts:list'],
  ['POST /api/posts:create', { body: '{"views":"many"}' }],
  ['POST /api/posts:create', { body: '{' }],
  ['POST /api/posts:create', { body: '{}', headers: { expect: '100-continue', 'if-match': '"1"' } }],
  ['GET /api/posts:list', { headers: { expect: 'something' } }],
  ['DELETE /api/posts:list'],
  ['PUT /api/posts:list'],
  ['OPTIONS /api/posts:list'],
  ['GET /api/users:list'],
  ['GET /api/users:list?pageSize=1&appends=roles'],
  ['GET /api/users:list?search=example&searchFields=email&fields=id,email'],
  ['GET /api/users:get/1'],
  ['GET /api/users:list?fields=password'],
  ['GET /api/roles:list'],
  ['GET /api/docs:openapi', { headers: { 'accept-encoding': 'gzip' } }],
  ['GET /nothing'],
  ['GET /api/posts:list', { headers: { connection: 'close' } }],
];

test('every thread sends the same reply', async () => {
  const before = server.running.readers!.answered;
  for (const [line, { anonymous, ...request } = {}] of rows) {
    const sent = { ...(!anonymous && { token: admin() }), ...request };
    const replies = await Promise.all(connections.map((each) => each.send(line, sent)));
    const [first] = replies;
    for (const { status, headers, plain } of replies)
      expect({ status, headers, plain }, line).toEqual({
        status: first!.status,
        headers: first!.headers,
        plain: first!.plain,
      });
    expect(first!.status, line).toBeLessThan(500);
  }
  await expect.poll(() => server.running.readers!.answered).toBeGreaterThan(before + 20);
  expect(server.running.readers!.handedOver).toBeGreaterThan(100);
});

test('pipelined requests are answered in order, and malformed ones are refused', async () => {
  const { port } = new URL(server.running.url);
  const exchange = (text: string): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<string>();
    let received = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => {
      received += String(chunk);
    });
    socket.on('close', () => resolve(received.replace(/^Date: .*\r\n/gm, '').replace(/"requestId":"[^"]*"/g, '')));
    return promise;
  };
  const head = `HTTP/1.1\r\nhost: x\r\nx-request-id: same\r\nauthorization: Bearer ${admin()}\r\n`;
  const pipeline = [
    `GET /api/posts:get/1 ${head}\r\n`,
    `POST /api/posts:get ${head}content-type: application/json\r\ncontent-length: 17\r\n\r\n{"filterByTk": 2}`,
    `POST /api/posts:get ${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n11\r\n{"filterByTk": 3}\r\n0\r\n\r\n`,
    `GET /api/posts:get/999 ${head}\r\n`,
    `GET /api/posts:get/4 ${head}connection: close\r\n\r\n`,
  ].join('');
  for (const text of [
    pipeline,
    'nonsense\r\n\r\n',
    `GET /api/posts:list HTTP/1.0\r\nauthorization: Bearer ${admin()}\r\nx-request-id: same\r\n\r\n`,
  ]) {
    const replies = await Promise.all(Array.from({ length: 12 }, () => exchange(text)));
    expect(new Set(replies).size, replies.join('\n---\n').slice(0, 3000)).toBe(1);
    if (text === pipeline)
      expect([...replies[0]!.matchAll(/"id":(\d+),|RECORD_UNKNOWN/g)].map((match) => match[1])).toEqual([
        '1',
        '2',
        '3',
        undefined,
        '4',
      ]);
  }
});

test('an acknowledged write is immediately visible on every connection, and a revoked permission is no longer valid on any', async () => {
  let [sent, running] = [0, true];
  const background = Array.from({ length: 6 }, async (_, index) => {
    while (running) {
      await connections[index]!.send(`GET /api/posts:list?count=exact&page=${index + 1}`, { token: admin() });
      sent += 1;
    }
  });
  const writers = connections.slice(6);
  const read = async (line: string, token = admin()): Promise<readonly WireReplyOf[]> => {
    sent += 4;
    return Promise.all([1, 2, 3, 4].map(() => pick(writers).send(line, { token })));
  };
  const write = (line: string, body: unknown) => {
    sent += 1;
    return pick(writers).send(line, { token: admin(), body: JSON.stringify(body) });
  };
  const violations: string[] = [];
  const check = (isRight: boolean, what: string): void => void (isRight || violations.push(what));
  for (let round = 0; sent < loadRequests; round += 1) {
    const { json, status } = await write('POST /api/posts:create', { title: `new ${round}`, views: round });
    check(status === 200, `create ${status}`);
    const { id } = json.data;
    const counted = (await read('GET /api/posts:list?count=exact&pageSize=1&sort=-id')).map((each) => each.json);
    for (const list of counted)
      check(list.data[0].id === id && list.meta.count === 61 && list.meta.hasNext, 'list after create');
    await write(`POST /api/posts:update/${id}`, { views: -round });
    for (const reply of await read(`GET /api/posts:get/${id}`))
      check(reply.json.data?.views === -round, 'get after update');
    await write(`POST /api/posts:destroy/${id}`, {});
    for (const reply of await read(`GET /api/posts:get/${id}`)) check(reply.status === 404, 'get after destroy');
    for (const reply of await read('GET /api/posts:list?count=exact&pageSize=1'))
      check(reply.json.meta.count === 60, 'count after destroy');
    if (round % 5 !== 0) continue;
    const key = (await write('POST /api/apiKeys:create', { role: { name: 'reader' } })).json.data;
    for (const reply of await read('GET /api/posts:list', key.token)) check(reply.status === 200, 'new key');
    await write(`POST /api/permissions:destroy/${permission}`, {});
    for (const reply of await read('GET /api/posts:list', key.token))
      check(reply.status === 403, 'destroyed permission');
    permission = (
      await write('POST /api/permissions:create', { role: { name: 'reader' }, resource: 'posts', actions: ['list'] })
    ).json.data.id;
    for (const reply of await read('GET /api/posts:list', key.token)) check(reply.status === 200, 'created permission');
    await write(`POST /api/apiKeys:destroy/${key.id}`, {});
    for (const reply of await read('GET /api/posts:list', key.token)) check(reply.status === 401, 'revoked key');
    await write('POST /api/collections/posts/fields:create', {
      name: `extra${round}`,
      type: 'integer',
      defaultValue: round,
    });
    for (const reply of await read('GET /api/posts:get/1'))
      check(reply.json.data[`extra${round}`] === round, 'new field');
    await write(`POST /api/collections/posts/fields:destroy/extra${round}`, {});
    for (const reply of await read('GET /api/posts:get/1'))
      check(!(`extra${round}` in reply.json.data), 'destroyed field');
  }
  running = false;
  await Promise.all(background);
  if (process.env['READER_REQUESTS']) process.stdout.write(`${sent} requests, ${violations.length} violations\n`);
  expect(violations).toEqual([]);
}, 3_600_000);

type WireReplyOf = Awaited<ReturnType<WireConnection['send']>>;

test('sockets, streams of events, uploads and downloads work on every connection', async () => {
  const sockets = await Promise.all(Array.from({ length: 8 }, () => SocketClient.as(server)));
  for (const each of sockets) await each.subscribe('all', 'posts');
  const streams = await Promise.all(
    Array.from({ length: 8 }, () =>
      fetch(`${server.running.url}/api/realtime?resource=posts`, {
        headers: { authorization: `Bearer ${admin()}`, accept: 'text/event-stream' },
      }),
    ),
  );
  const readers = streams.map((each) => each.body!.getReader());
  for (const each of readers) await each.read();
  const { json } = await pick(connections).send('POST /api/posts:create', {
    token: admin(),
    body: '{"title":"heard"}',
  });
  for (const each of sockets) await each.next((message) => JSON.stringify(message).includes('posts.created'));
  for (const each of readers) {
    let text = '';
    while (!text.includes('posts.created')) text += Buffer.from((await each.read()).value!).toString();
    await each.cancel();
  }
  for (const each of sockets) each.socket.terminate();
  await server.data(`POST /api/posts:destroy/${json.data.id}`);
  const bytes = Buffer.alloc(3_000_000, 'tablinum');
  await Promise.all(
    connections.slice(0, 6).map(async (each) => {
      const form = `--x\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n${bytes}\r\n--x--\r\n`;
      const headers = { 'content-type': 'multipart/form-data; boundary=x' };
      const uploaded = await each.send('POST /api/files:upload', { token: admin(), headers, body: form });
      expect(uploaded.status, String(uploaded.bytes)).toBe(200);
      const read = await each.send(`GET /api/files/${uploaded.json.data[0].id}`, { token: admin() });
      expect(read.bytes.equals(bytes)).toBe(true);
    }),
  );
});

test('the requests of an API key are counted, whichever thread answers them', async () => {
  const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'reader' } } });
  for (const each of connections)
    expect((await each.send('GET /api/posts:list', { token: key.token })).status).toBe(200);
  await expect
    .poll(async () => (await server.data(`GET /api/apiKeys:stats?filterByTk=${key.id}`)).requests)
    .toBe(connections.length);
  await expect
    .poll(async () => (await server.data(`GET /api/apiKeys:get/${key.id}`)).lastUsedAt ?? 'not yet')
    .toBeTruthy();
});

test('applications are opened, stopped, destroyed and created again while they are read', async () => {
  const headers = { 'x-app': 'shop' };
  for (let round = 0; round < 3; round += 1) {
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
    const shop = (line: string, body?: unknown) =>
      pick(connections).send(line, { token, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    expect((await shop('POST /api/collections:create', posts)).status).toBe(200);
    expect((await shop('POST /api/posts:create', { title: `round ${round}` })).status).toBe(200);
    const before = server.running.readers!.answered;
    let running = true;
    const statuses = new Set<number>();
    const load = connections.slice(0, 8).map(async (each) => {
      while (running) {
        const reply = await each.send('GET /api/posts:list?count=exact', { token, headers });
        statuses.add(reply.status);
        if (reply.status === 200) expect(reply.json.data[0].title).toBe(`round ${round}`);
      }
    });
    await expect.poll(() => server.running.readers!.answered).toBeGreaterThan(before + 20);
    await server.data('POST /api/applications:stop?filterByTk=shop');
    for (const each of connections.slice(8))
      expect((await each.send('GET /api/posts:list', { token, headers })).status).toBe(503);
    await server.data('POST /api/applications:start?filterByTk=shop');
    for (const each of connections.slice(8))
      expect((await each.send('GET /api/posts:list', { token, headers })).status).toBe(200);
    await server.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    running = false;
    await Promise.all(load);
    for (const status of statuses) expect([200, 401, 404, 503]).toContain(status);
  }
});

test('a reader thread that crashes is replaced, and only its own requests fail', async () => {
  const { readers } = server.running;
  let [running, failed, succeeded] = [true, 0, 0];
  const created: number[] = [];
  const load = openConnections(server, 12).map(async (each, index) => {
    // A connection that begins with a write belongs to the main thread.
    if (index % 2 === 0) await each.send('GET /api/posts:list', { token: admin() }).catch(() => null);
    while (running) {
      const write = await each
        .send('POST /api/posts:create', { token: admin(), body: '{"title":"load"}' })
        .catch(() => null);
      if (write?.status === 200) created.push(write.json.data.id);
      const read = await each.send('GET /api/posts:list', { token: admin() }).catch(() => null);
      if (read?.status === 200) succeeded += 1;
      else failed += 1;
    }
    each.close();
  });
  await expect.poll(() => succeeded).toBeGreaterThan(50);
  await readers!.handles[0]!.terminate();
  await expect.poll(() => readers!.running, { timeout: 20_000 }).toBe(2);
  const before = readers!.answered;
  await expect.poll(() => readers!.answered).toBeGreaterThan(before);
  running = false;
  await Promise.all(load);
  expect(failed).toBeLessThanOrEqual(12);
  const { meta } = (await server.call(`GET /api/posts:list?count=exact&filter={"title":"load"}`)).body;
  expect(meta.count).toBeGreaterThanOrEqual(created.length);
});

test('rate limits count the requests of all threads together', async () => {
  const limited = await startReaderServer({ RATE_LIMIT_CREDENTIAL: '40/600s', RATE_LIMIT_ANONYMOUS: '30/600s' });
  await createPosts(limited, 3);
  await limited.data('POST /api/permissions:create', {
    body: { role: { name: 'public' }, resource: 'posts', actions: ['list'] },
  });
  const { token } = await limited.data('POST /api/apiKeys:create', { body: { role: { name: 'admin' } } });
  const each = openConnections(limited, 16);
  for (const [points, request] of [
    [40, { token }],
    [30, {}],
  ] as const) {
    const statuses: number[] = [];
    for (let round = 0; round < 4; round += 1)
      for (const reply of await Promise.all(each.map((one) => one.send('GET /api/posts:list', request)))) {
        statuses.push(reply.status);
        if (reply.status === 429) expect(reply.headers).toContain('retry-after');
      }
    const allowed = statuses.filter((status) => status === 200).length;
    // Signing in has used some points of the limit per network.
    expect(allowed).toBeLessThanOrEqual(points);
    expect(allowed).toBeGreaterThanOrEqual(points - ('token' in request ? 0 : 5));
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  }
  for (const one of each) one.close();
  await limited.stop();
});

test('after SIGTERM, running requests of all threads complete; after SIGKILL, every acknowledged write still exists', async () => {
  const store = await sqlite.store();
  const settings = { ...rootSettings, READERS: '2' };
  const first = await startCliProcess(store.dataDir, settings);
  const token = await signInAsRoot(first);
  await postJson(`${first.url}/api/collections:create`, token, posts);
  const acknowledged: number[] = [];
  const write = (url: string, of: string): Promise<void>[] =>
    Array.from({ length: 12 }, async () => {
      for (;;) {
        const reply = await postJson(`${url}/api/posts:create`, of, { title: 'kept' }).catch(() => null);
        if (reply?.status !== 200) return;
        acknowledged.push(1);
      }
    });
  const load = write(first.url, token);
  await expect.poll(() => acknowledged.length).toBeGreaterThan(100);
  expect(await first.stop('SIGTERM')).toBe(0);
  await Promise.all(load);
  const second = await ServerProcess.start(store, { READERS: '2' });
  const more = write(second.url, second.token);
  const target = acknowledged.length + 100;
  await expect.poll(() => acknowledged.length).toBeGreaterThan(target);
  await second.kill();
  await Promise.all(more);
  const third = await ServerProcess.start(store, { READERS: '2' });
  const reply = await third.call('posts:list', { count: 'exact', pageSize: 1 });
  const { meta } = (await reply!.json()) as { meta: { count: number } };
  expect(meta.count).toBeGreaterThanOrEqual(acknowledged.length);
  await third.kill('SIGTERM');
  await store.remove();
}, 60_000);
