import { beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { LivePosts, namesOf } from '../support/live-posts.ts';
import { SocketClient } from '../support/socket-client.ts';

describeEngines('realtime', (engine) => {
  const live = LivePosts.forSuite(engine);
  /** Silent while the other tests run. */
  let silent: { readonly one: SocketClient; readonly closedAfter: Promise<number> };
  beforeAll(async () => {
    const one = await live.raw();
    const begun = performance.now();
    const closedAfter = new Promise<number>((resolve) =>
      one.socket.once('close', () => resolve(performance.now() - begun)),
    );
    silent = { one, closedAfter };
  });

  describe('who it is', () => {
    test('a wrong token closes with 4401', async () => {
      const one = await live.raw();
      one.send({ type: 'authenticate', token: 'tbk_nothing' });
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({
        error: 'Unauthorized',
        code: 'TOKEN_INVALID',
      });
      expect(await one.end()).toBe(4401);
    });

    test('another first message closes with 4401', async () => {
      const one = await live.raw();
      one.send({ type: 'subscribe', id: 'a', resource: 'posts' });
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({ id: 'a', code: 'TOKEN_MISSING' });
      expect(await one.end()).toBe(4401);
    });

    test('an unknown application is told to who has proved who they are', async () => {
      for (const [token, code] of [
        [live.server.tokens.get('admin'), 'APPLICATION_UNKNOWN'],
        ['tbs_nothing', 'TOKEN_INVALID'],
      ]) {
        const one = await live.raw();
        one.send({ type: 'authenticate', token, app: 'nowhere' });
        expect(await one.next(({ type }) => type === 'error')).toMatchObject({ code });
        expect(await one.end()).toBe(4401);
      }
    });

    test('a page of another origin is closed with 4403, one of this host or a listed one is not', async () => {
      expect(await (await live.raw({ origin: 'https://evil.example.com' })).end()).toBe(4403);
      expect(await (await live.raw({ origin: 'null' })).end()).toBe(4403);
      for (const origin of [live.server.running.url, 'https://listed.example.com']) {
        const one = await live.raw({ origin });
        one.send({ type: 'authenticate', token: live.server.tokens.get('admin') });
        await one.next(({ type }) => type === 'authenticated');
      }
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
    ])('%s is refused, and the socket goes on', async (_, message, code) => {
      const one = await live.client();
      one.send(message);
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({
        error: expect.any(String),
        message: expect.any(String),
        code,
      });
      expect((await one.subscribe('ok', 'posts')).type).toBe('subscribed');
    });

    test('a role subscribes to what it may get alone, and names no hidden field', async () => {
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

    test('at most a hundred subscriptions', async () => {
      const one = await live.client();
      for (let n = 0; n < 100; n += 1) one.send({ type: 'subscribe', id: `s${n}`, resource: 'posts' });
      await one.next(({ id }) => id === 's99');
      expect(await one.subscribe('over', 'posts')).toMatchObject({ code: 'LIMIT_EXCEEDED' });
    });

    test('a message past 80 KiB closes the socket', async () => {
      const one = await live.client();
      one.send({ type: 'subscribe', id: 'x', resource: 'p'.repeat(90_000) });
      expect(await one.end()).toBe(1009);
    });

    test('a broken frame closes the socket', async () => {
      const one = await live.client();
      (one.socket as Json)._socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
      expect(await one.end()).toBeGreaterThan(1000);
    });
  });

  describe('requests that are none', () => {
    test('other upgrades are answered as the requests that they are', async () => {
      const { socket } = await live.raw();
      socket.terminate();
      const other = new WebSocket(`${live.server.running.url.replace('http', 'ws')}/api/posts:list`);
      const status = await new Promise((resolve) => {
        other.on('unexpected-response', (_, response) => resolve(response.statusCode));
        other.on('error', () => {});
      });
      expect(status).toBe(401);
    });

    test('without an upgrade and without Accept it is a 400', async () => {
      const reply = await live.server.call('GET /api/realtime?resource=posts');
      expect([reply.status, reply.body.code]).toEqual([400, 'HEADER_INVALID']);
    });
  });

  test('silence for ten seconds closes with 4401', async () => {
    expect(await silent.closedAfter).toBeGreaterThan(9000);
    expect(await silent.one.end()).toBe(4401);
  });

  test('an application with a socket stays open; stopped, it closes with 1012', async () => {
    await live.server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await live.server.data('POST /api/applications:enter?filterByTk=shop');
    const one = await SocketClient.as(live.server, token, 'shop');
    await one.subscribe('a', '*');
    const begun = performance.now();
    await live.server.data('POST /api/applications:stop?filterByTk=shop');
    expect(await one.end()).toBe(1012);
    expect(performance.now() - begun).toBeLessThan(15_000);
  });

  test('a stop of the server closes with 1012, and a cursor goes on where it ended', async () => {
    const one = await live.client();
    const { cursor } = await one.subscribe('a', 'posts');
    const begun = performance.now();
    await live.server.running.stop();
    expect(await one.end()).toBe(1012);
    expect(performance.now() - begun).toBeLessThan(15_000);
    await live.server.boot();
    await live.server.key('clerk');
    const post = await live.make({ title: 'after' });
    const again = await live.client();
    await again.subscribe('a', 'posts', { since: cursor });
    expect(namesOf(await again.events('a', 1))).toEqual([`posts.created ${post.id}`]);
  });
});
