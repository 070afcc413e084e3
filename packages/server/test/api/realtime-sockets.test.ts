import { beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { formatEvents, RealtimeFixture } from '../support/realtime-fixture.ts';
import { SocketClient } from '../support/socket-client.ts';

describeEngines('realtime', (engine) => {
  const live = RealtimeFixture.forSuite(engine);
  /** Sends nothing while the other tests run. */
  let silent: { readonly one: SocketClient; readonly closedAfter: Promise<number> };
  beforeAll(async () => {
    const one = await live.connectUnauthenticated();
    const begun = performance.now();
    const closedAfter = new Promise<number>((resolve) =>
      one.socket.once('close', () => resolve(performance.now() - begun)),
    );
    silent = { one, closedAfter };
  });

  describe('authentication', () => {
    test('an invalid token closes the socket with 4401', async () => {
      const one = await live.connectUnauthenticated();
      one.send({ type: 'authenticate', token: 'tbk_nothing' });
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({
        error: 'Unauthorized',
        code: 'TOKEN_INVALID',
      });
      expect(await one.end()).toBe(4401);
    });

    test('a first message other than authenticate closes the socket with 4401', async () => {
      const one = await live.connectUnauthenticated();
      one.send({ type: 'subscribe', id: 'a', resource: 'posts' });
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({ id: 'a', code: 'TOKEN_MISSING' });
      expect(await one.end()).toBe(4401);
    });

    test('an unknown application is only reported after authentication', async () => {
      for (const [token, code] of [
        [live.server.tokens.get('admin'), 'APPLICATION_UNKNOWN'],
        ['tbs_nothing', 'TOKEN_INVALID'],
      ]) {
        const one = await live.connectUnauthenticated();
        one.send({ type: 'authenticate', token, app: 'nowhere' });
        expect(await one.next(({ type }) => type === 'error')).toMatchObject({ code });
        expect(await one.end()).toBe(4401);
      }
    });

    test('an origin that is not listed closes the socket with 4403; the own host and listed origins are accepted', async () => {
      expect(await (await live.connectUnauthenticated({ origin: 'https://evil.example.com' })).end()).toBe(4403);
      expect(await (await live.connectUnauthenticated({ origin: 'null' })).end()).toBe(4403);
      for (const origin of [live.server.running.url, 'https://listed.example.com']) {
        const one = await live.connectUnauthenticated({ origin });
        one.send({ type: 'authenticate', token: live.server.tokens.get('admin') });
        await one.next(({ type }) => type === 'authenticated');
      }
      const origin = 'https://public.example.com';
      const setPublicUrl = (value: string | null) =>
        live.server.data('POST /api/systemSettings:update', { body: { PUBLIC_URL: value } });
      await setPublicUrl(origin);
      const one = await live.connectUnauthenticated({ origin });
      one.send({ type: 'authenticate', token: live.server.tokens.get('admin') });
      await one.next(({ type }) => type === 'authenticated');
      await setPublicUrl(null);
      expect(await (await live.connectUnauthenticated({ origin })).end()).toBe(4403);
    });
  });

  describe('messages', () => {
    test.each([
      ['no JSON', '{', 'BODY_INVALID'],
      ['no object', '[]', 'BODY_INVALID'],
      ['a forbidden key', '{"type":"subscribe","id":"x","resource":"posts","filter":{"__proto__":1}}', 'BODY_INVALID'],
      ['another type', { type: 'shout' }, 'BODY_INVALID'],
      ['an inherited type', { type: 'constructor' }, 'BODY_INVALID'],
      ['another member', { type: 'subscribe', id: 'x', resource: 'posts', more: 1 }, 'BODY_INVALID'],
      ['no id', { type: 'subscribe', resource: 'posts' }, 'BODY_INVALID'],
      ['no resource', { type: 'subscribe', id: 'x' }, 'BODY_INVALID'],
      ['a malformed since', { type: 'subscribe', id: 'x', resource: 'posts', since: 'abc' }, 'CURSOR_INVALID'],
      ['an unknown field', { type: 'subscribe', id: 'x', resource: 'posts', filter: { nothing: 1 } }, 'FIELD_UNKNOWN'],
      [
        'a filter on everything',
        { type: 'subscribe', id: 'x', resource: '*', filter: { open: true } },
        'PARAMETER_INVALID',
      ],
      ['no such subscription', { type: 'unsubscribe', id: 'x' }, 'PARAMETER_INVALID'],
      ['a second authentication', { type: 'authenticate', token: 'x' }, 'BODY_INVALID'],
    ])('%s is refused, and the socket stays open', async (_, message, code) => {
      const one = await live.client();
      one.send(message);
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({
        error: expect.any(String),
        message: expect.any(String),
        code,
      });
      expect((await one.subscribe('ok', 'posts')).type).toBe('subscribed');
    });

    test('a role can only subscribe to resources that it may get, and cannot name hidden fields', async () => {
      const one = await live.client('clerk');
      expect(await one.subscribe('a', 'secrets')).toMatchObject({
        id: 'a',
        error: 'No permissions',
        code: 'NO_PERMISSION',
      });
      expect(await one.subscribe('b', 'nothing')).toMatchObject({ code: 'NO_PERMISSION' });
      expect(await one.subscribe('c', 'posts', { filter: { secret: 'x' } })).toMatchObject({ code: 'FIELD_DENIED' });
      expect((await one.subscribe('d', 'posts')).type).toBe('subscribed');
      expect(await one.subscribe('d', 'posts')).toMatchObject({ type: 'subscribed' });
      expect(await one.next(({ type, id }) => type === 'error' && id === 'd')).toMatchObject({
        code: 'PARAMETER_INVALID',
      });
    });

    test('a socket accepts at most a hundred subscriptions', async () => {
      const one = await live.client();
      for (let n = 0; n < 100; n += 1) one.send({ type: 'subscribe', id: `s${n}`, resource: 'posts' });
      await one.next(({ id }) => id === 's99');
      expect(await one.subscribe('over', 'posts')).toMatchObject({ code: 'LIMIT_EXCEEDED' });
    });

    test('a message over 80 KiB closes the socket', async () => {
      const one = await live.client();
      one.send({ type: 'subscribe', id: 'x', resource: 'p'.repeat(90_000) });
      expect(await one.end()).toBe(1009);
    });

    test('a malformed frame closes the socket', async () => {
      const one = await live.client();
      (one.socket as Json)._socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
      expect(await one.end()).toBeGreaterThan(1000);
    });
  });

  describe('requests without a valid upgrade', () => {
    test('other upgrades are answered as plain requests', async () => {
      const { socket } = await live.connectUnauthenticated();
      socket.terminate();
      const other = new WebSocket(`${live.server.running.url.replace('http', 'ws')}/api/posts:list`);
      const status = await new Promise((resolve) => {
        other.on('unexpected-response', (_, response) => resolve(response.statusCode));
        other.on('error', () => {});
      });
      expect(status).toBe(401);
    });

    test('a request without an upgrade and without Accept is refused with 400', async () => {
      const reply = await live.server.call('GET /api/realtime?resource=posts');
      expect([reply.status, reply.body.code]).toEqual([400, 'HEADER_INVALID']);
    });
  });

  test('ten seconds without a message close the socket with 4401', async () => {
    expect(await silent.closedAfter).toBeGreaterThan(9000);
    expect(await silent.one.end()).toBe(4401);
  });

  test('an application with a socket stays open, and stopping it closes the socket with 1012', async () => {
    await live.server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await live.server.data('POST /api/applications:enter?filterByTk=shop');
    const one = await SocketClient.as(live.server, token, 'shop');
    await one.subscribe('a', '*');
    const begun = performance.now();
    await live.server.data('POST /api/applications:stop?filterByTk=shop');
    expect(await one.end()).toBe(1012);
    expect(performance.now() - begun).toBeLessThan(15_000);
  });

  test('stopping the server closes the socket with 1012, and a cursor continues from there', async () => {
    const one = await live.client();
    const { cursor } = await one.subscribe('a', 'posts');
    const begun = performance.now();
    await live.server.running.stop();
    expect(await one.end()).toBe(1012);
    expect(performance.now() - begun).toBeLessThan(15_000);
    await live.server.boot();
    await live.server.createKey('clerk');
    const post = await live.createPost({ title: 'after' });
    const again = await live.client();
    await again.subscribe('a', 'posts', { since: cursor });
    expect(formatEvents(await again.events('a', 1))).toEqual([`posts.created ${post.id}`]);
  });
});
