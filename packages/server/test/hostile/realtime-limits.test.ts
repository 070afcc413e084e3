import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';
import { SocketClient } from '../support/socket-client.ts';

/** Subscribers need memory: no client may use up what others need. */
describeEngines('limits of realtime clients', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { REALTIME_SOCKETS: '20' } });
    const fields = [
      { name: 'text', type: 'text' },
      { name: 'open', type: 'boolean' },
    ];
    await server.data('POST /api/collections:create', { body: { name: 'posts', fields } });
    await server.data('POST /api/roles:create', { body: { name: 'other' } });
    for (const role of ['other', 'public']) {
      const body = { role, resource: 'posts', actions: ['get'], filter: { open: true } };
      await server.data('POST /api/permissions:create', { body });
    }
    await server.createKey('other');
  });
  afterAll(() => server.stop());

  const listen = async (as: string | null): Promise<{ status: number; reply: Response; leave: () => void }> => {
    const gone = new AbortController();
    const token = as === null ? {} : { authorization: `Bearer ${server.tokens.get(as)}` };
    const reply = await fetch(`${server.running.url}/api/realtime?resource=posts`, {
      headers: { accept: 'text/event-stream', ...token },
      signal: gone.signal,
    });
    // The reply is returned too, because `fetch` closes the stream of a reply that is garbage-collected.
    return { status: reply.status, reply, leave: () => gone.abort() };
  };

  test('streams and sockets together have a limit for each credential, and for each address without one', async () => {
    for (const who of ['admin', null]) {
      const open = [await listen(who), await listen(who)];
      expect(open.map(({ status }) => status)).toEqual([200, 200]);
      expect((await listen(who)).status).toBe(503);
      const theirs = await listen('other');
      expect(theirs.status).toBe(200);
      if (who !== null) {
        const socket = await SocketClient.connect(server.running.url);
        socket.send({ type: 'authenticate', token: server.tokens.get('admin') });
        expect(await socket.next(({ type }) => type === 'error')).toMatchObject({ code: 'BUSY' });
        socket.socket.terminate();
      }
      for (const each of [...open, theirs]) each.leave();
      const again = async (): Promise<number> => {
        const one = await listen(who);
        one.leave();
        return one.status;
      };
      await expect.poll(again).toBe(200);
    }
  });

  test('a refused stream or socket uses no slot', async () => {
    for (let n = 0; n < 30; n += 1) {
      const reply = await fetch(`${server.running.url}/api/realtime?resource=posts&filter={"nope":1}`, {
        headers: { accept: 'text/event-stream', authorization: `Bearer ${server.tokens.get('admin')}` },
      });
      expect(reply.status).toBe(400);
    }
    const one = await listen('admin');
    expect(one.status).toBe(200);
    one.leave();
  });

  test('one credential cannot use all slots of waiting requests', { timeout: 240_000 }, async () => {
    const end = (await server.call('GET /api/changes:list?pageSize=1000')).body.meta.nextCursor;
    const wait = (as: string): Promise<number> =>
      fetch(`${server.running.url}/api/changes:list?resource=posts&since=${end}&wait=3`, {
        headers: { authorization: `Bearer ${server.tokens.get(as)}` },
      }).then(({ status }) => status);
    const mine = Array.from({ length: limits.waiters / 10 + 5 }, () => wait('admin'));
    const theirs = wait('other');
    const statuses = await Promise.all(mine);
    expect(statuses.filter((status) => status === 503)).toHaveLength(5);
    expect(statuses.filter((status) => status === 200)).toHaveLength(limits.waiters / 10);
    expect(await theirs).toBe(200);
    expect(await wait('admin')).toBe(200);
  });

  test('an event is sent without its record if the record is too long', async () => {
    const one = await SocketClient.as(server);
    await one.subscribe('a', 'posts', { values: true });
    const { id } = await server.data('POST /api/posts:create', { body: { text: 'x'.repeat(limits.recordInEvent) } });
    await server.data('POST /api/posts:create', { body: { text: 'short' } });
    const [long, short] = await one.events('a', 2);
    expect(long).toMatchObject({ tk: String(id), recordTooLarge: true });
    expect(long).not.toHaveProperty('record');
    expect(short.record.text).toBe('short');
    one.socket.terminate();
  });

  test('the subscriptions of one connection have a common memory limit', async () => {
    const one = await SocketClient.as(server, 'other');
    for (let n = 0; n < limits.subscriptions; n += 1) await one.subscribe(`s${n}`, 'posts');
    const share = limits.knownRecordsInAll / limits.subscriptions;
    const many = Array.from({ length: share + 1 }, () => ({ open: true }));
    await server.data('POST /api/posts:create', { body: many });
    expect(await one.next(({ type }) => type === 'resync')).toMatchObject({ cursor: expect.any(String) });
    one.socket.terminate();
  });
});

describeEngines('records of several megabytes', (engine) => {
  test('subscribers use no extra memory, however many different views they request', { timeout: 120_000 }, async () => {
    const store = await engine.store(true);
    const server = await ServerProcess.start(store);
    await server.data('collections:create', { name: 'posts', fields: [{ name: 'text', type: 'text' }] });
    const one = await SocketClient.connect(server.url);
    one.send({ type: 'authenticate', token: server.token });
    for (let n = 0; n < 20; n += 1)
      await one.subscribe(`s${n}`, 'posts', { values: true, filter: { id: { $gt: -n } } });
    const text = 'x'.repeat(4 * 1024 * 1024);
    for (let n = 0; n < 10; n += 1) await server.data('posts:create', { text });
    const before = server.memory;
    // All of these events are in one page of the log.
    await server.data('posts:update?filter={"id":{"$gt":0}}&fields=id', { text: `${text}y` });
    await one.events('s19', 20);
    expect(server.memory - before).toBeLessThan(400);
    await server.kill();
    await store.remove();
  });
});
