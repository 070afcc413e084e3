import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';

const definition = { name: 'things', fields: [{ name: 'n', type: 'integer' }] };

describe('durability (sqlite)', () => {
  test('no reply and no event is sent before its sync', async () => {
    const log: string[] = [];
    let held: (() => void) | null = null;
    let hold = false;
    const syncFile = async (handle: FileHandle): Promise<void> => {
      if (hold) await new Promise<void>((resolve) => (held = resolve));
      await handle.datasync();
      log.push('sync');
    };
    const server = await TestServer.start(sqlite, { syncFile });
    await server.data('POST /api/collections:create', { body: definition });
    const since = await server.lastCursor();
    const { changes, journal } = server.running.applications.main;
    await journal.openFlushedStore(); // pending journal entries would otherwise be written among the syncs
    const end = changes.subscribe(() => log.push('event'));
    log.length = 0;
    hold = true;
    const reply = server.call('POST /api/things:create', { body: { n: 1 } }).then(() => log.push('reply'));
    while (!held) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(log).toEqual([]);
    expect(await changes.read(since, 10)).toEqual([]);
    hold = false;
    (held as () => void)();
    await reply;
    expect(log).toEqual(['sync', 'event', 'reply']);
    expect(await changes.read(since, 10)).toHaveLength(1);
    end();
    await server.stop();
  });

  test('after a failed sync no write is acknowledged and no event is sent', async () => {
    let fail = false;
    const syncFile = async (handle: FileHandle): Promise<void> => {
      if (fail) throw Object.assign(new Error('disk gone'), { code: 'EIO' });
      await handle.datasync();
    };
    const server = await TestServer.start(sqlite, { syncFile });
    await server.data('POST /api/collections:create', { body: definition });
    const since = await server.lastCursor();
    fail = true;
    const write = (): ReturnType<TestServer['call']> => server.call('POST /api/things:create', { body: { n: 1 } });
    expect((await write()).body).toMatchObject({ error: 'Internal Server Error', code: 'APPLICATION_FAILED' });
    fail = false;
    expect((await write()).status).toBe(500);
    expect(await server.running.applications.main.changes.read(since, 10)).toEqual([]);
    await server.stop();
  });

  test('a journal whose store cannot be created leaves no file open', async () => {
    const before = openLogs();
    let fail = false;
    const syncFile = async (handle: FileHandle): Promise<void> => {
      if (fail) throw Object.assign(new Error('disk gone'), { code: 'EIO' });
      await handle.datasync();
    };
    const server = await TestServer.start(sqlite, { syncFile });
    fail = true;
    expect((await server.call('POST /api/collections:create', { body: definition })).status).toBe(500);
    await expect(server.running.applications.main.journal.openFlushedStore()).rejects.toThrow();
    await server.stop();
    expect(openLogs()).toEqual(before);
  });

  test('acknowledged writes and their events still exist after kill -9', async () => {
    const store = await sqlite.store(true);
    const acknowledged: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const server = await ServerProcess.start(store);
      if (round === 0) await server.data('collections:create', definition);
      const listed: { n: number }[] = await server.data('things:list', { pageSize: 1000, fields: ['n'] });
      const there = new Set(listed.map((thing) => thing.n));
      expect(acknowledged.filter((n) => !there.has(n))).toEqual([]);
      const writer = async (from: number): Promise<void> => {
        for (let n = from; ; n += 4) {
          const reply = await server.call('things:create', { n });
          if (!reply) return;
          if (reply.ok) acknowledged.push(n);
        }
      };
      const writers = [0, 1, 2, 3].map((offset) => writer(round * 100_000 + offset));
      // The process is killed at another moment in each round. On a busy machine, the kill waits until some writes were
      // acknowledged.
      const few = acknowledged.length + 5;
      await new Promise((resolve) => setTimeout(resolve, 150 + round * 50));
      await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(few);
      await Promise.all([server.kill(), ...writers]);
    }
    expect(acknowledged.length).toBeGreaterThan(10);
    await store.remove();
  });
});

/** The write-ahead logs that this process has open, by path; empty on systems without /proc. */
function openLogs(): string[] {
  const folder = '/proc/self/fd';
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder).map((descriptor) => {
    try {
      return readlinkSync(join(folder, descriptor));
    } catch {
      return ''; // the file was closed in the meantime
    }
  });
  return paths.filter((path) => path.includes('.db')).sort();
}
