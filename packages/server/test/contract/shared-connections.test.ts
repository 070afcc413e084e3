/** Applications share the connections to their PostgreSQL, but cannot see each other's data. */
import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { type Database, DatabaseFault, type Row } from '../../src/database/database.ts';
import { ConnectionBudget } from '../../src/database/postgres/connection-budget.ts';
import { ConnectionPool } from '../../src/database/postgres/connection-pool.ts';
import { openPostgres } from '../../src/database/postgres/postgres-open.ts';
import type { SharedConnection } from '../../src/database/postgres/shared-connection.ts';
import { DatabaseProxy, type ProxiedConnection } from '../support/database-proxy.ts';
import { describeEngines, type Store } from '../support/engines.ts';
import { findOpenApplication } from '../support/open-application.ts';
import { queryDatabase } from '../support/query-database.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('shared connections', (engine) => {
  if (engine.name === 'sqlite') {
    test('SQLite has no connections to share', () => expect(engine.name).toBe('sqlite'));
    return;
  }
  let store: Store;
  let url: string;
  beforeAll(async () => {
    store = await engine.store();
    url = store.databaseUrl!;
  });
  afterAll(() => store.remove());

  const settings = inject('clusterNodes') === null ? null : '-c citus.enable_schema_based_sharding=off';
  const makeBudget = (size: number): ConnectionBudget => new ConnectionBudget(size, settings);
  const open = (schema: string, budget: ConnectionBudget, poolSize = 4): Promise<Database> =>
    openPostgres({ url, schema, budget, poolSize, requireDurable: false }, true);
  const run = async (database: Database, text: string, values: unknown[] = []): Promise<Row[]> =>
    (await database.read([{ text, values }]))[0]!;
  /** The number of connections, without those of Citus itself. */
  const isClient =
    "datname=current_database() AND backend_type='client backend' AND application_name NOT LIKE 'citus%'";
  const countConnections = async (): Promise<number> => {
    const text = `SELECT count(*)::int AS number FROM pg_stat_activity WHERE ${isClient} AND pid<>pg_backend_pid()`;
    const [row] = await queryDatabase(url, text);
    return row!.number as number;
  };

  test('applications only see their own rows, whatever runs at the same time', async () => {
    const connections = 5;
    const budget = makeBudget(connections);
    const names = Array.from({ length: 24 }, (_, number) => `stress_${number}`);
    const databases = await Promise.all(names.map((name) => open(name, budget)));
    for (const [index, database] of databases.entries())
      await database.writeOne({ text: `CREATE TABLE t AS SELECT '${names[index]}' AS owner, 0 AS n`, values: [] }, []);
    const added = names.map(() => 0);
    let most = 0;
    const insert = 'INSERT INTO t SELECT current_schema()::text,$1::int4';
    const select = 'SELECT owner,current_schema()::text FROM t WHERE n>=$1::int4 GROUP BY owner';
    const steps = [
      async (database: Database, name: string) => expect(await run(database, select, [0])).toEqual([[name, name]]),
      async (database: Database, _: string, index: number) => {
        await database.writeOne({ text: insert, values: [1] }, []);
        added[index]! += 1;
      },
      async (database: Database, name: string, index: number) => {
        await database.write(async (transaction) => {
          await transaction.run({ text: insert, values: [2] });
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
          expect(await transaction.run({ text: select, values: [0] })).toEqual([[name, name]]);
        });
        added[index]! += 1;
      },
      async (database: Database) => {
        const failing = database.write(async (transaction) => {
          await transaction.run({ text: insert, values: [3] });
          await transaction.run({ text: 'SELECT 1/0', values: [] });
        });
        await expect(failing).rejects.toThrow('division by zero');
      },
      async (database: Database) => {
        most = Math.max(most, await countOpen(database));
      },
    ];
    const countOpen = async (database: Database): Promise<number> => {
      const text = `SELECT count(*)::int4 FROM pg_stat_activity WHERE ${isClient}`;
      return Number((await run(database, text))[0]![0]);
    };
    const work = async (): Promise<void> => {
      for (let count = 0; count < 60; count += 1) {
        const index = Math.floor(Math.random() * names.length);
        const step = steps[Math.floor(Math.random() * steps.length)]!;
        await step(databases[index]!, names[index]!, index);
      }
    };
    await Promise.all(Array.from({ length: 30 }, work));
    for (const [index, database] of databases.entries())
      expect(await run(database, 'SELECT DISTINCT owner,(SELECT count(*)::int4 FROM t) FROM t')).toEqual([
        [names[index], added[index]! + 1],
      ]);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(connections);
    await Promise.all(databases.map((database) => database.close()));
    await expect.poll(countConnections).toBe(0);
  });

  const makePool = (schema: string, budget: ConnectionBudget, size = 4): ConnectionPool =>
    new ConnectionPool({ url, schema, size, hasReserve: false, budget });
  const pidOf = ({ client }: SharedConnection): unknown => (client as pg.Client & { processID?: number }).processID;

  test('short statements that begin at the same time share few connections', async () => {
    const budget = makeBudget(20);
    const database = await open('crowd', budget, 20);
    await Promise.all(Array.from({ length: 40 }, (_, n) => run(database, 'SELECT $1::int4', [n])));
    expect(await countConnections()).toBeLessThanOrEqual(10);
    const long = Array.from({ length: 8 }, () => run(database, 'SELECT pg_sleep(0.7)::text'));
    await expect.poll(countConnections, { timeout: 650, interval: 20 }).toBeGreaterThanOrEqual(8);
    await Promise.all(long);
    await database.close();
  });

  test('a request gets the connection that becomes free first, and one that cannot be opened hardly delays other requests', async () => {
    const proxy = await DatabaseProxy.start(url);
    const budget = makeBudget(4);
    const pool = new ConnectionPool({ url: proxy.url, schema: 'public', size: 2, hasReserve: false, budget });
    const first = await pool.acquire();
    proxy.silenceNew();
    const silent = Promise.withResolvers<ProxiedConnection>();
    proxy.onRequest = (_, connection) => silent.resolve(connection);
    const second = pool.acquire();
    pool.release(first, false);
    expect(await second).toBe(first);
    const hanging = await silent.promise;
    proxy.speak();
    const started = performance.now();
    const third = await pool.acquire();
    expect(third).not.toBe(first);
    expect(performance.now() - started).toBeLessThan(2000);
    // If the connection that was opened for the second request fails, other requests do not fail.
    const fourth = pool.acquire();
    hanging.cut();
    await pause(50);
    pool.release(third, false);
    expect(await fourth).toBe(third);
    for (const each of [first, third]) pool.release(each, false);
    await pool.close();
    proxy.stop();
  });

  test('a connection that was opened for a request is used by it before its slot is given to something else', async () => {
    const budget = makeBudget(1);
    const pool = makePool('public', budget);
    const request = pool.acquire();
    const client = new budget.client({ connectionString: url });
    const order: string[] = [];
    const connected = client.connect().then(() => order.push('client'));
    const connection = await request;
    order.push('request');
    pool.release(connection, false);
    await connected;
    expect(order).toEqual(['request', 'client']);
    await client.end();
    await pool.close();
  });

  test('a connection is handed over without its session state', async () => {
    const budget = makeBudget(1);
    const [first, second] = [makePool('pg_catalog', budget), makePool('information_schema', budget)];
    const connection = await first.acquire();
    const pid = pidOf(connection);
    const { client } = connection;
    for (const text of [
      "SET statement_timeout='77s'",
      "SET timezone='Asia/Tokyo'",
      'CREATE TEMP TABLE secrets AS SELECT 1 AS n',
      'DECLARE leaking CURSOR WITH HOLD FOR SELECT 1',
      'SELECT pg_advisory_lock(4711)',
      'LISTEN leaking',
      'CREATE TEMP SEQUENCE numbers',
      "SELECT nextval('numbers')",
    ])
      await client.query(text);
    await client.query({ name: 'leaking', text: 'SELECT current_schema()::text AS schema' });
    first.release(connection, false);

    const next = await second.acquire();
    expect(pidOf(next)).toBe(pid);
    const read = async (text: string): Promise<unknown[]> =>
      (await next.client.query({ text, rowMode: 'array' })).rows.flat();
    expect(await read('SHOW statement_timeout')).toEqual(['5s']);
    expect(await read('SHOW timezone')).toEqual(['UTC']);
    expect(await read('SHOW default_transaction_isolation')).toEqual(['repeatable read']);
    expect(await read('SHOW search_path')).toEqual(['information_schema']);
    expect(
      await read("SELECT relname FROM pg_class WHERE relpersistence='t' AND relnamespace=pg_my_temp_schema()"),
    ).toEqual([]);
    expect(await read('SELECT name FROM pg_cursors')).toEqual([]);
    expect(await read('SELECT name FROM pg_prepared_statements')).toEqual([]);
    expect(await read('SELECT pg_listening_channels()')).toEqual([]);
    expect(await read("SELECT objid FROM pg_locks WHERE locktype='advisory' AND pid=pg_backend_pid()")).toEqual([]);
    await expect(read('SELECT lastval()')).rejects.toThrow('lastval is not yet defined');
    // The driver has also forgotten the name of the prepared statement.
    const again = await next.client.query({ name: 'leaking', text: 'SELECT current_schema()::text AS schema' });
    expect(again.rows).toEqual([{ schema: 'information_schema' }]);
    second.release(next, false);
    await Promise.all([first.close(), second.close()]);
  });

  test('a connection with an open transaction is closed', async () => {
    const budget = makeBudget(1);
    const [first, second] = [makePool('pg_catalog', budget), makePool('information_schema', budget)];
    for (const statements of [['BEGIN'], ['BEGIN', 'SELECT 1/0']]) {
      const connection = await first.acquire();
      for (const each of statements) await connection.client.query(each).catch(() => {});
      first.release(connection, false);
      const next = await second.acquire();
      expect(pidOf(next)).not.toBe(pidOf(connection));
      second.release(next, false);
    }
    await Promise.all([first.close(), second.close()]);
  });

  test('a statement of a transaction that has ended is not run', async () => {
    const database = await open('late', makeBudget(2));
    let late = (): Promise<unknown> => Promise.reject(new Error('There is no transaction.'));
    const statement = { text: 'SELECT 1', values: [] };
    await database.write(async ({ run: runIn }) => {
      late = () => runIn(statement);
    });
    await expect(late()).rejects.toThrow('has ended');
    const failed = database.write(async ({ run: runIn }) => {
      late = () => runIn(statement);
      throw new Error('given up');
    });
    await expect(failed).rejects.toThrow('given up');
    await expect(late()).rejects.toThrow('has ended');
    await database.close();
  });

  test('an application keeps its connection while it uses it, and other applications get an idle one', async () => {
    const budget = makeBudget(3);
    const [busy, calm, other] = [1, 2, 3].map((number) => makePool(`affinity_${number}`, budget)) as [
      ConnectionPool,
      ConnectionPool,
      ConnectionPool,
    ];
    const use = async (pool: ConnectionPool): Promise<unknown> => {
      const connection = await pool.acquire();
      pool.release(connection, false);
      return pidOf(connection);
    };
    const ofBusy = await use(busy);
    const ofCalm = await use(calm);
    expect(ofCalm).not.toBe(ofBusy);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await use(busy)).toBe(ofBusy);
    expect(await use(other)).toBe(ofCalm);
    expect(await use(busy)).toBe(ofBusy);
    expect(budget.free).toBe(1);
    for (const each of [busy, calm, other]) await each.close();
  });

  test('waiting applications take turns in getting connections', async () => {
    const budget = makeBudget(1);
    const [many, one] = [makePool('turn_1', budget), makePool('turn_2', budget)];
    const order: string[] = [];
    const use = async (pool: ConnectionPool, name: string): Promise<void> => {
      const connection = await pool.acquire();
      order.push(name);
      await connection.client.query('SELECT 1');
      pool.release(connection, false);
    };
    const uses = Array.from({ length: 20 }, () => use(many, 'many'));
    await Promise.all([...uses, use(one, 'one')]);
    expect(order.indexOf('one')).toBeLessThan(3);
    for (const each of [many, one]) await each.close();
  });

  test('lost connections are replaced, and requests do not wait for idle connections', async () => {
    const budget = makeBudget(2);
    const database = await open('lost', budget);
    expect(await Promise.all([run(database, 'SELECT 1'), run(database, 'SELECT 2')])).toEqual([[[1]], [[2]]]);
    const where = 'datname=current_database() AND pid<>pg_backend_pid()';
    await queryDatabase(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${where}`);
    await expect.poll(() => budget.free).toBe(2);
    expect(await Promise.all([run(database, 'SELECT 1'), run(database, 'SELECT 2')])).toEqual([[[1]], [[2]]]);
    expect(budget.free).toBe(0);
    const client = new budget.client({ connectionString: url });
    const startedAt = performance.now();
    await client.connect();
    expect(performance.now() - startedAt).toBeLessThan(5000);
    await client.end();
    await database.close();
  });

  test('a PostgreSQL that refuses all connections is only tried again from time to time', async () => {
    await queryDatabase(url, 'CREATE ROLE tablinum_refused LOGIN CONNECTION LIMIT 0');
    const connect = vi.spyOn(Socket.prototype, 'connect');
    try {
      const budget = makeBudget(5);
      const limited = Object.assign(new URL(url), { username: 'tablinum_refused' }).href;
      const pool = new ConnectionPool({ url: limited, schema: 'refused', size: 4, hasReserve: false, budget });
      const refused = [1, 2, 3].map(() => expect(pool.acquire()).rejects.toThrow(DatabaseFault));
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await pool.close();
      await Promise.all(refused);
      // Three attempts at first, then one every 100 to 200 milliseconds; other tests may use sockets too.
      expect(connect.mock.calls.length).toBeLessThan(40);
    } finally {
      connect.mockRestore();
      await queryDatabase(url, 'DROP ROLE tablinum_refused');
    }
  });

  test('closing waits for a transaction, and requests that wait fail', async () => {
    const database = await open('closing', makeBudget(2), 1);
    const inside = Promise.withResolvers<void>();
    const written = database.write(async (transaction) => {
      inside.resolve();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return transaction.run({ text: 'SELECT 7', values: [] });
    });
    await inside.promise;
    const waiting = run(database, 'SELECT 1');
    const refused = expect(waiting).rejects.toThrow(DatabaseFault);
    await database.close();
    await refused;
    expect(await written).toEqual([[7]]);
    await expect(run(database, 'SELECT 1')).rejects.toMatchObject({ kind: 'unavailable' });
    await expect.poll(countConnections).toBe(0);
  });

  test('an application that is not used has no connection, and runs few statements', async () => {
    const server = await TestServer.start(engine);
    try {
      await server.data('POST /api/applications:create', { body: { name: 'idle' } });
      await server.data('POST /api/applications:enter?filterByTk=idle', { body: {} });
      const database = findOpenApplication(server.running, 'idle')!.database;
      await new Promise((resolve) => setTimeout(resolve, 2500)); // until the background work of the start has ended
      const read = vi.spyOn(database, 'read');
      await new Promise((resolve) => setTimeout(resolve, 8000));
      // Each kind of background work runs every half a minute. An earlier version looked for mail every two seconds,
      // with four statements.
      const texts = read.mock.calls.flatMap(([statements]) => statements.map(({ text }) => text));
      expect(texts.filter((text) => /mailOutbox|mailCampaigns/.test(text))).toEqual([]);
      expect(texts.length).toBeLessThan(16);
    } finally {
      await server.stop();
    }
  });

  test('a server with three connections serves many applications at the same time', async () => {
    const server = await TestServer.start(engine, { env: { DATABASE_CONNECTIONS: '3' } });
    try {
      const names = Array.from({ length: 8 }, (_, number) => `app${number}`);
      const app = (name: string): { headers: Record<string, string> } => ({ headers: { 'x-app': name } });
      for (const name of names) {
        await server.data('POST /api/applications:create', { body: { name } });
        const { token } = await server.data(`POST /api/applications:enter?filterByTk=${name}`, { body: {} });
        server.tokens.set(name, token);
      }
      const each = (work: (name: string, number: number) => Promise<unknown>): Promise<unknown[]> =>
        Promise.all(names.map(work));
      const body = { name: 'notes', fields: [{ name: 'n', type: 'integer' }] };
      await each((as) => server.data('POST /api/collections:create', { as, body, ...app(as) }));
      for (let round = 0; round < 5; round += 1)
        await each((as, n) => server.data('POST /api/notes:create', { as, body: { n }, ...app(as) }));
      const found = await each((as) => server.data('GET /api/notes:list?fields=n', { as, ...app(as) }));
      expect(found).toEqual(names.map((_, n) => Array.from({ length: 5 }, () => ({ n }))));
      // Opening all applications again at the same time takes many locks and connections.
      for (const name of names) await server.data(`POST /api/applications:stop?filterByTk=${name}`);
      await each((name) => server.data(`POST /api/applications:start?filterByTk=${name}`));
      await each((as) => server.data('GET /api/notes:list', { as, ...app(as) }));
    } finally {
      await server.stop();
    }
  });
});
