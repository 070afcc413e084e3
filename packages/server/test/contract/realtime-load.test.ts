import type { FileHandle } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines, postgres, type Store, shareStore, sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';
import { SocketClient } from '../support/socket-client.ts';
import { measureFastest } from '../support/timing.ts';

const definition = {
  name: 'things',
  fields: [
    { name: 'n', type: 'integer' },
    { name: 'text', type: 'text' },
  ],
};
/** `REALTIME_IDLE=2000 vitest run realtime-load` opens 2,000 idle sockets. */
const idleSockets = Number(process.env['REALTIME_IDLE'] ?? 300);
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

describeEngines('realtime under load', (engine) => {
  let store: Store;
  let server: ServerProcess;
  beforeAll(async () => {
    store = await engine.store(true);
    server = await ServerProcess.start(store, { REALTIME_SOCKETS: '50000' });
    await server.data('collections:create', definition);
  });
  afterAll(async () => {
    await server.kill();
    await store.remove();
  });

  const client = async (): Promise<SocketClient> => {
    const one = await SocketClient.connect(server.url);
    one.send({ type: 'authenticate', token: server.token });
    await one.next(({ type }) => type === 'authenticated');
    return one;
  };

  test('idle sockets use little memory', async () => {
    const before = server.memory;
    const clients: SocketClient[] = [];
    while (clients.length < idleSockets) clients.push(...(await Promise.all(Array.from({ length: 50 }, client))));
    for (const one of clients) await one.subscribe('a', 'things');
    await pause(500);
    const after = server.memory;
    process.stdout.write(
      `${engine.name}: ${clients.length} idle sockets: ${before.toFixed(0)} MB -> ${after.toFixed(0)} MB\n`,
    );
    expect(after - before).toBeLessThan(60);
    for (const one of clients) one.socket.terminate();
  });

  test('fifty subscribers receive every event in order', async () => {
    const clients = await Promise.all(Array.from({ length: 50 }, client));
    for (const one of clients) await one.subscribe('a', 'things');
    const records = 1000;
    const begun = performance.now();
    await server.data(
      'things:create',
      Array.from({ length: records }, (_, n) => ({ n })),
    );
    await Promise.all(clients.map((one) => one.events('a', records)));
    const seconds = (performance.now() - begun) / 1000;
    process.stdout.write(`${engine.name}: ${Math.round((records * 50) / seconds)} messages/s to 50 subscribers\n`);
    for (const one of clients) {
      const keys = one.eventsNow('a').map(({ tk }) => Number(tk));
      expect(keys).toEqual([...keys].sort((a, b) => a - b));
      one.socket.terminate();
    }
  });

  test('a client that does not read is disconnected with 4408 and uses no memory', async () => {
    const slow = await client();
    await slow.subscribe('a', 'things', { values: true });
    slow.socket.pause();
    const before = server.memory;
    const text = 'x'.repeat(200_000);
    for (let n = 0; n < 200; n += 1) await server.data('things:create', { n, text });
    expect(server.memory - before).toBeLessThan(150);
    await pause(6500);
    slow.socket.resume();
    expect([4408, 1006]).toContain(await slow.end());
    const other = await client();
    await other.subscribe('a', 'things');
    await server.data('things:create', { n: 1 });
    await other.events('a', 1);
    other.socket.terminate();
  });
});

describe('events of a failed sync (sqlite)', () => {
  test('are not sent', async () => {
    let fail = false;
    const syncFile = async (handle: FileHandle): Promise<void> => {
      if (fail) throw Object.assign(new Error('disk gone'), { code: 'EIO' });
      await handle.datasync();
    };
    const server = await TestServer.start(sqlite, { syncFile });
    await server.data('POST /api/collections:create', { body: definition });
    const one = await SocketClient.as(server);
    await one.subscribe('a', 'things');
    await server.data('POST /api/things:create', { body: { n: 1 } });
    await one.events('a', 1);
    fail = true;
    expect((await server.call('POST /api/things:create', { body: { n: 2 } })).status).toBe(500);
    await pause(600);
    expect(one.eventsNow('a')).toHaveLength(1);
    one.socket.terminate();
    await server.stop();
  });
});

describeEngines('two servers exchange events', (engine) => {
  if (engine.name === 'sqlite') {
    test('one process serves a SQLite file', () => expect(engine.name).toBe('sqlite'));
    return;
  }
  let store: Store;
  let nodes: TestServer[];
  beforeAll(async () => {
    store = await engine.store(true);
    const shared = shareStore(postgres, store);
    nodes = [await TestServer.start(shared), await TestServer.start(shared)];
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await store.remove();
  });

  test('a write on one server reaches subscribers of the other server within a second', async () => {
    const [first, second] = nodes as [TestServer, TestServer];
    await first.data('POST /api/collections:create', { body: definition });
    const one = await SocketClient.as(second);
    await one.subscribe('a', 'things', { values: true });
    await first.data('POST /api/things:create', { body: { n: 0 } });
    await one.events('a', 1);
    let made = 1;
    const heard = await measureFastest(async () => {
      made += 1;
      const begun = performance.now();
      await first.data('POST /api/things:create', { body: { n: made } });
      expect((await one.events('a', made)).at(-1).record.n).toBe(made);
      return performance.now() - begun;
    });
    expect(heard).toBeLessThan(6000);
    one.socket.terminate();
  });

  test('destroying an API key or a permission on one server affects sockets of the other server within a second', async () => {
    const [first, second] = nodes as [TestServer, TestServer];
    await first.data('POST /api/roles:create', { body: { name: 'reader' } });
    const listener = async (): Promise<{ one: SocketClient; permission: number; key: number }> => {
      const body = { role: 'reader', resource: 'things', actions: ['get'] };
      const permission = await first.data('POST /api/permissions:create', { body });
      const key = await first.data('POST /api/apiKeys:create', { body: { role: { name: 'reader' } } });
      const one = await SocketClient.as(second, key.token);
      await one.subscribe('a', 'things');
      return { one, permission: permission.id, key: key.id };
    };
    const refused = await measureFastest(async () => {
      const { one, permission } = await listener();
      const begun = performance.now();
      await first.data(`POST /api/permissions:destroy?filterByTk=${permission}`);
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({ id: 'a', code: 'NO_PERMISSION' });
      const taken = performance.now() - begun;
      one.socket.terminate();
      return taken;
    });
    expect(refused).toBeLessThan(6000);
    const closed = await measureFastest(async () => {
      const { one, key, permission } = await listener();
      const begun = performance.now();
      await first.data(`POST /api/apiKeys:destroy?filterByTk=${key}`);
      expect(await one.end()).toBe(4401);
      const taken = performance.now() - begun;
      await first.data(`POST /api/permissions:destroy?filterByTk=${permission}`);
      return taken;
    });
    expect(closed).toBeLessThan(6000);
  });
});
