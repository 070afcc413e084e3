/**
 * `tablinum move`: an application has the same data in its new location, no acknowledged write is lost, and a refusal
 * or a crash changes nothing.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { runMoveCommand } from '../../src/cli-move.ts';
import { type MoveLocation, openLocation, toDestination } from '../../src/cli-move-locations.ts';
import type { MoveTarget } from '../../src/database/move/move-stores.ts';
import { tablesNotCopied } from '../../src/database/move/moved-table.ts';
import { schemaName } from '../../src/open-stores.ts';
import { planTables } from '../../src/transfer/move/plan-tables.ts';
import { locateSchema } from '../support/citus-cluster.ts';
import { type Engine, postgres, type Store, shareStore, sqlite } from '../support/engines.ts';
import { fetchBytes } from '../support/file-server.ts';
import { enterApplication, everyType, fillApplication, readApplication } from '../support/moved-application.ts';
import { queryDatabase } from '../support/query-database.ts';
import { S3Server } from '../support/s3-server.ts';
import { TestServer } from '../support/scenario.ts';
import { serverSettings } from '../support/server-settings.ts';
import { shopHeaders } from '../support/shop-server.ts';

const program = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));
const shop = { as: 'shop', headers: shopHeaders };

/** Signing in and opening the application add rows to the first tables, and change rows of the second. */
const grown = new Set(['_events', '_audit', 'logins']);
const written = new Set(['_audit_chains', '_audit_witness', '_collections', '_acts', '_outbox']);

/** Long pauses are allowed, for busy machines. */
const patient = ['--max-pause', '60'];

/** Waits for the search indexes, which are rebuilt in the background. */
async function expectSearch(server: TestServer): Promise<void> {
  const count = async (path: string): Promise<number> => (await server.data(`GET /api/${path}`, shop)).length;
  await expect.poll(() => count('emails:list?search=turntable')).toBe(2);
  const albums = async (): Promise<unknown> =>
    (await server.data('GET /api/collections:get?filterByTk=albums', shop)).searchIndexes;
  await expect.poll(albums).toMatchObject([{ state: 'ready' }]);
  expect(await count('albums:list?filter={"title":{"$includes":"needle"}}')).toBe(1);
}

describe.skipIf(inject('postgresSkipped') !== null)('move', () => {
  const servers: TestServer[] = [];
  let key: string;
  let original: Awaited<ReturnType<typeof readApplication>>;
  const printed: string[] = [];

  const config = ({ dataDir, databaseUrl }: Store): ReturnType<typeof readConfig> =>
    readConfig({ ...serverSettings, DATA_DIR: dataDir, ...(databaseUrl && { DATABASE_URL: databaseUrl }) });
  const start = async (engine: Engine): Promise<TestServer> => {
    const server = await TestServer.start(engine);
    servers.push(server);
    return server;
  };
  const placeOf = ({ dataDir, databaseUrl }: Store): string => databaseUrl ?? dataDir;
  const move = (from: TestServer, to: TestServer, ...more: string[]): Promise<void> =>
    runMoveCommand(['--app', 'shop', '--to', placeOf(to.store), ...more], config(from.store));
  /** Every row of the stores, by table. */
  const readRows = async ({ store }: TestServer): Promise<Record<string, unknown[]>> => {
    const place = await openLocation(config(store));
    const { reader, close } = await place.openSource((await place.findStore('shop'))!);
    const rows: Record<string, unknown[]> = {};
    for (const table of (await planTables(reader)).tables) {
      rows[table.table] = [];
      for await (const batch of reader.rows(table)) rows[table.table]!.push(...batch);
    }
    await close();
    return rows;
  };
  let first: TestServer;
  let second: TestServer;
  let third: TestServer;

  beforeAll(async () => {
    vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
    [first, second, third] = [await start(sqlite), await start(postgres), await start(sqlite)];
    await first.data('POST /api/applications:create', { body: { name: 'shop', displayName: 'The shop' } });
    await enterApplication(first);
    key = await fillApplication(first);
    original = await readApplication(first);
  });
  afterAll(async () => {
    for (const server of servers) await server.stop();
    vi.restoreAllMocks();
  });

  test('a name that already exists, main, and a location without data are refused', async () => {
    await expect(runMoveCommand(['--app', 'main', '--to', '/x'], config(first.store))).rejects.toThrow(/"main"/);
    await expect(runMoveCommand(['--app', 'shop'], config(first.store))).rejects.toThrow(/Requests are refused/);
    await expect(move(first, first)).rejects.toThrow(/is already in/);
    await expect(runMoveCommand(['--app', 'shop', '--to', '/nonexistent'], config(first.store))).rejects.toThrow(
      /contains no data/,
    );
    await expect(
      runMoveCommand(['--app', 'other', '--to', placeOf(second.store)], config(first.store)),
    ).rejects.toThrow(/no application "other"/);
  });

  test('without time for the last comparison, the application stays where it is', async () => {
    await expect(move(first, second, '--max-pause', '0.001')).rejects.toThrow(/still runs/);
    expect(await readApplication(first)).toEqual(original);
    expect(await second.data('GET /api/applications:get?filterByTk=shop')).toMatchObject({ status: 'stopped' });
    await expect(move(first, third)).rejects.toThrow(/A move of this application to postgres/);
  });

  test('a statement that hangs during the pause is ended, and the source serves requests again', async () => {
    const { PostgresMoveTarget } = await import('../../src/database/postgres/postgres-move.ts');
    const hang = vi.spyOn(PostgresMoveTarget.prototype, 'relate').mockImplementationOnce(async function (
      this: MoveTarget,
    ) {
      await this.inTransaction((transaction) => transaction.run({ text: 'SELECT pg_sleep(100)', values: [] }));
    });
    const startedAt = performance.now();
    await expect(move(first, second, '--max-pause', '1')).rejects.toThrow(
      /could not be copied within 1 s\. "shop" runs in .* again/,
    );
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(hang).toHaveBeenCalledOnce();
    hang.mockRestore();
    expect(await readApplication(first)).toEqual(original);
    expect(await second.data('GET /api/applications:get?filterByTk=shop')).toMatchObject({ status: 'stopped' });
  });

  test('a repeated command copies what has changed since: definitions, unique values, and rows', async () => {
    const make = (action: string, body?: unknown): Promise<unknown> =>
      first.data(`POST /api/${action}`, { ...shop, body });
    await make('artists:create', [{ name: 'one' }, { name: 'two' }]);
    await expect(move(first, second, '--max-pause', '0.001')).rejects.toThrow(/still runs/);
    // The two records swap their unique names.
    await make('artists:update?filterByTk=2', { name: 'three' });
    await make('artists:update?filterByTk=3', { name: 'one' });
    await make('artists:update?filterByTk=2', { name: 'two' });
    await make('fields:create', { collectionName: 'albums', name: 'note', type: 'text', defaultValue: 'n' });
    await make('fields:update', { collectionName: 'tags', name: 'name', newName: 'label' });
    await make('collections:create', { name: 'late', fields: [{ name: 'n', type: 'integer' }] });
    await make('late:create', { n: 1 });
    await make('fields:destroy', { collectionName: 'samples', name: 'colour' });
    original = await readApplication(first);
    original['late:list'] = await first.data('GET /api/late:list', shop);
  });

  test('an application that is written during its move from SQLite to PostgreSQL loses no acknowledged write', async () => {
    const acknowledged: number[] = [];
    let refused = '';
    const writing = (async (): Promise<void> => {
      for (let n = 0; refused === ''; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        const reply = await first.call('POST /api/tags:create', { ...shop, body: { label: `written ${n}` } });
        if (reply.status === 200) acknowledged.push(reply.body.data.id);
        else refused = `${reply.status} ${reply.headers.get('retry-after')} ${reply.body.code}`;
      }
    })();
    await move(first, second, ...patient);
    await writing;
    expect(refused).toBe('503 30 APPLICATION_STOPPED');
    await enterApplication(second);
    const tags = await second.data('GET /api/tags:list?pageSize=1000&sort=id', shop);
    expect(tags.map(({ id }: { id: number }) => id)).toEqual(expect.arrayContaining(acknowledged));
    expect(acknowledged.length).toBeGreaterThan(0);
    await expectSearch(second); // definitions show whether an index is ready
    const replies: Record<string, unknown> = await readApplication(second);
    replies['late:list'] = await second.data('GET /api/late:list', shop);
    for (const [path, reply] of Object.entries(original))
      if (path !== 'tags:list?sort=id') expect(replies[path], path).toEqual(reply);
    // The next id follows the largest one that was ever assigned.
    const next = await second.data('POST /api/tags:create', { ...shop, body: { label: 'next' } });
    expect(next.id).toBe(Math.max(3, ...acknowledged) + 1);
    expect((await second.data('GET /api/applications:get?filterByTk=shop')).displayName).toBe('The shop');
    expect((await first.data('GET /api/applications:get?filterByTk=shop')).status).toBe('stopped');
    expect(
      (await second.call('GET /api/samples:list', { as: `header:Bearer ${key}`, headers: shopHeaders })).status,
    ).toBe(200);
    expect(await second.data('GET /api/audit:verify', shop)).toMatchObject({ valid: true });
    expect(printed.join('\n')).toMatch(/Equal by count and SHA-256: \d+ tables/);
  });

  test('the source can be started again, and still has its data', async () => {
    await first.data('POST /api/applications:start?filterByTk=shop');
    const replies = await readApplication(first);
    expect(replies['samples:list?sort=id']).toEqual(original['samples:list?sort=id']);
    await first.data('POST /api/applications:stop?filterByTk=shop');
    await expect(move(first, second)).rejects.toThrow(/exists in/);
  });

  test('a move knows all tables and columns of a store', async () => {
    const place = await openLocation(config(second.store));
    const store = await place.findStore('shop');
    const { reader, close } = await place.openSource(store!);
    const known = new Set(
      (await planTables(reader)).tables.flatMap(({ table, columns }) => columns.map(({ name }) => `${table}.${name}`)),
    );
    await close();
    const columns = await queryDatabase(
      await locateSchema(schemaName(store!), second.store.databaseUrl!, inject('clusterNodes')),
      `SELECT table_name,column_name FROM information_schema.columns WHERE table_schema='${schemaName(store!)}'`,
    );
    const unknown = columns
      .filter(({ table_name: table }) => !tablesNotCopied.has(table as string))
      .map(({ table_name: table, column_name: column }) => `${table}.${column}`)
      .filter((name) => !known.has(name));
    // Only PostgreSQL orders events by transaction id.
    expect(unknown).toEqual(['_events.xid']);
    expect(columns.length).toBeGreaterThan(300);
  });

  test('after a move back to SQLite, every value of every table is as before', async () => {
    const before = await readApplication(second);
    await move(second, third, ...patient);
    await enterApplication(third);
    await expectSearch(third);
    expect(await readApplication(third)).toEqual(before);
    expect(before['samples:list?sort=id'][1].big).toBe('9223372036854775807');
    expect(Object.keys(before['samples:list?sort=id'][0])).toEqual(
      expect.arrayContaining(
        everyType.map(([{ name }]) => name as string).filter((name) => name !== 'secret' && name !== 'colour'),
      ),
    );
    await third.data('POST /api/applications:stop?filterByTk=shop');
    const [from, to] = [await readRows(second), await readRows(third)];
    expect(Object.keys(to)).toEqual(Object.keys(from));
    for (const [table, rows] of Object.entries(from))
      if (grown.has(table)) expect(to[table], table).toEqual(expect.arrayContaining(rows));
      else if (!written.has(table)) expect(to[table], table).toEqual(rows);
  });
});

test('files are copied to the new location, from a bucket and between folders', async () => {
  const s3 = await S3Server.start();
  const bucket = s3.env('move');
  const [source, target] = [await TestServer.start(sqlite, { env: bucket }), await TestServer.start(sqlite)];
  await source.data('POST /api/applications:create', { body: { name: 'shop' } });
  await enterApplication(source);
  const form = ['--b', 'Content-Disposition: form-data; name="f"; filename="a.txt"', '', 'A file.', '--b--', ''];
  const headers = { ...shopHeaders, 'content-type': 'multipart/form-data; boundary=b' };
  await source.data('POST /api/files:upload', { as: 'shop', headers, body: form.join('\r\n') });
  const config = readConfig({ ...serverSettings, ...bucket, DATA_DIR: source.store.dataDir });
  await runMoveCommand(['--app', 'shop', '--to', target.store.dataDir, '--max-pause', '60'], config);
  await source.stop();
  await s3.remove();
  await enterApplication(target);
  expect(await (await fetchBytes(target, '/api/files/1', shop)).text()).toBe('A file.');
  await target.stop();
});

test('a copy that cannot be activated in time is an error, also if PostgreSQL waits for a lock', async () => {
  const location = { replace: () => new Promise(() => {}) } as unknown as MoveLocation;
  await expect(toDestination(location).replace('s', 'm', 20)).rejects.toThrow('It took longer than 1 s.');
});

describe('a source that is started again before the move has ended', () => {
  const servers: TestServer[] = [];
  const begin = async (): Promise<{ source: TestServer; target: TestServer; move: () => Promise<void> }> => {
    const [source, target] = [await TestServer.start(sqlite), await TestServer.start(sqlite)];
    servers.push(source, target);
    await source.data('POST /api/applications:create', { body: { name: 'shop' } });
    await enterApplication(source);
    const body = { name: 'things', fields: [{ name: 'n', type: 'integer' }] };
    await source.data('POST /api/collections:create', { ...shop, body });
    await source.data('POST /api/things:create', { ...shop, body: { n: 1 } });
    const config = readConfig({ ...serverSettings, DATA_DIR: source.store.dataDir });
    const args = ['--app', 'shop', '--to', target.store.dataDir, ...patient];
    return { source, target, move: () => runMoveCommand(args, config) };
  };
  /** Calls the function when the copy is complete and has not been activated yet. */
  const onComplete = (work: () => void): void =>
    void vi.spyOn(console, 'log').mockImplementation((line: string) => {
      if (line.startsWith('Equal by count')) work();
    });
  const restart = async (source: TestServer, n: number): Promise<void> => {
    await source.data('POST /api/applications:start?filterByTk=shop');
    await source.data('POST /api/things:create', { ...shop, body: { n } });
  };
  const readNumbers = async (server: TestServer): Promise<number[]> => {
    const rows = (await server.data('GET /api/things:list?sort=n', shop)) as { n: number }[];
    return rows.map(({ n }) => n);
  };
  afterAll(async () => {
    vi.restoreAllMocks();
    for (const server of servers) await server.stop();
  });

  test('writes that were acknowledged after the copy was complete are copied by the repeated command', async () => {
    const { source, target, move } = await begin();
    onComplete(() => {
      throw new Error('killed');
    });
    await expect(move()).rejects.toThrow('killed');
    await restart(source, 2);
    await expect(move()).rejects.toThrow('killed');
    await restart(source, 3);
    // Simulates a write of another server that has not noticed yet that the application is stopped. The application
    // must not stay stopped.
    const { findStore } = await openLocation(readConfig({ ...serverSettings, DATA_DIR: source.store.dataDir }));
    const path = join(source.store.dataDir, 'applications', `${await findStore('shop')}.db`);
    onComplete(() => {
      const file = new DatabaseSync(path);
      file.exec('UPDATE _meta SET version=version+1');
      file.close();
    });
    await expect(move()).rejects.toThrow(/or written there, after it was copied\. Nothing .* runs in .* again/);
    expect(await readNumbers(source)).toEqual([1, 2, 3]);
    // This is also refused if the application is stopped again before the command is repeated.
    await source.data('POST /api/applications:stop?filterByTk=shop');
    onComplete(() => {});
    await move();
    await enterApplication(target);
    expect(await readNumbers(target)).toEqual([1, 2, 3]);
  });

  test('after the copy was activated in the target, the command refuses to continue until one of the two applications is dropped', async () => {
    const { source, target, move } = await begin();
    const statePath = join(source.store.dataDir, 'moves', 'shop.json');
    onComplete(() => {
      throw new Error('killed');
    });
    await expect(move()).rejects.toThrow('killed');
    const noteSwitching = (): void => {
      const state = JSON.parse(readFileSync(statePath, 'utf8')) as object;
      writeFileSync(statePath, JSON.stringify({ ...state, isSwitching: true }));
    };
    noteSwitching();
    // Another application with this name is not the copy.
    await target.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    await target.data('POST /api/applications:create', { body: { name: 'shop', displayName: 'Another' } });
    await expect(move()).rejects.toThrow(/"shop" exists in .* Destroy it there first/);
    expect((await target.data('GET /api/applications:get?filterByTk=shop')).displayName).toBe('Another');
    await target.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    await expect(move()).rejects.toThrow('killed');
    noteSwitching();
    await restart(source, 2);
    onComplete(() => {});
    await expect(move()).rejects.toThrow(/was started in .* destroy the application in/);
    expect(await readNumbers(source)).toEqual([1, 2]);
    expect(await target.data('GET /api/applications:get?filterByTk=shop')).toMatchObject({ status: 'stopped' });
    await target.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    await move();
    await enterApplication(target);
    expect(await readNumbers(target)).toEqual([1, 2]);
  });

  test('a start of the source during the activation of the copy is noticed', async () => {
    const { source, move } = await begin();
    let started: Promise<unknown> = Promise.resolve();
    onComplete(() => {
      started = source.data('POST /api/applications:start?filterByTk=shop');
    });
    await expect(move()).rejects.toThrow(/was started in/);
    await started;
    expect(await readNumbers(source)).toEqual([1]);
  });
});

describe.skipIf(inject('postgresSkipped') !== null)('a move that is killed', () => {
  const stores: Store[] = [];
  afterAll(async () => {
    for (const store of stores) await store.remove();
  });

  test('the same command continues it, at whatever step it was killed', async () => {
    const [source, target] = [await TestServer.start(sqlite), await postgres.store(true)];
    stores.push(target);
    await source.data('POST /api/applications:create', { body: { name: 'shop' } });
    await enterApplication(source);
    await source.data('POST /api/collections:create', {
      ...shop,
      body: { name: 'things', fields: [{ name: 'n', type: 'integer', unique: true }] },
    });
    for (let n = 0; n < 3000; n += 500)
      await source.data('POST /api/things:create', {
        ...shop,
        body: Array.from({ length: 500 }, (_, index) => ({ n: n + index })),
      });
    const { dataDir } = source.store;
    const statePath = join(dataDir, 'moves', 'shop.json');
    const isReached: readonly ((state: string) => boolean)[] = [
      (state) => state.includes('"id"'),
      (state) => state.includes('things_'),
      (state) => state.includes('"isComplete":true'),
    ];
    for (const reached of isReached) await killWhen({ dataDir, target: target.databaseUrl!, statePath, reached });
    expect(await runCommand(dataDir, target.databaseUrl!)).toMatch(/runs in postgres/);
    expect(existsSync(statePath)).toBe(false);
    await source.stop();
    const moved = await TestServer.start(shareStore(postgres, target));
    await enterApplication(moved);
    const { body } = await moved.call('GET /api/things:list?pageSize=1000&page=3&sort=n', shop);
    expect(body.meta.count).toBe(3000);
    expect(body.data.at(-1)).toMatchObject({ id: 3000, n: 2999 });
    await moved.stop();
  });
});

function spawnMove(dataDir: string, to: string): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [program, 'move', '--app', 'shop', '--to', to, '--max-pause', '60'], {
    cwd: tmpdir(),
    // Remaining files of a killed command are removed with the folder.
    env: { PATH: process.env['PATH'] ?? '', ...serverSettings, DATA_DIR: dataDir, TMPDIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Kills the command as soon as its stored state is the wanted one. */
async function killWhen(parts: {
  readonly dataDir: string;
  readonly target: string;
  readonly statePath: string;
  readonly reached: (state: string) => boolean;
}): Promise<void> {
  const child = spawnMove(parts.dataDir, parts.target);
  const ended = once(child, 'close');
  const watch = setInterval(() => {
    if (existsSync(parts.statePath) && parts.reached(readFileSync(parts.statePath, 'utf8'))) child.kill('SIGKILL');
  }, 1);
  const [code] = await ended;
  clearInterval(watch);
  expect(code).toBeNull();
}

async function runCommand(dataDir: string, to: string): Promise<string> {
  const child = spawnMove(dataDir, to);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
  await once(child, 'close');
  return text;
}
