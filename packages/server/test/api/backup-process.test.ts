/** The process that makes backups: its priority, its end with the server, and its failures. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, test as anyTest, beforeAll, expect } from 'vitest';
import { sqlite } from '../support/engines.ts';
import { bucket, S3Server } from '../support/s3-server.ts';
import { TestServer } from '../support/scenario.ts';

/** The tests read `/proc`. */
const test = anyTest.skipIf(process.platform !== 'linux');
const root = mkdtempSync(join(tmpdir(), 'tablinum-backup-process-'));
let s3: S3Server;
let server: TestServer;

beforeAll(async () => {
  s3 = await S3Server.start();
  server = await TestServer.start(sqlite, { env: { ...s3.env('', 'BACKUP_S3'), BACKUP_DIR: root } });
});
afterEach(() => {
  s3.fault = () => null;
});
afterAll(async () => {
  await server.stop();
  await s3.remove();
  rmSync(root, { recursive: true });
});

/** The ids of the backup processes that this process has started. */
function findProcesses(): number[] {
  const lines = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' }).split(
    '\n',
  );
  return lines.filter((line) => line.includes('backup-process')).map((line) => Number.parseInt(line, 10));
}

/** Begins a backup that waits for the bucket. */
async function begin(): Promise<{ readonly id: string; readonly pid: number; readonly go: () => void }> {
  const gate = Promise.withResolvers<void>();
  s3.fault = (line) => (line.startsWith(`PUT /${bucket}/b`) ? { until: gate.promise } : null);
  const { id } = (await server.call('POST /api/backups:create')).body.data;
  await expect.poll(() => s3.waiting, { interval: 20 }).toBeGreaterThan(0);
  const [pid] = findProcesses();
  return { id, pid: pid ?? expect.fail('no process'), go: gate.resolve };
}

async function end(id: string): Promise<unknown> {
  await (await server.running.applications.backups()).backups.waitForEnd();
  return server.data(`GET /api/backups:get?filterByTk=${id}`);
}

test('all threads that copy data have a lower priority than requests', async () => {
  const { id, pid, go } = await begin();
  const tasks = readdirSync(`/proc/${pid}/task`).map((task) => readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8'));
  // The 17th value after the name, which is in parentheses, is the priority.
  const priorities = tasks.map((text) => [/\((.*)\)/.exec(text)?.[1], text.split(') ')[1]?.split(' ')[16]]);
  const copying = priorities.filter(([name]) => name === 'libuv-worker' || name === 'node' || name === 'MainThread');
  expect(copying.length).toBeGreaterThan(1);
  expect(copying.every(([, priority]) => priority === '10')).toBe(true);
  go();
  expect(await end(id)).toMatchObject({ status: 'done' });
  expect(findProcesses()).toEqual([]);
});

test('if the process is killed, the backup fails and leaves nothing, and the next backup works', async () => {
  const before = s3.keys();
  const { id, pid, go } = await begin();
  process.kill(pid, 'SIGKILL');
  await expect.poll(findProcesses, { interval: 20 }).toEqual([]);
  go();
  s3.fault = () => null;
  expect(await end(id)).toMatchObject({ status: 'failed', problem: 'The backup process ended unexpectedly.' });
  expect([s3.keys(), readdirSync(root)]).toEqual([before, []]);
  const next = (await server.call('POST /api/backups:create')).body.data;
  expect(await end(next.id)).toMatchObject({ status: 'done' });
});

test('the process ignores the signals of a supervisor, and ends with the server', async () => {
  const { pid, go } = await begin();
  process.kill(pid, 'SIGTERM');
  await server.running.stop();
  await expect.poll(findProcesses, { interval: 20 }).toEqual([]);
  go();
  await server.boot();
});

test('a restore that a stop interrupts is undone at the next start', async () => {
  await server.data('POST /api/applications:create', { body: { name: 'shop' } });
  const { id } = (await server.call('POST /api/backups:create')).body.data;
  expect(await end(id)).toMatchObject({ status: 'done' });
  const { backups } = await server.running.applications.backups();
  const stores = join(server.store.dataDir, 'applications');
  const before = readdirSync(stores).filter((name) => name.endsWith('.db'));
  const runTask = backups.runTask.bind(backups);
  const created = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<void>();
  backups.runTask = async (task, onProgress) => {
    await runTask(task, onProgress);
    created.resolve();
    await killed.promise;
  };
  const body = { application: 'shop', confirm: 'shop' };
  const restore = (await server.call(`POST /api/backups:restore?filterByTk=${id}`, { body })).body.data;
  await created.promise;
  const stopped = server.running.stop();
  setTimeout(() => killed.reject(new Error('The server was stopped.')), 300);
  await stopped;
  await server.boot();
  await expect.poll(() => end(restore.id)).toMatchObject({ status: 'failed' });
  expect(readdirSync(stores).filter((name) => name.endsWith('.db'))).toEqual(before);
});
