/**
 * Hostile and unusual connections to reader threads: replies are those of the main thread, and no reader thread
 * crashes.
 */
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openConnections, startReaderServer, type WireConnection } from '../support/reader-server.ts';
import type { TestServer } from '../support/scenario.ts';
import { SocketClient } from '../support/socket-client.ts';

let server: TestServer;
let connections: WireConnection[];
const admin = (): string => server.tokens.get('admin')!;
/** Enough connections that each thread has accepted some of them. */
const tries = 12;

beforeAll(async () => {
  server = await startReaderServer({ TRUSTED_PROXIES: '127.0.0.1' });
  connections = openConnections(server, tries);
  await server.data('POST /api/collections:create', {
    body: { name: 'posts', fields: [{ name: 'title', type: 'string' }] },
  });
  await server.data('POST /api/posts:create', { body: [{ title: 'first' }, { title: 'second' }] });
}, 60_000);

afterAll(async () => {
  for (const each of connections) each.close();
  await server.stop();
});

/** Sends bytes on a new connection. @returns all replies, without the parts that differ between two equal requests. */
function exchange(text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = '';
  const socket = connect(Number(new URL(server.running.url).port), '127.0.0.1', () => socket.write(text, 'latin1'));
  socket.on('data', (chunk) => {
    received += String(chunk);
  });
  socket
    .on('error', () => {})
    .on('close', () =>
      resolve(received.replace(/^Date: .*\r\n/gm, '').replace(/"requestId":"[^"]*"|X-Request-Id: .*|etag: .*/gi, '')),
    );
  return promise;
}

const end = (line: string, more = ''): string =>
  `${line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin()}\r\n${more}connection: close\r\n\r\n`;

const upgradeHeaders =
  'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

test('malformed and unusual requests get the same reply from each thread, and crash none', async () => {
  const requests = [
    end('GET /api/posts:list?a=\t'),
    end('GET /api/posts:list?a=\f'),
    end('GET /api/posts:list?a=\xe9'),
    end('GET /api/posts:list?a="<>{}|^`'),
    end('GET http://other/api/posts:list'),
    end('OPTIONS *'),
    end('POST /api/posts:list?a=\t', 'content-length: 2\r\n').concat('{}'),
    end('GET /api/posts:get/1', 'x-odd: \x01\x02\r\n'),
    end('POST /api/posts:get/1', 'x-odd: \xe9\xff\r\n'),
    end('POST /api/posts:get/1', 'x odd: 1\r\n'),
    end('POST /api/posts:get/1', 'content-length: 2\r\ntransfer-encoding: chunked\r\n').concat('0\r\n\r\n'),
    end('POST /api/posts:get/1', 'transfer-encoding: gzip\r\n'),
    end('POST /api/posts:get/1', 'transfer-encoding: chunked\r\n').concat('x\r\n'),
    end('POST /api/posts:get/1', 'content-length: 2\r\ncontent-length: 3\r\n').concat('{}'),
    end('POST /api/posts:get/1', 'trailer: x\r\ntransfer-encoding: chunked\r\n').concat('2\r\n{}\r\n0\r\nx: 1\r\n\r\n'),
    end('GET /api/posts:get/1', 'transfer-encoding: chunked\r\n').concat('0\r\n\r\n'),
    end(`GET /api/posts:list?a=${'x'.repeat(8000)}`),
    end(`GET /api/posts:list?a=${'x'.repeat(200_000)}`),
    end('GET /api/posts:list', 'upgrade: h2c\r\n'),
    end('GET /api/posts:get/1', 'upgrade: h2c\r\nconnection: upgrade\r\n'),
    end('POST /api/posts:get/1', 'upgrade: h2c\r\nconnection: upgrade\r\ncontent-length: 2\r\n').concat('{}'),
    end('GET /api/realtime', `${upgradeHeaders}content-length: 2\r\n`).concat('{}'),
    end('GET /api/nothing:list', 'trailer: x\r\n'),
    end('POST /api/posts:get/1', 'trailer: x\r\ncontent-length: 2\r\n').concat('{}'),
    end('CONNECT x:80'),
    end('TRACE /api/posts:list'),
    end('QUERY /api/posts:list'),
    'GET /api/posts:list\r\n\r\n',
    'GET /health HTTP/1.0\r\n\r\n',
    'POST /api/posts:list HTTP/1.0\r\n\r\n',
    'GET /api/posts:list HTTP/9.9\r\n\r\n',
    'GET /api/posts:list HTTP/1.1\r\nconnection: close\r\n\r\n',
    '\x16\x03\x01\x00\x00',
  ];
  for (const text of requests) {
    const replies = await Promise.all(Array.from({ length: tries }, () => exchange(text)));
    expect(new Set(replies).size, `${text.slice(0, 80)}\n${[...new Set(replies)].join('\n---\n').slice(0, 2000)}`).toBe(
      1,
    );
  }
  expect(server.running.readers!.running).toBe(2);
  expect(
    (await Promise.all(connections.map((each) => each.send('GET /api/posts:get/1', { token: admin() })))).map(
      ({ status }) => status,
    ),
  ).toEqual(connections.map(() => 200));
});

/** The statuses of all replies to some requests on one connection, in the order of the replies, for each of some connections. */
async function readStatuses(text: string): Promise<string[]> {
  const replies = await Promise.all(Array.from({ length: tries }, () => exchange(text)));
  return [...new Set(replies.map((each) => [...each.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status).join()))];
}

test('upgrades behind a request whose reply is not complete are answered in order, and end no thread', async () => {
  const head = `HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin()}\r\n`;
  // Node drops what follows an upgrade request in the same piece, so it is the last request.
  const upgrade = `GET /api/realtime HTTP/1.1\r\nhost: x\r\n${upgradeHeaders}connection: close\r\n\r\n`;
  const other = end('GET /api/posts:get/1', 'upgrade: h2c\r\nconnection: upgrade\r\n');
  for (const first of ['/api/health', '/api/posts:list', '/api/collections:list', '/api/posts:list?paginate=false']) {
    expect(await readStatuses(`GET ${first} ${head}\r\n${upgrade}`), first).toEqual(['200,400']);
    expect(await readStatuses(`GET ${first} ${head}\r\n${other}`), first).toEqual(['200,200']);
  }
  expect(server.running.readers!.running).toBe(2);
  expect((await server.call('GET /api/health')).status).toBe(200);
});

test('an invalid request behind others is refused after their replies', async () => {
  const list = `GET /api/posts:list?paginate=false HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin()}\r\n\r\n`;
  expect(await readStatuses(`${list}${list}no request\r\n\r\n`)).toEqual(['200,200,400']);
});

test('a connection can be used again after a body that is too large', async () => {
  const body = Buffer.alloc(11_000_000, 'x');
  const statuses = connections.map(async (each) => {
    const get = async (): Promise<number> => (await each.send('GET /api/posts:get/1', { token: admin() })).status;
    const before = await get();
    const { status } = await each.send('POST /api/posts:update/1', { token: admin(), body });
    return [before, status, await get()];
  });
  expect(await Promise.all(statuses)).toEqual(connections.map(() => [200, 413, 200]));
});

test('pipelined requests run in order if one of them writes', async () => {
  const head = `HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin()}\r\n`;
  const write = (title: string): string => {
    const body = JSON.stringify({ title });
    return `POST /api/posts:update/1 ${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  };
  for (let round = 0; round < tries; round += 1) {
    const read = `GET /api/posts:get/1 ${head}`;
    const text = `${read}\r\n${write(`a${round}`)}${read}\r\n${write(`b${round}`)}${read}connection: close\r\n\r\n`;
    const titles = [...(await exchange(text)).matchAll(/"title":"(\w+)"/g)].map((each) => each[1]);
    expect(titles.slice(1)).toEqual([`a${round}`, `a${round}`, `b${round}`, `b${round}`]);
  }
  await server.data('POST /api/roles:create', { body: { name: 'watcher' } });
  for (let round = 0; round < tries; round += 1) {
    const { id } = await server.data('POST /api/permissions:create', {
      body: { role: { name: 'watcher' }, resource: 'posts', actions: ['list'] },
    });
    const { token } = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'watcher' } } });
    const list = `GET /api/posts:list HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n`;
    const statuses = await exchange(
      `${list}\r\nPOST /api/permissions:destroy/${id} ${head}content-length: 0\r\n\r\n${list}connection: close\r\n\r\n`,
    );
    expect([...statuses.matchAll(/HTTP\/1.1 (\d+)/g)].map((each) => each[1])).toEqual(['200', '200', '403']);
  }
});

test('connections whose first request arrives late, arrives in pieces or is a write get complete replies', async () => {
  const long = 'x'.repeat(4000);
  const body = JSON.stringify(Array.from({ length: 300 }, () => ({ title: long })));
  await server.data('POST /api/posts:create', { body: JSON.parse(body) });
  const { port } = new URL(server.running.url);
  const head = `HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin()}\r\n`;
  const list = `POST /api/posts:list?pageSize=300&sort=-id ${head}connection: close\r\ncontent-length: 0\r\n\r\n`;
  const send = async (pieces: readonly (string | number)[], patience = 0): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let received = '';
    socket.on('error', reject).on('close', () => resolve());
    for (const piece of pieces) {
      if (typeof piece === 'string') socket.write(piece);
      else await setTimeout(piece);
    }
    await setTimeout(patience); // the client does not read during this time
    socket.on('data', (chunk) => {
      received += String(chunk);
    });
    await promise;
    return received;
  };
  const expected = (await send([list])).length;
  expect(expected).toBeGreaterThan(300 * 4000);
  for (const [pieces, patience] of [
    [[list], 300],
    [['P', 20, list.slice(1)], 0],
    [[list.slice(0, 7), 20, list.slice(7)], 0],
    [[list.slice(0, 100), 20, list.slice(100)], 0],
    [[1200, list], 0],
  ] as const) {
    const replies = await Promise.all(Array.from({ length: tries }, () => send(pieces, patience)));
    expect(replies.map((reply) => reply.length)).toEqual(replies.map(() => expected));
  }
  const silent = connect(Number(port), '127.0.0.1');
  silent.end();
  await new Promise((resolve) => silent.on('close', resolve).resume());
});

test('connections that begin with a write, or become WebSockets, are moved to the main thread and work like others', async () => {
  const moving = await startReaderServer();
  const { readers } = moving.running;
  const token = moving.tokens.get('admin')!;
  const fields = [{ name: 'title', type: 'string' }];
  await moving.data('POST /api/collections:create', { body: { name: 'notes', fields } });
  const writers = openConnections(moving, 30);
  const create = (each: WireConnection, title: string): Promise<unknown> =>
    each.send('POST /api/notes:create', { token, body: JSON.stringify({ title }) }).then(({ json }) => json.data.title);
  for (let round = 0; round < 3; round += 1)
    expect(await Promise.all(writers.map((each, index) => create(each, `${round} ${index}`)))).toEqual(
      writers.map((_, index) => `${round} ${index}`),
    );
  const read = await Promise.all(
    writers.map((each) => each.send('GET /api/notes:list?pageSize=1&count=exact', { token })),
  );
  expect(read.map(({ json }) => json.meta.count)).toEqual(writers.map(() => 90));
  const sockets = await Promise.all(Array.from({ length: 12 }, () => SocketClient.as(moving)));
  for (const each of sockets) await each.subscribe('notes', 'notes');
  await create(writers[0]!, 'heard');
  for (const each of sockets) expect(await each.events('notes', 1)).toHaveLength(1);
  // The readers have handed over all of these connections to the main thread.
  await expect.poll(() => readers!.handedOver).toBeGreaterThan(5);
  await expect.poll(() => readers!.connections).toBe(0);
  for (const each of writers) each.close();
  for (const each of sockets) each.socket.close();
  await moving.stop();
});

test('connections that clients close while they are being moved do no harm', async () => {
  const { port } = new URL(server.running.url);
  const head = `POST /api/posts:create HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin()}\r\n`;
  const body = '{"title":"left"}';
  const whole = `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const leave = async (index: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(index % 2 === 0 ? whole : whole.slice(0, 40 + (index % 100)));
      if (index % 3 === 0) socket.resetAndDestroy();
      else if (index % 3 === 1) socket.end();
      else socket.destroy();
    });
    socket.resume();
    socket.on('error', () => {}).on('close', () => resolve());
    await promise;
  };
  for (let round = 0; round < 10; round += 1)
    await Promise.all(Array.from({ length: 60 }, (_, index) => leave(index + round)));
  expect(await readersAnswer()).toBe(true);
});

test('client addresses that a trusted proxy passes on reach the journal and the rate limits, and others are ignored', async () => {
  for (const [index, each] of connections.entries()) {
    const reply = await each.send('POST /api/roles:create', {
      token: admin(),
      headers: { 'x-forwarded-for': `9.9.9.9, 203.0.113.${index}` },
      body: JSON.stringify({ name: `role${index}` }),
    });
    expect(reply.status).toBe(200);
  }
  const filter = '{"action":"roles:create"}';
  const entries = await server.data(`GET /api/audit:list?filter=${filter}&sort=id&pageSize=50`);
  const addresses = entries.map((each: { address: string }) => each.address);
  expect(addresses.slice(-tries)).toEqual(connections.map((_, index) => `203.0.113.${index}`));
  const plain = await startReaderServer({ RATE_LIMIT_ANONYMOUS: '20/600s' });
  const others = openConnections(plain, tries);
  const statuses: number[] = [];
  for (let round = 0; round < 4; round += 1)
    for (const [index, each] of others.entries())
      statuses.push(
        (await each.send('GET /api/posts:list', { headers: { 'x-forwarded-for': `203.0.113.${index}` } })).status,
      );
  expect(statuses.filter((status) => status !== 429).length).toBeLessThanOrEqual(20);
  for (const each of others) each.close();
  await plain.stop();
});

test('large uploads are handed over in pieces, and aborted ones leave nothing', async () => {
  const bytes = Buffer.alloc(20 * 1024 * 1024, 'upload ');
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const form = Buffer.concat([
    Buffer.from('--x\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'),
    bytes,
    Buffer.from('\r\n--x--\r\n'),
  ]);
  const counted = async (): Promise<number> => (await server.call('GET /api/files:list?count=exact')).body.meta.count;
  for (const each of connections.slice(0, 4)) {
    const reply = await each.send('POST /api/files:upload', { token: admin(), headers, body: form });
    expect(reply.status).toBe(200);
    const read = await each.send(`GET /api/files/${reply.json.data[0].id}`, { token: admin() });
    expect(read.bytes.equals(bytes)).toBe(true);
  }
  const before = await counted();
  const head = `POST /api/files:upload HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin()}\r\ncontent-type: ${headers['content-type']}\r\n`;
  await Promise.all(
    ['content-length: 20971650\r\n', 'transfer-encoding: chunked\r\n', 'expect: 100-continue\r\ncontent-length: 99\r\n']
      .flatMap((each) => [each, each, each, each])
      .map(async (each) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const socket = connect(Number(new URL(server.running.url).port), '127.0.0.1', () => {
          socket.write(`${head}${each}\r\n`);
          if (each.startsWith('content')) socket.write(form.subarray(0, 1_000_000));
          if (each.startsWith('transfer')) socket.write('100\r\nshort');
          void setTimeout(50).then(() => socket.resetAndDestroy());
        });
        socket.on('error', () => {}).on('close', () => resolve());
        await promise;
      }),
  );
  await expect.poll(() => readersAnswer()).toBe(true);
  expect(await counted()).toBe(before);
});

test('clients that send many requests and read no reply keep few replies in memory, and get all of them later', async () => {
  await server.data('POST /api/collections:create', {
    body: { name: 'pages', fields: [{ name: 'text', type: 'text' }] },
  });
  const pages = Array.from({ length: 20 }, (_, index) => ({ text: `${index}`.padEnd(60_000, ' x') }));
  await server.data('POST /api/pages:create', { body: pages });
  const { readers } = server.running;
  await expect.poll(readersAnswer).toBe(true);
  const requests = 20;
  const line = `GET /api/pages:list HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin()}\r\n\r\n`;
  const sockets = Array.from({ length: tries }, () => {
    const socket = connect(Number(new URL(server.running.url).port), '127.0.0.1').pause();
    socket.write(line.repeat(requests));
    return socket;
  });
  const before = readers!.answered + readers!.handedOver;
  await setTimeout(1000);
  // For each connection: one reply that is being sent, partly in the buffers of the system, and four that wait.
  expect(readers!.answered + readers!.handedOver - before).toBeLessThanOrEqual(tries * 10);
  expect(await readersAnswer()).toBe(true);
  await Promise.all(
    sockets.map(async (socket) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      let replies = 0;
      socket.on('data', (chunk: Buffer) => {
        replies += chunk.toString('latin1').split('"hasNext":').length - 1;
        if (replies >= requests - 1) resolve();
      });
      socket.resume();
      await promise;
      socket.destroy();
    }),
  );
}, 30_000);

async function readersAnswer(): Promise<boolean> {
  const replies = await Promise.all(connections.map((each) => each.send('GET /api/posts:get/1', { token: admin() })));
  return replies.every(({ status }) => status === 200) && server.running.readers!.running === 2;
}
