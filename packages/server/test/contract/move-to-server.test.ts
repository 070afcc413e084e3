/** `tablinum move --to https://…`: the copy on the server at this address is complete, or nothing changes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { runMoveCommand } from '../../src/cli-move.ts';
import { openLocation } from '../../src/cli-move-locations.ts';
import { schemaName } from '../../src/open-stores.ts';
import { planTables } from '../../src/transfer/move/plan-tables.ts';
import { locateSchema } from '../support/citus-cluster.ts';
import { type CliProcess, rootCredentials, startCliProcess } from '../support/cli-process.ts';
import { describeEngines, type Engine, postgres, type Store, sqlite } from '../support/engines.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { fetchBytes } from '../support/file-server.ts';
import { getSharedCertificate } from '../support/mail-certificate.ts';
import { enterApplication, fillApplication, readApplication } from '../support/moved-application.ts';
import { queryDatabase } from '../support/query-database.ts';
import { TestServer } from '../support/scenario.ts';
import { serverSettings } from '../support/server-settings.ts';
import { shopHeaders } from '../support/shop-server.ts';

const program = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));
const shop = { as: 'shop', headers: shopHeaders };
/** Long pauses are allowed, for busy machines. */
const patient = ['--max-pause', '60'];
/** Signing in and opening the application add rows to the first tables, and change rows of the second. */
const grown = new Set(['_events', '_audit', 'logins']);
const written = new Set(['_audit_chains', '_audit_witness', '_collections', '_acts', '_outbox']);

const configOf = ({ dataDir, databaseUrl }: Store): ReturnType<typeof readConfig> =>
  readConfig({ ...serverSettings, DATA_DIR: dataDir, ...(databaseUrl && { DATABASE_URL: databaseUrl }) });

const otherEngine = ({ name }: Engine): Engine => (name === 'sqlite' ? postgres : sqlite);

async function moveTo(from: TestServer, url: string, token: string | undefined, more = patient): Promise<void> {
  vi.stubEnv('TABLINUM_TO_TOKEN', token);
  await runMoveCommand(['--app', 'shop', '--to', url, ...more], configOf(from.store));
}

const move = (from: TestServer, to: TestServer, more = patient): Promise<void> =>
  moveTo(from, to.running.url, to.tokens.get('admin'), more);

/** Reads the status of the application. */
const statusIn = async (server: TestServer): Promise<string> =>
  (await server.data('GET /api/applications:get?filterByTk=shop')).status;

/** Every row of the stores, by table. */
async function readRows({ store }: TestServer): Promise<Record<string, unknown[]>> {
  const location = await openLocation(configOf(store));
  const { reader, close } = await location.openSource((await location.findStore('shop')) ?? '');
  const rows: Record<string, unknown[]> = {};
  for (const table of (await planTables(reader)).tables) {
    rows[table.table] = [];
    for await (const batch of reader.rows(table)) rows[table.table]?.push(...batch);
  }
  await close();
  return rows;
}

/** How many foreign keys the application has in its schema. */
async function countReferences({ store }: TestServer): Promise<unknown> {
  const name = await (await openLocation(configOf(store))).findStore('shop');
  const text = `SELECT count(*)::int AS count FROM pg_constraint WHERE contype='f' AND connamespace='app_${name?.replaceAll('-', '')}'::regnamespace`;
  return (await queryDatabase(store.databaseUrl!, text))[0]?.['count'];
}

beforeAll(() => void vi.spyOn(console, 'log').mockImplementation(() => {}));
afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe.skipIf(inject('postgresSkipped') !== null)('move to the address of a server', () => {
  describeEngines('from', (engine) => {
    let source: TestServer;
    let target: TestServer;
    let original: Awaited<ReturnType<typeof readApplication>>;
    let proxy: FaultyProxy;
    const moveThroughProxy = (...more: string[]): Promise<void> =>
      moveTo(source, proxy.url, target.tokens.get('admin'), [...patient, ...more]);

    beforeAll(async () => {
      [source, target] = [await TestServer.start(engine), await TestServer.start(otherEngine(engine))];
      proxy = await FaultyProxy.start(target.running.url);
      await source.data('POST /api/applications:create', { body: { name: 'shop', displayName: 'The shop' } });
      await enterApplication(source);
      await fillApplication(source);
      original = await readApplication(source);
    });
    afterAll(async () => {
      proxy.close();
      for (const server of [source, target]) await server.stop();
    });

    /** Nothing was created in the target, and the source still runs. */
    const expectUnchanged = async (): Promise<void> => {
      expect(await target.data('GET /api/applications:list?filter={"name":"shop"}')).toEqual([]);
      expect(await readApplication(source)).toEqual(original);
    };

    test('a missing, unknown or too weak token, and an address that cannot be used, change nothing', async () => {
      const { url } = target.running;
      await target.data('POST /api/roles:create', { body: { name: 'creator' } });
      await target.data('POST /api/permissions:create', {
        body: { role: 'creator', resource: 'applications', actions: ['list', 'get', 'create', 'update'] },
      });
      const weak = await target.data('POST /api/apiKeys:create', { body: { name: 'weak', role: 'creator' } });
      const cases: [url: string, token: string | undefined, message: RegExp][] = [
        [url, undefined, /Set TABLINUM_TO_TOKEN to an API key with the role "admin"/],
        [url, `tbk_${'a'.repeat(40)}`, /invalid or missing token|token/],
        [url, weak.token, /refused: The role does not allow receive on applications/],
        [url.replace('http:', 'https:'), 'x', /does not speak TLS/],
        ['http://data.example.com', 'x', /must begin with https:/],
        ['https://user:secret@127.0.0.1', 'x', /must not contain a password/],
        ['https://no-such-host.invalid', 'x', /is not known|cannot be reached/],
        ['http://127.0.0.1:2', 'x', /No server listens at 127\.0\.0\.1:2/],
        [`${url}/elsewhere`, 'x', /cannot receive applications\. Check the path/],
      ];
      for (const [address, token, message] of cases)
        await expect(moveTo(source, address, token), address).rejects.toThrow(message);
      await expectUnchanged();
    });

    test('a name that exists on the target is refused, and the existing application is not changed', async () => {
      await target.data('POST /api/applications:create', { body: { name: 'shop', displayName: 'Another' } });
      await expect(move(source, target)).rejects.toThrow(/"shop" exists in http:/);
      const listed = await target.data('GET /api/applications:get?filterByTk=shop');
      expect(listed).toMatchObject({ status: 'running', displayName: 'Another' });
      expect(await readApplication(source)).toEqual(original);
      await target.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    });

    test('if the target hangs during the pause, the pause ends in time, and the source serves requests again', async () => {
      proxy.choose = (request) => (request.includes('step=complete') ? 'hang' : 'pass');
      const startedAt = performance.now();
      await expect(moveThroughProxy('--max-pause', '1')).rejects.toThrow(
        /could not be copied within 1 s\. "shop" runs in .* again\. Repeat the command/,
      );
      expect(performance.now() - startedAt).toBeLessThan(30_000);
      expect(await readApplication(source)).toEqual(original);
      expect(await statusIn(target)).toBe('stopped');
    });

    test('two commands for the same application do not run at the same time', async () => {
      proxy.choose = async (request) => {
        if (request.includes('step=prepare'))
          await expect(moveThroughProxy()).rejects.toThrow(/Another process is moving "shop" now/);
        return request.includes('step=compare') ? 409 : 'pass';
      };
      await expect(moveThroughProxy()).rejects.toThrow(/refused: The proxy has refused it/);
    });

    test('a copy that cannot be activated is dropped, and the source serves requests again', async () => {
      // Meanwhile, another server writes to the source, because it has not noticed the stop yet.
      const { databaseUrl } = source.store;
      const store = await (await openLocation(configOf(source.store))).findStore('shop');
      const schema = schemaName(store ?? '');
      const write = `UPDATE ${schema}._meta SET version=version+1`;
      proxy.choose = async (request) => {
        if (!request.includes('step=place')) return 'pass';
        if (databaseUrl !== null)
          await queryDatabase(await locateSchema(schema, databaseUrl, inject('clusterNodes')), write);
        return 409;
      };
      await expect(moveThroughProxy()).rejects.toThrow(
        /could not be put in service in .*: .*refused: The proxy has refused it\..* runs in .* again\. Repeat the command/,
      );
      expect(await readApplication(source)).toEqual(original);
      expect(await statusIn(target)).toBe('stopped');
    });

    test('if the application is written during the move, no acknowledged write is lost, and source and target are equal', async () => {
      const lost = new Set<string>();
      const isFirst = (request: string): boolean => !lost.has(request) && Boolean(lost.add(request));
      // The replies to the last steps are lost: whether the target has started the application is not known at first.
      proxy.choose = (request) => {
        if (/step=place|applications:update/.test(request)) return isFirst(request) ? 'lose' : 'pass';
        if (request.includes('step=compare')) return isFirst(request) ? 503 : 'pass';
        return request.startsWith('applications:start') && isFirst(request) ? 403 : 'pass';
      };
      const acknowledged: number[] = [];
      let refused = '';
      const writing = (async (): Promise<void> => {
        for (let n = 0; refused === ''; n += 1) {
          const reply = await source.call('POST /api/tags:create', { ...shop, body: { name: `written ${n}` } });
          if (reply.status === 200) acknowledged.push(reply.body.data.id);
          else refused = `${reply.status} ${reply.headers.get('retry-after')} ${reply.body.code}`;
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      })();
      await expect(moveThroughProxy()).rejects.toThrow(
        /It is not known whether "shop" runs in http.*: The proxy has refused it\. It stays stopped in .* repeat the command: tablinum move --app shop --to http.*run "tablinum app start shop" here\.$/,
      );
      expect([await statusIn(source), await statusIn(target)]).toEqual(['stopped', 'stopped']);
      await moveThroughProxy();
      await writing;
      expect(refused).toBe('503 30 APPLICATION_STOPPED');
      expect(acknowledged.length).toBeGreaterThan(0);
      // This request is refused because the source is stopped. Nothing is written there any more.
      expect((await source.call('GET /api/tags:list', shop)).status).toBe(503);
      const [from, to] = [await readRows(source), await readRows(target)];
      expect(Object.keys(to)).toEqual(Object.keys(from));
      for (const [table, rows] of Object.entries(from))
        if (grown.has(table)) expect(to[table], table).toEqual(expect.arrayContaining(rows));
        else if (!written.has(table)) expect(to[table], table).toEqual(rows);
      // The application has a file, and its bytes are sent after the foreign keys were added.
      if (engine.name === 'sqlite') expect(await countReferences(target)).toBeGreaterThan(40);
      await enterApplication(target);
      const tags = await target.data('GET /api/tags:list?pageSize=1000&sort=id', shop);
      expect(tags.map(({ id }: { id: number }) => id)).toEqual(expect.arrayContaining(acknowledged));
      const replies = await readApplication(target);
      for (const [path, reply] of Object.entries(original))
        if (path !== 'tags:list?sort=id') expect(replies[path], path).toEqual(reply);
      const [file] = await target.data('GET /api/files:list?sort=id', shop);
      expect((await fetchBytes(target, `/api/files/${file.id}`, shop)).status).toBe(200);
      expect(await target.data('GET /api/audit:verify', shop)).toMatchObject({ valid: true });
      const listed = await target.data('GET /api/applications:get?filterByTk=shop');
      expect(listed).toMatchObject({ status: 'running', displayName: 'The shop' });
      expect((await source.data('GET /api/applications:get?filterByTk=shop')).status).toBe('stopped');
      // The journal of the target contains refusals and the activation, but not every part of the copy.
      const audited = await target.data('GET /api/audit:list?pageSize=100');
      const received = audited.filter(({ action }: { action: string }) => action === 'applications:receive');
      const outcomes = received.map(({ outcome }: { outcome: string }) => outcome).sort();
      // The reply to the first attempt was lost.
      expect(outcomes).toEqual(['done', 'done', 'refused', 'refused']);
      expect(received).toContainEqual(expect.objectContaining({ outcome: 'done', target: 'shop', actor: 'user:1' }));
    });

    test('requests that do not belong to the command, or that name another application, are refused and change nothing', async () => {
      const before = await readRows(target);
      const id = '00000000-0000-4000-8000-000000000000';
      const send = async (query: string, body = '{}', as = 'admin', headers = {}): Promise<string> => {
        const reply = await fetch(`${target.running.url}/api/applications:receive?${query}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/octet-stream',
            authorization: `Bearer ${target.tokens.get(as) ?? as}`,
            ...headers,
          },
          body,
        });
        return `${reply.status} ${((await reply.json()) as { code: string }).code}`;
      };
      const app = `filterByTk=shop&move=${id}`;
      expect(await send(`${app}&step=prepare`)).toBe('409 MOVE_REFUSED');
      expect(await send(`${app}&step=place`)).toBe('409 MOVE_REFUSED');
      await target.data('POST /api/applications:stop?filterByTk=shop');
      // This application is stopped, but was not created by this move.
      for (const step of ['prepare', 'place', 'analyse', 'complete'])
        expect(await send(`${app}&step=${step}`), step).toBe('409 MOVE_REFUSED');
      expect(await send(`filterByTk=main&move=${id}&step=place`)).toMatch(/^40[49]/);
      expect(await send(`filterByTk=none&move=${id}&step=place`)).toBe('404 APPLICATION_UNKNOWN');
      expect(await send(`filterByTk=shop&move=${id}&step=drop`)).toBe('400 PARAMETER_INVALID');
      expect(await send('filterByTk=shop&move=1&step=place')).toBe('400 PARAMETER_INVALID');
      expect(await send(`${app}&step=blob&name=..%2F..%2Fx`)).toBe('400 PARAMETER_INVALID');
      expect(await send(`${app}&step=blob&scope=-1&name=${'a'.repeat(64)}`)).toBe('400 PARAMETER_INVALID');
      expect(await send(`${app}&step=place`, '{}', 'nobody-at-all')).toMatch(/^401/);
      expect(await send(`${app}&step=place`, '{}', 'admin', { 'x-app': 'shop' })).toMatch(/^(?:401|403|503)/);
      expect(await send(`${app}&step=place`, '[')).toBe('400 BODY_INVALID');
      await target.data('POST /api/applications:start?filterByTk=shop');
      await target.data('POST /api/applications:stop?filterByTk=shop');
      const after = await readRows(target);
      for (const [table, rows] of Object.entries(before))
        if (!grown.has(table) && !written.has(table)) expect(after[table], table).toEqual(rows);
    });

    test('invalid rows are refused while a move is running', async () => {
      const id = '11111111-0000-4000-8000-000000000000';
      const body = { name: 'open', displayName: `Being moved (${id})` };
      await target.data('POST /api/applications:create', { body });
      await target.data('POST /api/applications:stop?filterByTk=open');
      const send = async (step: string, message: unknown): Promise<unknown> => {
        const reply = await fetch(
          `${target.running.url}/api/applications:receive?filterByTk=open&move=${id}&step=${step}`,
          {
            method: 'POST',
            headers: {
              'content-type': 'application/octet-stream',
              authorization: `Bearer ${target.tokens.get('admin')}`,
            },
            body: typeof message === 'string' ? message : JSON.stringify(message),
          },
        );
        const { data, code } = (await reply.json()) as { data?: unknown; code?: string };
        return data ?? code;
      };
      expect(await send('check', { store: 1 })).toBe('MOVE_REFUSED');
      expect(await send('prepare', {})).toEqual({});
      const all = { after: null, until: null };
      expect(await send('compare', { table: '_fields', ranges: [all] })).toMatchObject({ ranges: [{ rows: 0 }] });
      expect(await send('compare', { table: '_meta', ranges: [all] })).toBe('MOVE_REFUSED');
      expect(await send('compare', { table: 'x"; DROP TABLE y', ranges: [all] })).toBe('MOVE_REFUSED');
      expect(await send('compare', { table: '_fields', ranges: [{ after: [{}], until: null }] })).toBe('BODY_INVALID');
      expect(await send('rows', { table: '_fields', rows: [['1']], ...all })).toBe('BODY_INVALID');
      expect(await send('rows', { table: '_fields', rows: 7, ...all })).toBe('BODY_INVALID');
      const row = (key: string): unknown => ({ table: '_fields', rows: [[key, '1', 'n', '{}', '{}']], ...all });
      expect(await send('rows', row("1'); DROP TABLE x; --"))).toMatch(/BODY_INVALID|MOVE_REFUSED/);
      expect(await send('blobs', 'xx')).toBe('BODY_INVALID');
      expect(await send(`blob&name=${'a'.repeat(64)}`, 'other bytes')).toBe('MOVE_REFUSED');
      expect(await send('complete', { versions: { version: 'x', schema: '1', store: 1 }, generated: {} })).toBe(
        'MOVE_REFUSED',
      );
      // An incomplete copy is never activated, not even by a request that arrives late.
      expect(await send('place', {})).toBe('MOVE_REFUSED');
      expect(await target.data('GET /api/applications:get?filterByTk=open')).toMatchObject({ status: 'stopped' });
      const listCopies = (): string[] => readdirSync(target.store.dataDir).filter((name) => name.startsWith('move-'));
      expect(listCopies().length).toBe(engine.name === 'sqlite' ? 0 : 1);
      await target.data('POST /api/applications:destroy?filterByTk=open&confirm=open');
      expect(listCopies()).toEqual([]);
      const { databaseUrl } = target.store;
      const schemas = "SELECT nspname FROM pg_namespace WHERE nspname LIKE '%part'";
      if (databaseUrl !== null) expect(await queryDatabase(databaseUrl, schemas)).toEqual([]);
    });
  });
});

test('an invalid certificate is reported, and the token is not sent', async () => {
  const source = await TestServer.start(sqlite);
  await source.data('POST /api/applications:create', { body: { name: 'shop' } });
  let requests = 0;
  const https = createServer(getSharedCertificate(), (_request, response) => {
    requests += 1;
    response.end('<html>');
  });
  await once(https.listen(0, '127.0.0.1'), 'listening');
  const { port } = https.address() as AddressInfo;
  await expect(moveTo(source, `https://127.0.0.1:${port}`, 'x')).rejects.toThrow(
    /The certificate of 127\.0\.0\.1:\d+ is not valid: .*NODE_EXTRA_CA_CERTS/,
  );
  expect(requests).toBe(0);
  https.close();
  await source.stop();
});

describe.skipIf(inject('postgresSkipped') !== null)('a move to an address that is killed', () => {
  describeEngines('into', (engine) => {
    let source: TestServer;
    let store: Store;
    let target: CliProcess;
    let token: string;
    let port: string;
    const statePath = (): string => join(source.store.dataDir, 'moves', 'shop.json');
    /** Null if the command has not stored its state yet or has deleted it, which may happen between two calls. */
    const readState = (): string | null => {
      try {
        return readFileSync(statePath(), 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
        throw error;
      }
    };

    const startTarget = (): Promise<CliProcess> =>
      startCliProcess(store.dataDir, {
        ...serverSettings,
        PORT: port,
        ...(store.databaseUrl && { DATABASE_URL: store.databaseUrl }),
      });
    /** Runs the command. @param onState is called repeatedly with its stored state. */
    const run = async (
      onState: (state: string, kill: () => void) => void = () => {},
    ): Promise<{ code: number | null; text: string }> => {
      const args = ['move', '--app', 'shop', '--to', target.url, ...patient];
      const { PATH = '' } = process.env;
      const env = { PATH, ...serverSettings, DATA_DIR: source.store.dataDir, TABLINUM_TO_TOKEN: token };
      const child = spawn(process.execPath, [program, ...args], { cwd: tmpdir(), env });
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (piece: Buffer) => {
          text += piece.toString();
        });
      const watch = setInterval(() => {
        const state = readState();
        if (state !== null) onState(state, () => child.kill('SIGKILL'));
      }, 1);
      const [code] = (await once(child, 'close')) as [number | null];
      clearInterval(watch);
      return { code, text };
    };

    beforeAll(async () => {
      source = await TestServer.start(sqlite);
      store = await engine.store(true);
      port = '0';
      target = await startTarget();
      ({ port } = new URL(target.url));
      const reply = await fetch(`${target.url}/api/auth:signIn`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(rootCredentials),
      });
      ({ token } = ((await reply.json()) as { data: { token: string } }).data);
      await source.data('POST /api/applications:create', { body: { name: 'shop' } });
      await enterApplication(source);
      const fields = [
        { name: 'n', type: 'integer', unique: true },
        { name: 'text', type: 'text' },
      ];
      await source.data('POST /api/collections:create', { ...shop, body: { name: 'things', fields } });
      for (let n = 0; n < 6000; n += 1000) {
        const body = Array.from({ length: 1000 }, (_, index) => ({ n: n + index, text: 'x'.repeat(500) }));
        await source.data('POST /api/things:create', { ...shop, body });
      }
    });
    afterAll(async () => {
      await target.stop('SIGKILL');
      await source.stop();
      await store.remove();
    });

    test('the same command continues it, whether the command or the server was killed', async () => {
      const reached = [(state: string) => state.includes('"id"'), (state: string) => state.includes('things_')];
      for (const isReached of reached) expect((await run((state, kill) => isReached(state) && kill())).code).toBeNull();
      let isKilled = false;
      const failed = await run((state) => {
        if (isKilled || !state.includes('things_')) return;
        isKilled = true;
        target.signal('SIGKILL');
      });
      expect(failed).toMatchObject({ code: 1, text: expect.stringMatching(/No server listens|cannot be reached/) });
      // The source was not stopped yet, or was started again.
      expect((await source.call('GET /api/things:list?pageSize=1', shop)).status).toBe(200);
      await target.stop('SIGKILL');
      target = await startTarget();
      expect((await run((state, kill) => state.includes('"isComplete":true') && kill())).code).toBeNull();
      await target.stop('SIGKILL');
      target = await startTarget();
      const done = await run();
      expect(done).toMatchObject({ code: 0, text: expect.stringMatching(/runs in http:/) });
      expect(existsSync(statePath())).toBe(false);
      const headers = { authorization: `Bearer ${token}`, 'x-app': 'main' };
      const entered = await fetch(`${target.url}/api/applications:enter?filterByTk=shop`, { method: 'POST', headers });
      const own = ((await entered.json()) as { data: { token: string } }).data.token;
      const list = await fetch(`${target.url}/api/things:list?pageSize=1000&page=6&sort=n`, {
        headers: { authorization: `Bearer ${own}`, 'x-app': 'shop' },
      });
      const { data, meta } = (await list.json()) as { data: { id: number; n: number }[]; meta: { count: number } };
      expect(meta.count).toBe(6000);
      expect(data.at(-1)).toMatchObject({ id: 6000, n: 5999 });
    });
  });
});
