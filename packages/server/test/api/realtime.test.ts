import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';
import { SocketClient } from '../support/socket-client.ts';

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

describeEngines('realtime', (engine) => {
  let server: TestServer;
  const open: SocketClient[] = [];
  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { CORS_ORIGINS: 'https://listed.example.com' } });
    const fields = [
      { name: 'title', type: 'string' },
      { name: 'open', type: 'boolean' },
      { name: 'secret', type: 'string' },
    ];
    for (const name of ['posts', 'secrets'])
      await server.data('POST /api/collections:create', { body: { name, fields } });
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    await server.data('POST /api/permissions:create', {
      body: {
        role: 'clerk',
        resource: 'posts',
        actions: ['list', 'get'],
        filter: { open: true },
        exceptFields: ['secret'],
      },
    });
    await server.key('clerk');
  });
  afterAll(async () => {
    for (const client of open) client.socket.terminate();
    await server.stop();
  });

  const client = async (who = 'admin'): Promise<SocketClient> => {
    const made = await SocketClient.as(server, who);
    open.push(made);
    return made;
  };
  const raw = async (headers: Record<string, string> = {}): Promise<SocketClient> => {
    const made = await SocketClient.connect(server.running.url, headers);
    open.push(made);
    return made;
  };
  const make = (body: object): Promise<Json> => server.data('POST /api/posts:create', { body });
  const change = (id: number, body: object): Promise<Json> =>
    server.data(`POST /api/posts:update?filterByTk=${id}`, { body });
  const names = (events: readonly Json[]): string[] => events.map(({ name, tk }) => `${name} ${tk}`);

  describe('who it is', () => {
    test('a wrong token closes with 4401', async () => {
      const one = await raw();
      one.send({ type: 'authenticate', token: 'tbk_nothing' });
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({
        error: 'Unauthorized',
        code: 'TOKEN_INVALID',
      });
      expect(await one.end()).toBe(4401);
    });

    test('another first message closes with 4401', async () => {
      const one = await raw();
      one.send({ type: 'subscribe', id: 'a', resource: 'posts' });
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({ id: 'a', code: 'TOKEN_MISSING' });
      expect(await one.end()).toBe(4401);
    });

    test('an unknown application is told to who has proved who they are', async () => {
      for (const [token, code] of [
        [server.tokens.get('admin'), 'APPLICATION_UNKNOWN'],
        ['tbs_nothing', 'TOKEN_INVALID'],
      ]) {
        const one = await raw();
        one.send({ type: 'authenticate', token, app: 'nowhere' });
        expect(await one.next(({ type }) => type === 'error')).toMatchObject({ code });
        expect(await one.end()).toBe(4401);
      }
    });

    test('a page of another origin is closed with 4403, one of this host or a listed one is not', async () => {
      expect(await (await raw({ origin: 'https://evil.example.com' })).end()).toBe(4403);
      expect(await (await raw({ origin: 'null' })).end()).toBe(4403);
      for (const origin of [server.running.url, 'https://listed.example.com']) {
        const one = await raw({ origin });
        one.send({ type: 'authenticate', token: server.tokens.get('admin') });
        await one.next(({ type }) => type === 'authenticated');
      }
    });

    test('silence for ten seconds closes with 4401', async () => {
      const one = await raw();
      await pause(9000);
      expect(one.closed).toBeNull();
      expect(await one.end()).toBe(4401);
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
      const one = await client();
      one.send(message);
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({
        error: expect.any(String),
        message: expect.any(String),
        code,
      });
      expect((await one.subscribe('ok', 'posts')).type).toBe('subscribed');
    });

    test('a role subscribes to what it may get alone, and names no hidden field', async () => {
      const one = await client('clerk');
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
      const one = await client();
      for (let n = 0; n < 100; n += 1) one.send({ type: 'subscribe', id: `s${n}`, resource: 'posts' });
      await one.next(({ id }) => id === 's99');
      expect(await one.subscribe('over', 'posts')).toMatchObject({ code: 'LIMIT_EXCEEDED' });
    });

    test('a message past 80 KiB closes the socket', async () => {
      const one = await client();
      one.send({ type: 'subscribe', id: 'x', resource: 'p'.repeat(90_000) });
      expect(await one.end()).toBe(1009);
    });

    test('a broken frame closes the socket', async () => {
      const one = await client();
      (one.socket as Json)._socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
      expect(await one.end()).toBeGreaterThan(1000);
    });
  });

  describe('events', () => {
    test('come to all who may see them, after they are durable, with the record where it is asked for', async () => {
      const [admin, clerk] = [await client(), await client('clerk')];
      const { cursor } = await admin.subscribe('a', 'posts');
      await admin.subscribe('v', 'posts', { values: true });
      await clerk.subscribe('a', 'posts', { values: true });
      const [first, second] = await make([
        { title: 'open', open: true, secret: 'x' },
        { title: 'closed', open: false },
      ] as object);
      const told = await admin.events('a', 2);
      expect(names(told)).toEqual([`posts.created ${first.id}`, `posts.created ${second.id}`]);
      expect(told[0]).not.toHaveProperty('record');
      expect((await admin.events('v', 2))[0].record).toEqual(
        await server.data(`GET /api/posts:get?filterByTk=${first.id}`),
      );
      const [seen] = await clerk.events('a', 1);
      expect(seen.changed).toEqual(['title', 'open']);
      expect(seen.record).toEqual(await server.data(`GET /api/posts:get?filterByTk=${first.id}`, { as: 'clerk' }));
      expect(JSON.stringify(seen)).not.toContain('secret');
      const again = await client();
      await again.subscribe('again', 'posts', { since: cursor });
      expect(names(await again.events('again', 2))).toEqual(names(told));
    });

    test('that lead out of the row filter tell so by the key alone, where the record was told of', async () => {
      const clerk = await client('clerk');
      await clerk.subscribe('a', 'posts', { values: true });
      const known = await make({ title: 'known', open: true });
      const unknown = await make({ title: 'unknown', open: false });
      await clerk.events('a', 1);
      await change(unknown.id, { title: 'still' });
      await server.data(`POST /api/posts:destroy?filterByTk=${unknown.id}`);
      await change(known.id, { open: false });
      await change(known.id, { title: 'out of sight' });
      const back = await make({ title: 'last', open: true });
      const told = await clerk.events('a', 3);
      expect(names(told)).toEqual([`posts.created ${known.id}`, `posts.left ${known.id}`, `posts.created ${back.id}`]);
      expect(told[1]).toEqual({
        cursor: expect.any(String),
        at: expect.any(String),
        name: 'posts.left',
        resource: 'posts',
        tk: String(known.id),
        actor: null,
        requestId: null,
        changed: [],
      });
    });

    test('that lead out of a filter tell so for every record that the role may see', async () => {
      const admin = await client();
      const before = await make({ title: 'before', open: true });
      await pause(400);
      await admin.subscribe('a', 'posts', { filter: { open: true } });
      await change(before.id, { open: false });
      await change(before.id, { title: 'closed' });
      await make({ title: 'never', open: false });
      await change(before.id, { open: true });
      await server.data(`POST /api/posts:destroy?filterByTk=${before.id}`);
      const last = await make({ title: 'last', open: true });
      const told = await admin.until(() => {
        const events = admin.eventsNow('a');
        return events.at(-1)?.tk === String(last.id) ? events : undefined;
      });
      expect(names(told).filter((name) => name === `posts.left ${before.id}`).length).toBeGreaterThan(0);
      expect(names(told)).toContain(`posts.destroyed ${before.id}`);
      expect(names(told).at(-1)).toBe(`posts.created ${last.id}`);
      expect(told).not.toContainEqual(expect.objectContaining({ title: 'never' }));
    });

    test('of definitions, roles and made names come to who may read them', async () => {
      const [admin, clerk] = [await client(), await client('clerk')];
      await admin.subscribe('all', '*');
      await clerk.subscribe('all', '*');
      await server.data('POST /api/collections:create', { body: { name: 'live' } });
      await server.data('POST /api/changes:publish', { body: { name: 'campaign.sent', payload: { n: 1 } } });
      const post = await make({ title: 'x', open: true });
      const told = await admin.until(() => {
        const events = admin.eventsNow('all');
        return names(events).includes(`posts.created ${post.id}`) ? events : undefined;
      });
      expect(names(told)).toEqual(['collections.created live', 'campaign.sent null', `posts.created ${post.id}`]);
      expect(told[1].payload).toEqual({ n: 1 });
      expect(names(await clerk.events('all', 1))).toEqual([`posts.created ${post.id}`]);
      await server.data('POST /api/collections:destroy?filterByTk=live');
    });

    test('end with unsubscribe', async () => {
      const admin = await client();
      await admin.subscribe('a', 'posts');
      await admin.subscribe('b', 'posts');
      admin.send({ type: 'unsubscribe', id: 'a' });
      expect(await admin.next(({ type }) => type === 'unsubscribed')).toEqual({ type: 'unsubscribed', id: 'a' });
      await make({ title: 'x' });
      await admin.events('b', 1);
      expect(admin.eventsNow('a')).toEqual([]);
    });

    test('a cursor of another log is answered with resync, and it goes on from there', async () => {
      const admin = await client();
      const since = Buffer.from('00000000.0.7.0badcafe').toString('base64url');
      const { cursor } = await admin.subscribe('a', 'posts', { since });
      expect(await admin.next(({ type }) => type === 'resync')).toEqual({ type: 'resync', id: 'a', cursor });
      const post = await make({ title: 'x' });
      expect(names(await admin.events('a', 1))).toEqual([`posts.created ${post.id}`]);
    });
  });

  describe('rights that change', () => {
    const within = async (milliseconds: number, work: () => Promise<unknown>): Promise<void> => {
      const begun = performance.now();
      await work();
      expect(performance.now() - begun).toBeLessThan(milliseconds);
    };
    const keyed = async (): Promise<{ id: number; one: SocketClient }> => {
      const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'clerk' } } });
      const one = await client(key.token);
      await one.subscribe('a', 'posts');
      return { id: key.id, one };
    };

    test('a destroyed key is cut off within a second', async () => {
      const { id, one } = await keyed();
      await server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`);
      await within(1500, async () => expect(await one.end()).toBe(4401));
    });

    test('signing out ends the sockets of the login', async () => {
      const token = await server.signIn('root@example.com', 'correct horse battery');
      const one = await client(token);
      await server.data('POST /api/auth:signOut', { as: token });
      await within(1500, async () => expect(await one.end()).toBe(4401));
    });

    test('a suspended user is cut off', async () => {
      const user = await server.data('POST /api/users:create', {
        body: { email: 'sue@example.com', password: 'a long password', roles: ['clerk'] },
      });
      const one = await client(await server.signIn('sue@example.com', 'a long password'));
      await server.data(`POST /api/users:update?filterByTk=${user.id}`, { body: { status: 'suspended' } });
      await within(1500, async () => expect(await one.end()).toBe(4401));
    });

    test('another row filter is another view: read again; a permission that is gone ends the subscription', async () => {
      const { one } = await keyed();
      const [permission] = await server.data('GET /api/permissions:list?filter={"role":"clerk","resource":"posts"}');
      await server.data(`POST /api/permissions:update?filterByTk=${permission.id}`, {
        body: { filter: { open: false } },
      });
      expect(await one.next(({ type }) => type === 'resync')).toMatchObject({ id: 'a', cursor: expect.any(String) });
      await make({ title: 'open', open: true });
      const closed = await make({ title: 'closed', open: false });
      expect(names(await one.events('a', 1))).toEqual([`posts.created ${closed.id}`]);
      await server.data(`POST /api/permissions:destroy?filterByTk=${permission.id}`);
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({ id: 'a', code: 'NO_PERMISSION' });
      await make({ title: 'unseen', open: false });
      await pause(400);
      expect(one.eventsNow('a')).toHaveLength(1);
      expect(one.closed).toBeNull();
      await server.data('POST /api/permissions:create', {
        body: {
          role: 'clerk',
          resource: 'posts',
          actions: ['list', 'get'],
          filter: { open: true },
          exceptFields: ['secret'],
        },
      });
    });

    test('a filter on a field that is destroyed ends the subscription', async () => {
      const one = await client();
      await server.data('POST /api/fields:create', { body: { collectionName: 'posts', name: 'gone', type: 'string' } });
      await one.subscribe('a', 'posts', { filter: { gone: null } });
      await server.data('POST /api/fields:destroy', { body: { collectionName: 'posts', name: 'gone' } });
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({ id: 'a', code: 'FIELD_UNKNOWN' });
    });
  });

  describe('requests that are none', () => {
    test('other upgrades are answered as the requests that they are', async () => {
      const { socket } = await raw();
      socket.terminate();
      const other = new WebSocket(`${server.running.url.replace('http', 'ws')}/api/posts:list`);
      const status = await new Promise((resolve) => {
        other.on('unexpected-response', (_, response) => resolve(response.statusCode));
        other.on('error', () => {});
      });
      expect(status).toBe(401);
    });

    test('without an upgrade and without Accept it is a 400', async () => {
      const reply = await server.call('GET /api/realtime?resource=posts');
      expect([reply.status, reply.body.code]).toEqual([400, 'HEADER_INVALID']);
    });
  });

  describe('Server-Sent Events', () => {
    const listen = async (query: string, as = 'admin', headers: Record<string, string> = {}): Promise<Stream> => {
      const reply = await fetch(`${server.running.url}/api/realtime?${query}`, {
        headers: { accept: 'text/event-stream', authorization: `Bearer ${server.tokens.get(as) ?? as}`, ...headers },
      });
      return new Stream(reply);
    };

    test('are the same events, and go on from the last one', async () => {
      const stream = await listen('resource=posts&filter={"open":true}&values=true');
      expect(stream.reply.headers.get('content-type')).toContain('text/event-stream');
      expect(await stream.next()).toMatchObject({ event: 'subscribed', data: { cursor: expect.any(String) } });
      const post = await make({ title: 'streamed', open: true });
      const told = await stream.next();
      expect(told).toMatchObject({ event: 'event', data: { name: 'posts.created', tk: String(post.id) } });
      expect(told.data.record.title).toBe('streamed');
      expect(told.id).toBe(told.data.cursor);
      await stream.cancel();
      const later = await make({ title: 'later', open: true });
      const again = await listen('resource=posts', 'admin', { 'last-event-id': told.id });
      expect(await again.next()).toMatchObject({ event: 'subscribed' });
      expect((await again.next()).data.tk).toBe(String(later.id));
      await again.cancel();
    });

    test('are refused like a get', async () => {
      for (const [query, as, status] of [
        ['resource=secrets', 'clerk', 403],
        ['resource=posts', 'tbk_nothing', 401],
        ['resource=posts&since=abc', 'admin', 400],
        ['resource=posts&more=1', 'admin', 400],
        ['', 'admin', 400],
        ['resource=posts&filter={', 'admin', 400],
      ] as const) {
        const { reply } = await listen(query, as);
        expect([query, reply.status]).toEqual([query, status]);
        expect(Object.keys((await reply.json()) as object)).toEqual(
          expect.arrayContaining(['error', 'message', 'code']),
        );
      }
    });

    test('end when the key is destroyed', async () => {
      const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'clerk' } } });
      const stream = await listen('resource=posts', key.token);
      await stream.next();
      await server.data(`POST /api/apiKeys:destroy?filterByTk=${key.id}`);
      expect(await stream.next()).toMatchObject({ event: 'error', data: { error: 'Unauthorized' } });
      expect(await stream.next()).toBeNull();
    });

    test('of what public may get need no credential', async () => {
      const before = await fetch(`${server.running.url}/api/realtime?resource=posts`, {
        headers: { accept: 'text/event-stream' },
      });
      expect(before.status).toBe(401);
      const permission = await server.data('POST /api/permissions:create', {
        body: { role: 'public', resource: 'posts', actions: ['get'], filter: { open: true } },
      });
      const stream = new Stream(
        await fetch(`${server.running.url}/api/realtime?resource=posts`, { headers: { accept: 'text/event-stream' } }),
      );
      await stream.next();
      await make({ title: 'hidden', open: false });
      const post = await make({ title: 'shown', open: true });
      expect((await stream.next()).data.tk).toBe(String(post.id));
      await server.data(`POST /api/permissions:destroy?filterByTk=${permission.id}`);
      expect(await stream.next()).toMatchObject({ event: 'error' });
      await stream.cancel();
    });
  });

  test('an application with a socket stays open; stopped, it closes with 1012', async () => {
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
    const one = await SocketClient.as(server, token, 'shop');
    await one.subscribe('a', '*');
    const begun = performance.now();
    await server.data('POST /api/applications:stop?filterByTk=shop');
    expect(await one.end()).toBe(1012);
    expect(performance.now() - begun).toBeLessThan(5000);
  });

  test('a stop of the server closes with 1012, and a cursor goes on where it ended', async () => {
    const one = await client();
    const { cursor } = await one.subscribe('a', 'posts');
    const begun = performance.now();
    await server.running.stop();
    expect(await one.end()).toBe(1012);
    expect(performance.now() - begun).toBeLessThan(8000);
    await server.boot();
    await server.key('clerk');
    const post = await make({ title: 'after' });
    const again = await client();
    await again.subscribe('a', 'posts', { since: cursor });
    expect(names(await again.events('a', 1))).toEqual([`posts.created ${post.id}`]);
  });
});

/** Reads a stream of events, message by message. */
class Stream {
  readonly reply: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | null;
  #text = '';

  constructor(reply: Response) {
    this.reply = reply;
    this.#reader = reply.status === 200 ? reply.body!.getReader() : null;
  }

  /** The next message; null at the end. */
  async next(): Promise<Json> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2)));
        if (fields['data']) return { ...fields, data: JSON.parse(fields['data']) };
        continue;
      }
      const { done, value } = await this.#reader!.read();
      if (done) return null;
      this.#text += Buffer.from(value).toString();
    }
  }

  cancel(): Promise<void> {
    return this.#reader!.cancel();
  }
}
