/**
 * Builds of search indexes that are interrupted, refused or superseded by changes: searches always return what a scan
 * would return.
 */
import pg from 'pg';
import { describe, expect, inject, test, vi } from 'vitest';
import { describeEngines, type Engine, postgres, type Store, shareStore } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';

const words = [
  'needle',
  'straße',
  'ΟΔΟΣ',
  'İstanbul',
  'x" AND "y',
  'NEAR(a b)',
  'col:umn*',
  '-not',
  '100%_\\',
  'e\u0301te\u0301',
];
const needles = [...words, 'STRASSE', 'οδος', "''' --", '%_\\', 'edl', '"'];
const records = 1000;

/** Sends a request with the rights of an administrator. */
type Send = (action: string, body?: unknown) => Promise<{ readonly status: number; readonly text: string }>;

function sendTo(server: ServerProcess | TestServer): Send {
  if (server instanceof TestServer) return (action, body) => server.call(`POST /api/${action}`, { body });
  return async (action, body) => {
    const reply = await server.call(action, body);
    return { status: reply!.status, text: await reply!.text() };
  };
}

/** Two collections with the same records, one of which gets a search index. */
class Pair {
  /** The name of the searched field. */
  field = 'title';
  readonly send: Send;

  constructor(server: ServerProcess | TestServer) {
    this.send = sendTo(server);
  }

  async data(action: string, body?: unknown): Promise<Json> {
    const { status, text } = await this.send(action, body);
    expect(status, `${action} ${text}`).toBe(200);
    return JSON.parse(text).data;
  }

  async both(action: (name: string) => Promise<unknown>): Promise<void> {
    for (const name of ['scanned', 'indexed']) await action(name);
  }

  /**
   * Creates the records. On SQLite they have long texts, so that a build takes some time; on PostgreSQL, {@link
   * holdBuilds} does that.
   */
  async fill({ databaseUrl }: Store): Promise<void> {
    const parts = databaseUrl === null ? 150 : 3;
    const fields = [{ name: 'title', type: 'text' }];
    await this.both((name) => this.data('collections:create', { name, fields, options: { timestamps: false } }));
    const rows = Array.from({ length: records }, (_, index) => ({ title: makeText(index, parts) }));
    await this.both((name) => this.data(`${name}:create`, rows));
  }

  switchOn(): Promise<Json> {
    return this.data('collections:update?filterByTk=indexed', { options: { search: [this.field] } });
  }

  switchOff(): Promise<Json> {
    return this.data('collections:update?filterByTk=indexed', { options: { search: [] } });
  }

  async readReport(): Promise<{ readonly state: string; readonly done?: number; readonly problem?: string }> {
    return (await this.data('collections:get?filterByTk=indexed')).searchIndexes?.[0] ?? { state: 'none' };
  }

  waitFor(state: string): Promise<void> {
    return vi.waitFor(async () => expect((await this.readReport()).state).toBe(state), {
      timeout: 20_000,
      interval: 50,
    });
  }

  /** Updates, deletes and creates the same records in both collections. */
  async write(round: number): Promise<void> {
    await this.both(async (name) => {
      await this.data(`${name}:update?filterByTk=${1 + round}`, { [this.field]: `written needle ${round}` });
      await this.data(`${name}:update?filterByTk=${records - 300 - round}`, { [this.field]: `Written late ${round}` });
      await this.data(`${name}:destroy?filterByTk=${records - round}`);
      await this.data(`${name}:create`, { [this.field]: `created needle ${round}` });
    });
  }

  /** Expects that both collections answer with the same bytes. */
  async compare(...texts: readonly string[]): Promise<void> {
    for (const text of texts)
      for (const condition of [{ $includes: text }, { $like: `%${text.replace(/[\\%_]/g, '\\$&')}%` }]) {
        const replies: string[] = [];
        await this.both(async (name) => {
          const list = { filter: { [this.field]: condition }, pageSize: 50, count: 'exact' };
          const reply = await this.send(`${name}:list`, list);
          replies.push(`${reply.status} ${reply.text.replace(/"(requestId|nextCursor)":"[^"]*"/g, '')}`);
        });
        expect(replies[1], JSON.stringify(condition)).toBe(replies[0]);
        expect(replies[0]).toMatch(/^200 /);
      }
  }
}

function makeText(index: number, parts: number): string {
  const word = index % 20 === 0 ? words[(index / 20) % words.length] : '';
  const filler = Array.from({ length: parts }, (_, part) => `${(index + 7) * (part + 3)}`);
  return `${filler.join(' ')} ${word} end`;
}

const query = async (store: Store, text: string): Promise<Json[]> => {
  const client = new pg.Client({ connectionString: store.databaseUrl! });
  await client.connect();
  return (await client.query(text).finally(() => client.end())).rows;
};
const listBuilds = (store: Store): Promise<Json[]> =>
  query(store, `SELECT index_relid AS id,phase FROM pg_stat_progress_create_index WHERE datname=current_database()`);
const listIndexes = (store: Store): Promise<Json[]> =>
  query(
    store,
    `SELECT indexrelid AS id,indisvalid AS valid FROM pg_index WHERE indexrelid::regclass::text ~ '_sx[0-9]'`,
  );

/**
 * Delays builds on PostgreSQL: a build waits for older transactions at its end, so it runs until the returned function
 * is called.
 */
async function holdBuilds({ databaseUrl }: Store): Promise<() => Promise<void>> {
  if (databaseUrl === null) return async () => {};
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT 1');
  return () => client.end();
}

/** Waits until a build is under way: on PostgreSQL, until it waits for older transactions. */
async function waitForBuild(pair: Pair, store: Store): Promise<void> {
  if (store.databaseUrl === null)
    await vi.waitFor(async () => expect((await pair.readReport()).done).not.toBe(0), { interval: 5 });
  else
    await expect
      .poll(async () => (await listBuilds(store)).map(({ phase }) => phase), { timeout: 10_000 })
      .toEqual(['waiting for old snapshots']);
}

/** Expects that the work takes at most three seconds: a change does not wait for a build. */
async function promptly(work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await work();
  expect(performance.now() - startedAt).toBeLessThan(3000);
}

describeEngines('builds of search indexes', (engine) => {
  test('continue after kill -9 from where they were interrupted', { timeout: 60_000 }, async () => {
    const store = await engine.store(true);
    const first = await ServerProcess.start(store);
    let pair = new Pair(first);
    await pair.fill(store);
    const release = await holdBuilds(store);
    await pair.switchOn();
    await waitForBuild(pair, store);
    expect((await pair.readReport()).state).toBe('building');
    await pair.write(0);
    await pair.compare('needle');
    const [before] = engine.name === 'postgres' ? await listBuilds(store) : [await pair.readReport()];
    await first.kill();
    const second = await ServerProcess.start(store);
    pair = new Pair(second);
    const { state, done } = await pair.readReport();
    expect(state === 'ready' || done! >= (before.done ?? 0)).toBe(true);
    await pair.write(1);
    await pair.compare('needle', 'written');
    if (engine.name === 'postgres') expect(await listBuilds(store)).toMatchObject([{ id: before.id }]);
    await release();
    for (let round = 2; round < 100 && (await pair.readReport()).state !== 'ready'; round += 1) await pair.write(round);
    await pair.waitFor('ready');
    await pair.compare(...needles, 'written', 'created');
    if (engine.name === 'postgres') expect(await listIndexes(store)).toEqual([{ id: before.id, valid: true }]);
    await second.kill();
    await store.remove();
  });

  test('end when the server stops, and are repeated by the next one', { timeout: 60_000 }, async () => {
    const server = await TestServer.start(engine);
    const pair = new Pair(server);
    await pair.fill(server.store);
    const release = await holdBuilds(server.store);
    await pair.switchOn();
    await waitForBuild(pair, server.store);
    await promptly(() => server.running.stop());
    if (engine.name === 'postgres') expect(await listBuilds(server.store)).toEqual([]);
    await release();
    await server.boot();
    const next = new Pair(server);
    await next.write(0);
    await next.waitFor('ready');
    await next.compare('needle', 'written', 'straße');
    if (engine.name === 'postgres') expect(await listIndexes(server.store)).toMatchObject([{ valid: true }]);
    await server.stop();
  });

  test('are stopped by changes of the definition, and neither these changes nor reads wait for them', {
    timeout: 60_000,
  }, async () => {
    const server = await TestServer.start(engine);
    const { store } = server;
    const pair = new Pair(server);
    await pair.fill(store);
    let release = await holdBuilds(store);
    const change = async (body: object): Promise<void> => {
      await waitForBuild(pair, store);
      const reading = pair.data('indexed:list?pageSize=1');
      await promptly(() =>
        Promise.all([
          pair.both((name) => pair.data(`collections/${name}/fields:update?filterByTk=${pair.field}`, body)),
          reading,
        ]),
      );
    };
    await pair.switchOn();
    await change({ newName: 'heading' });
    pair.field = 'heading';
    await pair.compare('needle');
    await change({ type: 'string' });
    await pair.write(0);
    await pair.compare('needle', 'written');
    await waitForBuild(pair, store);
    const notes = { name: 'notes', fields: [{ name: 'about', type: 'belongsTo', target: 'indexed' }] };
    await promptly(() => pair.data('collections:create', notes));
    await promptly(() => pair.data('collections:destroy?filterByTk=notes'));
    await waitForBuild(pair, store);
    await promptly(() => pair.switchOff());
    expect(await pair.readReport()).toEqual({ state: 'none' });
    await pair.switchOn();
    await release();
    await pair.waitFor('ready');
    await pair.write(1);
    await pair.compare(...needles, 'written', 'created');
    await pair.switchOff();
    release = await holdBuilds(store);
    await pair.switchOn();
    await waitForBuild(pair, store);
    await promptly(() => pair.data('collections:destroy?filterByTk=indexed'));
    await release();
    if (engine.name === 'postgres') await expect.poll(() => listIndexes(store)).toEqual([]);
    const [left] = await server.running.applications.main.database.read([
      { text: 'SELECT count(*) FROM _search_indexes', values: [] },
    ]);
    expect(Number(left![0]![0])).toBe(0);
    await server.stop();
  });

  test('that the engine refuses are reported and repeated, and searches use a scan', { timeout: 60_000 }, async () => {
    const server = await TestServer.start(engine);
    const pair = new Pair(server);
    await pair.fill(server.store);
    const allow = await refuseBuilds(server, engine);
    await pair.switchOn();
    const problem = expect.stringContaining('failed');
    await expect.poll(() => pair.readReport(), { timeout: 10_000 }).toMatchObject({ state: 'building', problem });
    await allow('half');
    await pair.write(0);
    await pair.compare('needle', 'written');
    await allow('all');
    // Each change of definitions checks for pending builds, as a timer does every minute.
    await pair.data('collections:create', { name: 'other', fields: [] });
    await pair.waitFor('ready');
    expect(await pair.readReport()).toEqual({ field: 'title', state: 'ready' });
    await pair.compare(...needles, 'written');
    await server.stop();
  });
});

/**
 * Makes the disk full for a build, or makes PostgreSQL refuse it.
 *
 * @returns a function that allows writes of records, or everything.
 */
async function refuseBuilds(server: TestServer, engine: Engine): Promise<(what: 'half' | 'all') => Promise<void>> {
  if (engine.name === 'postgres') {
    await query(
      server.store,
      `CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS
$$BEGIN IF current_query() ~ 'gin_trgm_ops' THEN RAISE EXCEPTION 'no space' USING ERRCODE='disk_full'; END IF; END$$;
CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION refuse()`,
    );
    return async (what) => void (what === 'all' && (await query(server.store, 'DROP EVENT TRIGGER refuse')));
  }
  // The limit only applies to the connection of heavy writes, which builds use.
  const pragma = (text: string): Promise<unknown> =>
    server.running.applications.main.database.write(
      async (transaction) => (await transaction.run({ text, values: [] }))[0]?.[0],
      { heavy: true },
    );
  await pragma(`PRAGMA max_page_count=${Number(await pragma('PRAGMA page_count')) + 20}`);
  return async (what) => void (what === 'all' && (await pragma('PRAGMA max_page_count=1000000')));
}

describe.skipIf(inject('postgresSkipped') !== null)('search indexes on PostgreSQL', () => {
  test('scan while pg_trgm cannot be created, and replace an invalid index', { timeout: 60_000 }, async () => {
    const server = await TestServer.start(postgres);
    const { store } = server;
    await query(
      store,
      `CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS
$$BEGIN RAISE EXCEPTION 'not permitted' USING ERRCODE='insufficient_privilege'; END$$;
CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION') EXECUTE FUNCTION refuse()`,
    );
    const pair = new Pair(server);
    await pair.fill(store);
    await pair.switchOn();
    await pair.waitFor('unavailable');
    await pair.compare('needle');
    const readProblems = async (): Promise<string> => {
      const headers = { authorization: `Bearer ${server.tokens.get('admin')}` };
      return (await fetch(`${server.running.url}/ready`, { headers })).text();
    };
    expect(await readProblems()).toContain('CREATE EXTENSION pg_trgm');
    await query(store, 'DROP EVENT TRIGGER refuse');
    await pair.data('collections:create', { name: 'other', fields: [] });
    await pair.waitFor('ready');
    expect(await readProblems()).not.toContain('pg_trgm');
    await pair.compare('needle', 'straße');
    await server.running.stop();
    const [{ id }] = await listIndexes(store);
    await query(store, `UPDATE pg_index SET indisvalid=false WHERE indexrelid=${id}`);
    const [{ name }] = await query(store, `SELECT relnamespace::regnamespace AS name FROM pg_class WHERE oid=${id}`);
    await query(store, `UPDATE "${name}"._search_indexes SET state='building'`);
    await server.boot();
    const next = new Pair(server);
    await next.waitFor('ready');
    expect((await listIndexes(store)).map(({ valid }) => valid)).toEqual([true]);
    await next.compare('needle');
    await server.stop();
  });

  test('are built once by two servers, and by the other one if the first is killed', { timeout: 60_000 }, async () => {
    const store = await postgres.store(true);
    const first = await ServerProcess.start(store);
    const second = await TestServer.start(shareStore(postgres, store));
    const [dying, pair] = [new Pair(first), new Pair(second)];
    await dying.fill(store);
    const release = await holdBuilds(store);
    await dying.switchOn();
    await waitForBuild(dying, store);
    await promptly(() => pair.data('fields:create', { collectionName: 'indexed', name: 'more', type: 'string' }));
    await pair.data('fields:create', { collectionName: 'scanned', name: 'more', type: 'string' });
    await pair.write(0);
    await pair.compare('needle', 'written');
    await waitForBuild(pair, store);
    await first.kill();
    await release();
    await pair.data('collections:create', { name: 'other', fields: [] });
    await pair.waitFor('ready');
    expect(await listIndexes(store)).toMatchObject([{ valid: true }]);
    await pair.compare(...needles, 'written');
    await second.stop();
    await store.remove();
  });
});
