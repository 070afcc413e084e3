import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const definition = { name: 'things', fields: [{ name: 'n', type: 'integer' }] };

describe('durability (sqlite)', () => {
  test('no reply and no event leaves before its sync', async () => {
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
    await journal.settled(); // what it still had to write would stand among the syncs
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

  test('after a failed sync nothing is acknowledged and nobody is told', async () => {
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

  test('a journal whose store cannot be made leaves no file open', async () => {
    const before = openLogs();
    let fail = false;
    const syncFile = async (handle: FileHandle): Promise<void> => {
      if (fail) throw Object.assign(new Error('disk gone'), { code: 'EIO' });
      await handle.datasync();
    };
    const server = await TestServer.start(sqlite, { syncFile });
    fail = true;
    expect((await server.call('POST /api/collections:create', { body: definition })).status).toBe(500);
    await expect(server.running.applications.main.journal.settled()).rejects.toThrow();
    await server.stop();
    expect(openLogs()).toEqual(before);
  });

  test('what was acknowledged before kill -9 is there after it, with its events', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tablinum-kill-'));
    const program = fileURLToPath(new URL('../support/killable-server.ts', import.meta.url));
    const acknowledged: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const child = spawn(process.execPath, [program, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
      const url = await new Promise<string>((resolve) =>
        child.stdout.once('data', (chunk) => resolve(String(chunk).trim())),
      );
      const call = (path: string, token: string | null, body: unknown): Promise<Response> =>
        fetch(`${url}/api/${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
          body: JSON.stringify(body),
        });
      const signedIn = (await (
        await call('auth:signIn', null, { email: 'root@example.com', password: 'correct horse battery' })
      ).json()) as { data: { token: string } };
      const { token } = signedIn.data;
      if (round === 0) await call('collections:create', token, definition);
      const listed = (await (await call('things:list', token, { pageSize: 1000, fields: ['n'] })).json()) as {
        data: { n: number }[];
      };
      const there = new Set(listed.data.map((thing) => thing.n));
      expect(acknowledged.filter((n) => !there.has(n))).toEqual([]);
      const writer = async (from: number): Promise<void> => {
        for (let n = from; ; n += 4) {
          const reply = await call('things:create', token, { n }).catch(() => null);
          if (!reply) return;
          if (reply.ok) acknowledged.push(n);
        }
      };
      const writers = [0, 1, 2, 3].map((offset) => writer(round * 100_000 + offset));
      // At another moment each time, and on a busy machine not before something was acknowledged.
      const few = acknowledged.length + 5;
      await new Promise((resolve) => setTimeout(resolve, 150 + round * 50));
      await expect.poll(() => acknowledged.length, { timeout: 10_000 }).toBeGreaterThan(few);
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await Promise.all([gone, ...writers]);
    }
    expect(acknowledged.length).toBeGreaterThan(10);
    rmSync(dataDir, { recursive: true, force: true });
  });
});

/** Write-ahead logs that this process holds open, by path; none where the system does not tell. */
function openLogs(): string[] {
  const folder = '/proc/self/fd';
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder).map((descriptor) => {
    try {
      return readlinkSync(join(folder, descriptor));
    } catch {
      return ''; // closed meanwhile
    }
  });
  return paths.filter((path) => path.includes('.db')).sort();
}
