/**
 * `/ready` reports whether the server can write, and tells administrators the reason if not. A failure that only a
 * restart can fix ends the process.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Problem } from '../../src/base/server-health.ts';
import { EventHorizonWatch } from '../../src/database/postgres/event-horizon.ts';
import { type CliProcess, postJson, rootSettings, signInAsRoot, startCliProcess } from '../support/cli-process.ts';
import { describeEngines, sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

interface Ready {
  readonly status: number;
  readonly code: string | undefined;
  /** The problems by source; null if the reply contains no details. */
  readonly details: Readonly<Record<string, string>> | null;
}

async function ready(url: string, token: string | null): Promise<Ready> {
  const reply = await fetch(`${url}/ready`, { headers: token === null ? {} : { authorization: `Bearer ${token}` } });
  const { code, details, data } = (await reply.json()) as {
    code?: string;
    details?: Record<string, string>;
    data?: { problems?: { source: string; message: string }[] };
  };
  const problems = data?.problems && Object.fromEntries(data.problems.map((each) => [each.source, each.message]));
  return { status: reply.status, code, details: details ?? problems ?? null };
}

test('the server is not ready if large writes fail, even if small ones succeed', async () => {
  const server = await TestServer.start(sqlite);
  const fields = [{ name: 'text', type: 'text' }];
  await server.data('POST /api/collections:create', { body: { name: 'notes', fields } });
  const { database } = server.running.applications.main;
  const pragma = (text: string): Promise<unknown> =>
    database.write(async (transaction) => (await transaction.run({ text, values: [] }))[0]?.[0]);
  await pragma(`PRAGMA max_page_count=${Number(await pragma('PRAGMA page_count')) + 20}`);
  const create = async (length: number): Promise<number> =>
    (await server.call('POST /api/notes:create', { body: { text: 'x'.repeat(length) } })).status;
  expect([await create(1_000_000), await create(1)]).toEqual([500, 200]);
  expect(await ready(server.running.url, null)).toMatchObject({ status: 503, code: 'NOT_READY' });
  await pragma('PRAGMA max_page_count=1000000');
  await expect.poll(async () => (await ready(server.running.url, null)).status).toBe(200);
  expect(await create(1_000_000)).toBe(200);
  await server.stop();
});

describe('a disk that refuses a sync', () => {
  let fail = false;
  let server: TestServer;
  beforeAll(async () => {
    const syncFile = async (handle: FileHandle): Promise<void> => {
      if (fail) throw Object.assign(new Error('disk gone'), { code: 'EIO' });
      await handle.datasync();
    };
    server = await TestServer.start(sqlite, { syncFile });
    await server.createKey('viewer');
  });
  afterAll(() => server.stop());

  test('makes the server permanently not ready, and shows the reason to administrators', async () => {
    const { url, health } = server.running;
    const [admin, viewer] = ['admin', 'viewer'].map((name) => server.tokens.get(name)!);
    expect(await ready(url, null)).toEqual({ status: 200, code: undefined, details: null });
    expect(await ready(url, admin!)).toEqual({ status: 200, code: undefined, details: {} });
    fail = true;
    const write = await server.call('POST /api/collections:create', { body: { name: 'things', fields: [] } });
    expect(write.status).toBeGreaterThanOrEqual(500);
    fail = false;
    const refused = { status: 503, code: 'NOT_READY' };
    expect(await ready(url, null)).toEqual({ ...refused, details: null });
    expect(await ready(url, viewer!)).toEqual({ ...refused, details: null });
    expect(await ready(url, 'tbk_nobody')).toEqual({ ...refused, details: null });
    const { details } = await ready(url, admin!);
    // The audit journal may be written at the same time, and then fails too.
    const problem = expect.stringMatching(/failed to sync .*disk gone.* restarted/);
    expect(details).toMatchObject({ '1.db: writes': problem });
    expect(await health.fatal).toMatch(/^1\.(audit\.)?db: writes: The disk failed to sync/);
    for (const path of ['/api/health', '/live']) expect((await fetch(url + path)).status).toBe(200);
    expect((await server.call('GET /api/roles:list')).status).toBe(200);
  });
});

describe('the process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-ready-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('exits with 1 after a failed sync, so that it is restarted', async () => {
    const sign = join(folder, 'fail');
    const preload = join(folder, 'failing-disk.mjs');
    writeFileSync(
      preload,
      `import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
const handle = await open(${JSON.stringify(preload)}, 'r');
const kind = Object.getPrototypeOf(handle);
const { datasync } = kind;
kind.datasync = async function () {
  if (existsSync(${JSON.stringify(sign)})) throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
  return datasync.call(this);
};
await handle.close();`,
    );
    const server = await startCliProcess(join(folder, 'sync'), rootSettings, ['--import', preload]);
    const token = await signInAsRoot(server);
    writeFileSync(sign, '');
    // The journal entry of the sign-in may be synced first. Then the server is already stopping, and closes the
    // connection without a reply.
    const status = await makeThings(server, token).then(
      (reply) => reply.status,
      () => null,
    );
    if (status !== null) expect(status).toBeGreaterThanOrEqual(500);
    expect(await server.exitCode).toBe(1);
    expect(server.output()).toMatch(
      /The server stops and must be restarted: 1\.(audit\.)?db: writes: The disk failed to sync/,
    );
    rmSync(sign);
    const again = await startCliProcess(join(folder, 'sync'), rootSettings);
    expect((await ready(again.url, null)).status).toBe(200);
    expect(await again.stop('SIGTERM')).toBe(0);
  });

  test('is not ready on a full disk, and is ready again when space is available', async ({ skip }) => {
    if (spawnSync('prlimit', ['--version']).status !== 0)
      skip('prlimit, which bounds the files of a process, is missing');
    const dataDir = join(folder, 'room');
    const server = await startCliProcess(dataDir, rootSettings);
    const token = await signInAsRoot(server);
    expect((await makeThings(server, token)).status).toBe(200);
    // A limit on the size of the process's files makes writes fail as on a full disk.
    const bound = (bytes: string): void =>
      void spawnSync('prlimit', ['--pid', String(server.pid), `--fsize=${bytes}:`]);
    bound(String(statSync(join(dataDir, 'applications', '1.db-wal')).size));
    const insert = (): Promise<Response> =>
      postJson(`${server.url}/api/things:create`, token, { text: 'x'.repeat(20_000) });
    // A checkpoint in between empties the log, so a small write fits again: the server is then ready until the next
    // write fails.
    const refusedThen = async (credential: string | null): Promise<unknown> => [
      (await insert()).status >= 500,
      await ready(server.url, credential),
    ];
    await expect.poll(() => refusedThen(null)).toMatchObject([true, { status: 503, code: 'NOT_READY', details: null }]);
    await expect
      .poll(() => refusedThen(token))
      .toMatchObject([true, { status: 503, details: { '1.db: writes': expect.stringMatching(/^Writes fail/) } }]);
    expect((await postJson(`${server.url}/api/things:list`, token, {})).status).toBe(200);
    bound('unlimited');
    // The server becomes ready by itself, without a request that writes.
    await expect.poll(async () => (await ready(server.url, null)).status).toBe(200);
    expect((await insert()).status).toBe(200);
    expect(await server.stop('SIGTERM')).toBe(0);
  });
});

function makeThings({ url }: CliProcess, token: string): Promise<Response> {
  return postJson(`${url}/api/collections:create`, token, { name: 'things', fields: [{ name: 'text', type: 'text' }] });
}

describeEngines('a database that cannot be written', (engine) => {
  // For SQLite, this is tested above.
  test.runIf(engine.name === 'postgres')(
    'is reported by readiness, and so is a transaction that delays events',
    async () => {
      const server = await TestServer.start(engine);
      const { url, health, applications } = server.running;
      const { database } = applications.main;
      const admin = server.tokens.get('admin')!;
      expect(await ready(url, admin)).toMatchObject({ status: 200, details: {} });

      const other = new pg.Client({ connectionString: server.store.databaseUrl! });
      await other.connect();
      await other.query('BEGIN; SELECT pg_current_xact_id()');
      const reports: (Problem | null)[] = [];
      const watch = new EventHorizonWatch({
        database,
        report: (problem) => void reports.push(problem),
        everyMilliseconds: 20,
        lateMilliseconds: 100,
      });
      const { rows } = await other.query('SELECT pg_backend_pid() AS pid, current_database() AS name');
      const { pid, name } = rows[0] as { pid: number; name: string };
      await expect
        .poll(() => reports.find((each) => each?.message.includes(`process ${pid} (database ${name}`)))
        .toBeTruthy();
      expect(reports.at(-1)).toMatchObject({
        severity: 'warning',
        message: expect.stringMatching(/pg_terminate_backend/),
      });
      await other.query('ROLLBACK');
      await expect.poll(() => reports.at(-1)).toBeNull();
      watch.close();

      health.set('events', { severity: 'warning', message: 'Events are late.' });
      expect(await ready(url, admin)).toMatchObject({ status: 200, details: { events: 'Events are late.' } });
      expect((await ready(url, null)).details).toBeNull();
      health.set('events', null);

      // PostgreSQL replies like a standby.
      await other.query(`ALTER DATABASE ${name} SET default_transaction_read_only=on`);
      await other.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname=current_database() AND pid<>pg_backend_pid()',
      );
      await expect
        .poll(async () => (await ready(url, admin)).details)
        .toMatchObject({ database: expect.stringMatching(/read only/) });
      expect(await ready(url, null)).toEqual({ status: 503, code: 'NOT_READY', details: null });
      await other.query(
        `SET default_transaction_read_only=off; ALTER DATABASE ${name} RESET default_transaction_read_only`,
      );
      await other.end();

      const away = new pg.Client({ connectionString: inject('postgresUrl')! });
      await away.connect();
      const allow = (may: boolean): Promise<unknown> => away.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${may}`);
      const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname='${name}'`;
      await allow(false);
      await away.query(terminate);
      await expect.poll(async () => (await ready(url, null)).code).toBe('NOT_READY');
      expect(health.problems).toMatchObject([{ source: 'database', severity: 'failing' }]);
      expect((await fetch(`${url}/live`)).status).toBe(200);
      await allow(true);
      await away.query(terminate); // ends the sessions that began read-only
      await expect.poll(async () => (await ready(url, admin)).status).toBe(200);
      expect(health.problems).toEqual([]);
      await away.end();
      await server.stop();
    },
  );
});
