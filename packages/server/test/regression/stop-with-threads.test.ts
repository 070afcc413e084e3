/**
 * In an earlier version, a stop while an SQLite thread was about to reply ended the process with code 0 before the stores
 * were closed: the reply unreferenced the thread, so nothing kept the process alive until the thread had ended.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { serverProgram } from '../support/server-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'tablinum-stop-'));
afterAll(() => rmSync(folder, { recursive: true }));

const source = (name: string): string =>
  JSON.stringify(new URL(`../../src/database/sqlite/${name}`, import.meta.url).href);

test('closing threads while they reply ends, and the code after it runs', () => {
  const program = `
import { SqliteConnection } from ${source('sqlite-connection.ts')};
import { WorkerThreads } from ${source('worker-thread.ts')};
const path = ${JSON.stringify(join(folder, 'a.db'))};
new SqliteConnection(path).close();
const task = { kind: 'read', statements: [{ text: 'SELECT 1', values: [] }], milliseconds: 10_000 };
for (let round = 0; round < 40; round += 1) {
  const threads = new WorkerThreads(path, { readOnly: true, size: 1 });
  await threads.run(task);
  const last = threads.run(task).catch(() => {});
  // The reply arrives before, while and after the thread is asked to end.
  for (const end = performance.now() + (round % 10) / 20; performance.now() < end; );
  await threads.close();
  await last;
}
process.stdout.write('closed');`;
  const file = join(folder, 'program.mjs');
  writeFileSync(file, program);
  expect(execFileSync(process.execPath, [...serverProgram.flags, file], { encoding: 'utf8' })).toBe('closed');
});
