import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { SqliteConnection } from './sqlite-connection.ts';
import type { WorkerTask } from './sqlite-worker.ts';
import { WorkerThreads } from './worker-thread.ts';

const folder = mkdtempSync(join(tmpdir(), 'tablinum-worker-threads-'));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (text: string): WorkerTask => ({
  kind: 'read',
  statements: [{ text, values: [] }],
  milliseconds: 10_000,
});

test('a thread is used again, and ends when it has been idle', async () => {
  const path = join(folder, 'a.db');
  new SqliteConnection(path).close();
  const threads = new WorkerThreads(path, { readOnly: false, size: 1, idleMilliseconds: 300 });
  try {
    // A temporary table lives as long as the connection of its thread.
    await threads.run({ kind: 'script', text: 'CREATE TEMP TABLE own(a)' });
    expect(await threads.run(read('SELECT count(*) AS n FROM own'))).toEqual([[[0]]]);
    await wait(600);
    await expect(threads.run(read('SELECT count(*) AS n FROM own'))).rejects.toThrow('no such table');
  } finally {
    await threads.close();
  }
});

test('tasks that arrive while an idle thread ends are all run, and close waits for the thread', async () => {
  const path = join(folder, 'b.db');
  new SqliteConnection(path).close();
  for (let round = 0; round < 20; round += 1) {
    const threads = new WorkerThreads(path, { readOnly: true, size: 1, idleMilliseconds: 5 });
    for (let task = 0; task < 4; task += 1) {
      expect(await threads.run(read(`SELECT ${task} AS n`))).toEqual([[[task]]]);
      await wait(4 + (task % 2));
    }
    await threads.close();
  }
}, 60_000);
