import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { BoundStatement } from '../database.ts';
import { SqliteDatabase } from './sqlite-database.ts';

test('a full-text search that was too long for the event loop runs in a thread the next time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-sqlite-'));
  const database = new SqliteDatabase({
    path: join(folder, 'store.db'),
    readerThreads: 1,
    report: { writes: () => {}, log: () => {} },
  });
  onTestFinished(async () => {
    vi.restoreAllMocks();
    await database.close();
    rmSync(folder, { recursive: true });
  });
  const write = (text: string): Promise<unknown> => database.writeOne({ text, values: [] }, []);
  await write('CREATE VIRTUAL TABLE words USING fts5(text)');
  await write("INSERT INTO words VALUES ('one two')");
  const search: BoundStatement = { text: 'SELECT rowid FROM words WHERE words MATCH ?', values: ['one AND two'] };
  const other: BoundStatement = { text: 'SELECT count(*) FROM words', values: [] };
  // A read on the event loop returns its rows, one in a thread a promise.
  expect(database.read([search])).toEqual([[[1]]]);
  let time = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => {
    time += 5;
    return time;
  });
  expect(database.read([search])).toEqual([[[1]]]);
  const moved = database.read([search]);
  expect(moved).toBeInstanceOf(Promise);
  expect(await moved).toEqual([[[1]]]);
  expect([database.read([other]), database.read([other])]).toEqual([[[[1]]], [[[1]]]]);
  time += 10_000;
  expect(database.read([search])).toEqual([[[1]]]);
});
