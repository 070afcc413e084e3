import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fileScope, unreferencedGraceMilliseconds } from '../../src/base/blob-store.ts';
import { describeEngines, type Engine, type Store, shareStore } from '../support/engines.ts';
import { fetchBytes, sendFiles, startFileServer, uploadFile } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';

const day = unreferencedGraceMilliseconds;

/** A server whose clock a test moves, and the number of its blobs. */
class SweptServer {
  readonly server: TestServer;
  readonly #move: (milliseconds: number) => void;

  private constructor(server: TestServer, move: (milliseconds: number) => void) {
    this.server = server;
    this.#move = move;
  }

  static async start(engine: Engine): Promise<SweptServer> {
    let offset = 0;
    const server = await startFileServer(engine, { clock: { now: () => Date.now() + offset } });
    return new SweptServer(server, (milliseconds) => {
      offset += milliseconds;
    });
  }

  /**
   * Lets time pass and sweeps. The age of a file is the one that the disk reports, so the sweep gets the time of the
   * test clock.
   */
  async sweepAfter(days: number): Promise<void> {
    this.#move(days * day + 1000);
    const { files, clock } = this.server.running.applications.main;
    await files.sweep(clock.now());
    await this.server.signInAsAdmin();
  }

  async countBlobs(): Promise<number> {
    const { files } = this.server.running.applications.main;
    return (await files.blobs.findStoredBefore(fileScope, Number.MAX_SAFE_INTEGER / 1000)).length;
  }
}

describeEngines('removal of files', (engine) => {
  test('files that no record refers to are removed after a day, and all other bytes stay', async () => {
    const swept = await SweptServer.start(engine);
    const { server } = swept;
    const upload = (name: string, content = name): Promise<{ id: number; url: string }> =>
      uploadFile(server, { name, content }, 'admin');
    const create = (papers: readonly { id: number }[]): Promise<{ id: number }> =>
      server.data('POST /api/posts:create', { body: { papers: papers.map(({ id }) => id) } });

    const stray = await upload('stray');
    const [kept, replaced, destroyed] = [await upload('kept'), await upload('replaced'), await upload('destroyed')];
    const twin = await upload('twin', 'kept');
    expect(await swept.countBlobs()).toBe(4); // equal bytes are stored once
    const { id } = await create([kept, replaced]);
    const other = await create([destroyed]);
    await server.data(`POST /api/posts:update?filterByTk=${id}`, { body: { papers: [kept.id] } });
    await server.data(`POST /api/posts:destroy?filterByTk=${other.id}`);

    await swept.server.running.applications.main.files.sweep(Date.now());
    expect(await swept.countBlobs()).toBe(4); // nothing is a day old
    await swept.sweepAfter(1);
    expect((await fetchBytes(server, stray.url, { as: 'admin' })).status).toBe(404);
    await swept.sweepAfter(1);
    expect(await swept.countBlobs()).toBe(1);
    const bytes = await fetchBytes(server, kept.url, { as: 'admin' });
    expect([bytes.status, await bytes.text()]).toEqual([200, 'kept']);
    await server.play({
      name: 'a file that was removed is not there to be used',
      request: `POST /api/posts:update?filterByTk=${id}`,
      body: { papers: [twin.id] },
      expect: { status: 422, code: 'VALUE_INVALID' },
    });

    // The bytes are removed after the collection was destroyed.
    await server.data('POST /api/collections:destroy?filterByTk=posts');
    await swept.sweepAfter(1);
    await swept.sweepAfter(1);
    expect(await swept.countBlobs()).toBe(0);
    await server.stop();
  });

  test('a relation with onDelete "restrict" on one file does not stop the removal of other files', async () => {
    const swept = await SweptServer.start(engine);
    const { server } = swept;
    const fields = [{ name: 'file', type: 'belongsTo', target: 'files', onDelete: 'restrict' }];
    await server.data('POST /api/collections:create', { body: { name: 'holders', fields } });
    const held = await uploadFile(server, { name: 'held', content: 'held' }, 'admin');
    await uploadFile(server, { name: 'other', content: 'other' }, 'admin');
    await server.data('POST /api/holders:create', { body: { fileId: held.id } });
    await swept.sweepAfter(1);
    expect(await swept.countBlobs()).toBe(1);
    expect((await fetchBytes(server, held.url, { as: 'admin' })).status).toBe(200);
    await server.stop();
  });

  test('a file that a record starts to use during a sweep stays', async () => {
    const swept = await SweptServer.start(engine);
    const { server } = swept;
    const { id } = await uploadFile(server, { name: 'late.txt', content: 'late' }, 'admin');
    const { files, clock } = server.running.applications.main;
    const [created] = await Promise.all([
      server.call('POST /api/posts:create', { body: { papers: [id] } }),
      files.sweep(clock.now() + day + 1000),
    ]);
    // If the sweep came first, the file is gone; otherwise the record has the file with its bytes.
    const bytes = await fetchBytes(server, `/api/files/${id}`, { as: 'admin' });
    expect([created.status, bytes.status]).toEqual(created.status === 200 ? [200, 200] : [422, 404]);
    await server.stop();
  });

  test('a destroyed application leaves no bytes', async () => {
    const { server } = await SweptServer.start(engine);
    const headers = { 'x-app': 'shop' };
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
    server.tokens.set('shop', token);
    const files = [{ name: 'shop.txt', content: 'of the shop' }];
    const { body } = await sendFiles(server, '/api/files:upload', { as: 'shop', files, headers });
    const { url } = body.data[0];
    expect(await (await fetchBytes(server, url, { as: 'shop', headers })).text()).toBe('of the shop');
    // Another application cannot read the file.
    expect((await fetchBytes(server, url, { as: 'admin' })).status).toBe(404);
    await server.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    expect(listBlobFiles(server.store.dataDir)).toEqual([]);
    await server.stop();
  });
});

describeEngines('a server that is killed while files are uploaded and exports are stored', (engine) => {
  let store: Store;
  let server: ServerProcess;
  beforeEach(async () => {
    store = await engine.store(true);
    server = await ServerProcess.start(store);
  });
  afterEach(() => store.remove());

  test('the bytes of every record exist, and no other bytes remain', async () => {
    const fields = [{ name: 'file', type: 'file', required: true }];
    await server.data('collections:create', { name: 'reports', fields });
    let acknowledged = 0;
    const write = async (writer: number): Promise<void> => {
      for (let index = 0; ; index += 1) {
        const form = new FormData();
        form.append('file', new Blob([`${writer}.${index} `.repeat(50_000)]), 'a.txt');
        const headers = { authorization: `Bearer ${server.token}` };
        const reply = await fetch(`${server.url}/api/files:upload`, { method: 'POST', headers, body: form }).catch(
          () => null,
        );
        const uploaded: Json = await reply?.json().catch(() => null);
        if (!uploaded) return;
        if (index % 3 === 2) continue; // no record refers to it
        if (!(await server.data('reports:create', { file: uploaded.data[0].id }))) return;
        acknowledged += 1;
      }
    };
    await server.data('collections:create', { name: 'texts', fields: [{ name: 'text', type: 'text' }] });
    await server.data(
      'texts:create',
      Array.from({ length: 300 }, (_, index) => ({ text: `${index} `.repeat(5000) })),
    );
    let exported = 0;
    // A file that changes each time, and that is so large that it is incomplete when the server is killed.
    const storeExports = async (): Promise<void> => {
      for (let last = 299; await server.data('texts:storeExport', { filter: { id: { $gt: 300 - last } } }); last -= 1)
        exported += 1;
    };
    const writers = [...[1, 2, 3, 4].map(write), storeExports()];
    await vi
      .waitFor(() => expect(Math.min(acknowledged / 4, exported)).toBeGreaterThan(2), { timeout: 60_000, interval: 5 })
      .finally(() => server.kill());
    await Promise.all(writers);

    const restarted = await TestServer.start(shareStore(engine, store), { clock: { now: () => Date.now() } });
    const { files } = restarted.running.applications.main;
    const count = (): Promise<number> =>
      engine.name === 'sqlite' ? Promise.resolve(listBlobFiles(store.dataDir).length) : countBlobRows(store);
    let days = 0;
    let records: Json[] = [];
    // PostgreSQL may still complete a statement of the killed server.
    await vi.waitFor(
      async () => {
        days += 2;
        await files.sweep(Date.now() + days * day);
        records = await restarted.data('GET /api/reports:list?pageSize=1000');
        expect(await count()).toBe(records.length);
      },
      { timeout: 60_000, interval: 100 },
    );
    expect(records.length).toBeGreaterThanOrEqual(acknowledged);
    for (const { file } of records) {
      const bytes = await fetchBytes(restarted, file.url, { as: 'admin' });
      expect([bytes.status, (await bytes.text()).length]).toEqual([200, file.size]);
    }
    await restarted.stop();
  });
});

/** Files with bytes below the folder of a store, also incomplete ones. */
function listBlobFiles(dataDir: string): string[] {
  const root = join(dataDir, 'applications');
  if (!existsSync(root)) return []; // the bytes are in PostgreSQL
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes('.files'))
    .map(({ name }) => name);
}

async function countBlobRows({ databaseUrl }: Store): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl! });
  await client.connect();
  const { rows } = await client.query('SELECT count(DISTINCT sha256)::int AS blobs FROM app_1._blobs');
  await client.end();
  return rows[0].blobs;
}
