/** kill -9 in the middle of backups and restores over HTTP: the next start has the earlier data or all of the restored data. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { runVerifyCommand } from '../../src/cli-verify.ts';
import { describeEngines, type Store } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { ServerProcess } from '../support/server-process.ts';

const rows = 4000;
/**
 * When the process is killed, as a fraction of the time that the work takes. The restore of an application ends when
 * the stores are swapped.
 */
const moments = [0.4, 0.75, 0.9];
/** The same for `main`: in the second half, the server closes its stores, swaps them and opens them again. */
const mainMoments = process.env['MAIN_KILLS']
  ? Array.from({ length: Number(process.env['MAIN_KILLS']) }, Math.random)
  : [0.3, 0.7, 0.85];

describeEngines('kill -9', (engine) => {
  const root = mkdtempSync(join(tmpdir(), 'tablinum-backup-crash-'));
  const folder = join(root, 'backups');
  const env = { BACKUP_DIR: folder, LOG_LEVEL: 'silent' };
  let store: Store;
  let server: ServerProcess;
  /**
   * A backup of all applications that was made before another record was added to `things`, and how many milliseconds
   * it took.
   */
  let saved: Json;
  let saveTime: number;

  const restart = async (): Promise<void> => {
    await server.kill();
    server = await ServerProcess.start(store, env);
  };
  const callShop = async (action: string, body?: unknown): Promise<Json> => {
    const entered = await server.data('applications:enter?filterByTk=shop');
    const headers = { 'x-app': 'shop', authorization: `Bearer ${entered.token}` };
    return (await server.call(action, body, headers))!.json();
  };
  const countThings = async (): Promise<number> => (await callShop('things:list?pageSize=1')).meta.count;
  const list = (): Promise<Json[] | null> => server.data('backups:list');
  const end = (id: string): Promise<Json> =>
    vi.waitFor(
      async () => {
        const found = (await list())?.find((each) => each.id === id);
        if (found === undefined || found.status === 'running') throw new Error(`The backup ${id} has not ended.`);
        return found;
      },
      // Backups run with a low priority: if other tests keep all processors busy, a backup gets only a tenth of one.
      { timeout: 60_000, interval: 50 },
    );
  const backUp = async (body: object = {}): Promise<string> => (await server.data('backups:create', body)).id;
  const restore = async (id: string, application: string): Promise<string> =>
    (await server.data(`backups:restore?filterByTk=${id}`, { application, confirm: application })).id;

  beforeAll(async () => {
    vi.spyOn(console, 'log').mockImplementation(() => {});
    store = await engine.store(true);
    server = await ServerProcess.start(store, env);
    await server.data('applications:create', { name: 'shop' });
    await callShop('collections:create', { name: 'things', fields: [{ name: 'n', type: 'integer' }] });
    for (let n = 0; n < rows; n += 1000)
      await callShop(
        'things:create',
        Array.from({ length: 1000 }, (_, index) => ({ n: n + index })),
      );
    const started = performance.now();
    saved = await end(await backUp());
    saveTime = performance.now() - started;
    expect(saved.status).toBe('done');
    await callShop('things:create', { n: -1 });
  });
  afterAll(async () => {
    await server.kill();
    await store.remove();
    rmSync(root, { recursive: true });
  });

  test('a backup is complete, or listed as failed without files', async () => {
    for (const moment of moments) {
      const id = await backUp({ application: 'shop' });
      await pause(moment * saveTime);
      await restart();
      const ended = await end(id);
      expect(['done', 'failed']).toContain(ended.status);
      expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
      expect(readdirSync(folder).includes(id)).toBe(ended.status === 'done');
      expect(ended.problem).toBe(ended.status === 'done' ? null : 'The server stopped before the work was finished.');
    }
  });

  test('the restore of an application leaves the earlier data or all of the restored data', async () => {
    const started = performance.now();
    expect((await end(await restore(saved.id, 'shop'))).status).toBe('done');
    const restoreTime = performance.now() - started;
    for (const moment of moments) {
      await callShop('things:create', { n: -1 });
      const id = await restore(saved.id, 'shop');
      await pause(moment * restoreTime);
      await restart();
      const ended = await end(id);
      expect(await server.data('applications:get?filterByTk=shop')).toMatchObject({ status: 'running' });
      expect([await countThings(), ended.status]).toEqual(
        ended.status === 'done' ? [rows, 'done'] : [rows + 1, 'failed'],
      );
      if (ended.status === 'failed') expect(ended.problem).toMatch(/Nothing was changed/);
      else expect((await list())!.find((each) => each.id === ended.keptAs)?.status).toBe('done');
      if (engine.name === 'sqlite') {
        const files = readdirSync(join(store.dataDir, 'applications'));
        expect(files.filter((name) => /^[0-9a-f-]{36}\.db$/.test(name))).toHaveLength(1);
        expect(readdirSync(store.dataDir).filter((name) => name.includes('.part'))).toEqual([]);
      }
      // The next attempt begins with the earlier data.
      if (ended.status === 'failed') await end(await restore(saved.id, 'shop'));
    }
  });

  test('the restore of the main application leaves the earlier data or all of the restored data, and a following backup is complete', async () => {
    await server.data('collections:create', { name: 'notes', fields: [{ name: 'n', type: 'integer' }] });
    const all = await end(await backUp());
    const restoreMain = async (): Promise<string> => {
      await server.data('notes:create', { n: 1 });
      return restore(all.id, 'main');
    };
    const kept = await countThings();
    const started = performance.now();
    expect(await end(await restoreMain())).toMatchObject({ status: 'done' });
    const mainTime = performance.now() - started;
    let notes = 0;
    for (const moment of mainMoments) {
      const id = await restoreMain();
      await pause(moment * mainTime);
      await restart();
      const ended = await end(id);
      notes = ended.status === 'done' ? 0 : notes + 1;
      expect((await server.data('notes:list')).length, `killed after ${moment} of ${mainTime} ms`).toBe(notes);
      expect(await countThings()).toBe(kept);
      if (engine.name === 'sqlite')
        expect(readdirSync(store.dataDir).filter((name) => /\.part|restore/.test(name))).toEqual([]);
    }
    const last = await end(await backUp());
    expect(last.status).toBe('done');
    await server.kill('SIGTERM');
    const settings = { DATA_DIR: store.dataDir, ...(store.databaseUrl && { DATABASE_URL: store.databaseUrl }) };
    await runVerifyCommand([join(folder, last.id)], readConfig(settings));
  });
});
