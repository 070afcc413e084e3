/**
 * A PostgreSQL that disconnects, refuses connections, is full or does not reply: requests end in time with 503, and the
 * server continues when PostgreSQL is available again.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { startServer } from '../../src/server.ts';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { describeEngines, type Engine, type Store } from '../support/engines.ts';
import { EventStream } from '../support/event-stream.ts';
import { type Reply, TestServer } from '../support/scenario.ts';
import { serverSettings } from '../support/server-settings.ts';

const unavailable = { status: 503, code: 'DATABASE_UNAVAILABLE', retryAfter: '2' };
const told = ({ status, body, headers }: Reply): unknown => ({
  status,
  code: body?.code,
  retryAfter: headers.get('retry-after'),
});
const reachedBy = ({ name }: Engine, store: Store, databaseUrl: string): Engine => ({
  name,
  store: async () => ({ ...store, databaseUrl, remove: async () => {} }),
});

describeEngines('a database outage', (engine) => {
  if (engine.name === 'sqlite') {
    test('one process serves a SQLite file', () => expect(engine.name).toBe('sqlite'));
    return;
  }
  let store: Store;
  let proxy: DatabaseProxy;
  let server: TestServer;
  beforeAll(async () => {
    store = await engine.store(true);
    proxy = await DatabaseProxy.start(store.databaseUrl!);
    server = await TestServer.start(reachedBy(engine, store, proxy.url));
    const body = { name: 'items', fields: [{ name: 'n', type: 'integer' }] };
    await server.data('POST /api/collections:create', { body });
    await server.data('POST /api/items:create', { body: [{ n: 1 }, { n: 2 }] });
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
  });
  afterAll(async () => {
    await server.stop();
    proxy.stop();
    await store.remove();
  });

  /** Sends a request without the checks of `call`, which also query the database. */
  async function ask(request: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const [method, path] = request.split(/ (.*)/) as [string, string];
    const response = await fetch(server.running.url + encodeURI(path), {
      method,
      headers: {
        authorization: `Bearer ${server.tokens.get('admin')}`,
        'content-type': 'application/json',
        ...headers,
      },
      ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) };
  }

  const listen = (): Promise<Response> =>
    fetch(`${server.running.url}/api/realtime?resource=items`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${server.tokens.get('admin')}` },
    });

  async function administer(statement: string): Promise<void> {
    const client = new pg.Client({ connectionString: store.databaseUrl! });
    await client.connect();
    await client.query(statement).finally(() => client.end());
  }

  let stream: EventStream;
  test('a connection that breaks while a store is opened or dropped does not end the process', async () => {
    const cutAt = (part: string): void => {
      proxy.onRequest = (text, connection) => {
        if (!text.includes(part)) return;
        proxy.onRequest = null;
        connection.cut();
      };
    };
    stream = new EventStream(await listen());
    // The proxy is only in front of the coordinator of a Citus cluster, and stores are opened on other nodes.
    if (inject('clusterNodes') !== null) return;
    await server.data('POST /api/applications:stop?filterByTk=shop');
    cutAt('server_encoding');
    expect(told(await ask('POST /api/applications:start?filterByTk=shop'))).toEqual(unavailable);
    await server.data('POST /api/applications:start?filterByTk=shop');
    cutAt('FROM pg_tables WHERE schemaname=$1');
    expect(told(await ask('POST /api/applications:destroy?filterByTk=shop&confirm=shop'))).toEqual(unavailable);
    expect((await ask('GET /api/items:list')).status).toBe(200);
  });

  test('refused connections are answered with 503, and requests succeed as soon as connections are accepted again', async () => {
    proxy.refuse();
    const filter = JSON.stringify({ n: { $gt: 0 } });
    const replies = await Promise.all([
      ask('GET /api/items:list'),
      ask('GET /api/items:get?filterByTk=1'),
      ask('POST /api/items:create', { n: 3 }),
      ask('POST /api/items:update?filterByTk=1', { n: 3 }),
      ask(`POST /api/items:update?filter=${filter}`, { n: 3 }),
      ask(`POST /api/items:destroy?filter=${filter}`),
      ask('POST /api/fields:create', { collectionName: 'items', name: 'm', type: 'string' }),
      ask('POST /api/auth:signIn', { email: 'root@example.com', password: 'correct horse battery' }),
      ask('POST /api/users:create', { email: 'ann@example.com' }),
    ]);
    expect(replies.map(told)).toEqual(replies.map(() => unavailable));
    await proxy.accept();
    expect((await ask('GET /api/items:list?fields=id,n')).body.data).toEqual([
      { id: 1, n: 1 },
      { id: 2, n: 2 },
    ]);
    expect((await ask('POST /api/items:create', { n: 3 })).status).toBe(200);
  });

  test('a write whose COMMIT gets no reply is answered with 500, and a retry with its Idempotency-Key does not repeat it', async () => {
    const headers = { 'idempotency-key': 'lost-commit' };
    proxy.onRequest = (text, connection) => {
      if (!text.includes('COMMIT')) return;
      proxy.onRequest = null;
      connection.loseAnswer();
    };
    const lost = await ask('POST /api/items:create', { n: 40 }, headers);
    expect(told(lost)).toEqual({ status: 500, code: 'APPLICATION_FAILED', retryAfter: null });
    expect((await ask('POST /api/items:create', { n: 40 }, headers)).status).toBe(200);
    proxy.onRequest = (text, connection) => {
      if (!text.includes('INSERT INTO "items')) return;
      proxy.onRequest = null;
      connection.loseAnswer();
    };
    const alone = await ask('POST /api/items:create', { n: 41 });
    expect(told(alone)).toEqual({ status: 500, code: 'APPLICATION_FAILED', retryAfter: null });
    const filter = JSON.stringify({ n: { $gte: 40 } });
    expect((await ask(`GET /api/items:list?filter=${filter}&fields=n`)).body.data).toEqual([{ n: 40 }, { n: 41 }]);
  });

  test('requests wait for a connection if PostgreSQL allows only a few', async () => {
    await administer('CREATE ROLE few LOGIN CONNECTION LIMIT 4; GRANT postgres TO few');
    const url = Object.assign(new URL(store.databaseUrl!), { username: 'few' }).href;
    const small = await TestServer.start(reachedBy(engine, store, url));
    try {
      const token = small.tokens.get('admin');
      const burst = async (): Promise<number[]> =>
        Promise.all(
          Array.from({ length: 40 }, async (_, n) => {
            const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
            const init = n % 2 === 0 ? {} : { method: 'POST', body: JSON.stringify({ n }) };
            const action = n % 2 === 0 ? 'list' : 'create';
            const reply = await fetch(`${small.running.url}/api/items:${action}`, { headers, ...init });
            await reply.text();
            return reply.status;
          }),
        );
      expect(new Set(await burst())).toEqual(new Set([200]));
      // Other servers use the connections that were free, which this server does not know in advance.
      // One of the connections belongs to the coordination of the servers.
      await administer('ALTER ROLE few CONNECTION LIMIT 2');
      await administer(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename='few' ORDER BY backend_start DESC LIMIT 2",
      );
      expect(new Set(await burst())).toEqual(new Set([200]));
    } finally {
      await small.stop();
      await administer('DROP ROLE few');
    }
  });

  test('a start waits for PostgreSQL for the configured time, and then reports why it ends', async () => {
    const other = await DatabaseProxy.start(store.databaseUrl!);
    const started = (seconds: string): ReturnType<typeof startServer> =>
      startServer({
        config: readConfig({
          ...serverSettings,
          DATA_DIR: store.dataDir,
          DATABASE_URL: other.url,
          DATABASE_WAIT_SECONDS: seconds,
        }),
      });
    other.refuse();
    await expect(started('0')).rejects.toThrow('ECONNREFUSED');
    const waiting = started('60');
    await new Promise((resolve) => setTimeout(resolve, 50));
    await other.accept();
    await (await waiting).stop();
    other.silence();
    await expect(started('0')).rejects.toThrow('timeout');
    other.stop();
  }, 30_000);

  test('a database that does not reply does not delay a request for long', async () => {
    expect((await ask('GET /api/items:list')).status).toBe(200);
    proxy.silence();
    const began = performance.now();
    const replies = await Promise.all([
      ask('GET /api/items:list'),
      ask('POST /api/items:update?filter={"n":1}', { n: 1 }),
      ask('POST /api/fields:create', { collectionName: 'items', name: 'm', type: 'string' }),
    ]);
    expect(replies.map(told)).toEqual(replies.map(() => unavailable));
    expect(performance.now() - began).toBeLessThan(20_000);
    proxy.speak();
    const made = await ask('POST /api/items:create', { n: 50 });
    expect(made.status).toBe(200);
    // A stream that stayed open has received the events of all these writes.
    const names: string[] = [];
    for (let tk = ''; tk !== String(made.body.data.id); ) {
      const { data } = await stream.next();
      names.push(data.name);
      tk = data.tk;
    }
    expect(names.filter((name) => name === 'items.created')).toHaveLength(1 + 2 + 40 + 1);
    await stream.cancel();
  }, 60_000);
});
