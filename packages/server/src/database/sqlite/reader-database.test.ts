import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { BoundStatement } from '../database.ts';
import { ReaderDatabase } from './reader-database.ts';
import { SharedCounters } from './shared-counters.ts';
import { createSharedTotals } from './shared-totals.ts';
import { SqliteConnection } from './sqlite-connection.ts';

let folder: string;
let writer: SqliteConnection;
let reader: ReaderDatabase;
let counters: SharedCounters;
let totals: SharedArrayBuffer;
/** Milliseconds of a clock that advances by a step whenever it is read, so that the machine's speed does not matter. */
let time: number;
let step: number;

beforeEach(() => {
  time = 1_000_000;
  step = 0.5;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    time += step;
    return time;
  });
  folder = mkdtempSync(join(tmpdir(), 'tablinum-reader-'));
  const path = join(folder, 'store.sqlite');
  writer = new SqliteConnection(path);
  writer.script('CREATE TABLE _meta (version INTEGER); INSERT INTO _meta VALUES (7); CREATE TABLE items (n INTEGER)');
  counters = new SharedCounters();
  totals = createSharedTotals();
  reader = new ReaderDatabase({ path, counters: counters.buffer, totals });
  reader.requireVersion(7);
});

afterEach(async () => {
  vi.restoreAllMocks();
  await reader.close();
  writer.close();
  rmSync(folder, { recursive: true });
});

const page: BoundStatement = { text: 'SELECT n FROM items LIMIT 20', values: [] };

/** A count that checks its deadline the given number of times. */
const countWith = (checks: number): BoundStatement => ({
  text: 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<?) SELECT count(*) FROM c WHERE _tick()',
  values: [checks],
});

const isAnswered = (...statements: BoundStatement[]): boolean => {
  try {
    reader.read(statements);
    return true;
  } catch {
    return false;
  }
};

test('a count that takes some milliseconds only runs from time to time, and never prevents its page', () => {
  const slow = countWith(12); // about 6 ms
  expect(isAnswered(page, slow)).toBe(true);
  // The next counts would delay other requests again, so the main thread must answer them.
  for (let attempt = 0; attempt < 4; attempt += 1) expect(isAnswered(page, slow)).toBe(false);
  expect(isAnswered(page)).toBe(true);
  time += 1000;
  expect(isAnswered(page, slow)).toBe(true);
});

test('a slow statement is tried once, and is then refused without an attempt for ten seconds', () => {
  const long = countWith(1000);
  expect(isAnswered(page, long)).toBe(false);
  time += 1000;
  const before = time;
  expect(isAnswered(page, long)).toBe(false);
  expect(time - before).toBeLessThan(5);
  expect(isAnswered(page)).toBe(true);
  time += 10_000;
  const later = time;
  expect(isAnswered(page, long)).toBe(false);
  expect(time - later).toBeGreaterThan(10);
});

test('a full-text search that passes its deadline unnoticed counts as too long, and other statements do not', () => {
  writer.script("CREATE VIRTUAL TABLE words USING fts5(text); INSERT INTO words VALUES ('one two')");
  const search: BoundStatement = { text: 'SELECT rowid FROM words WHERE words MATCH ?', values: ['one AND two'] };
  expect(reader.read([search])).toEqual([[[1]]]);
  step = 5;
  // The first one may take longer.
  expect([1, 2, 3, 4].map(() => isAnswered(search))).toEqual([true, true, true, false]);
  expect([1, 2, 3].map(() => isAnswered(page))).toEqual([true, true, true]);
  time += 10_000;
  expect(isAnswered(search)).toBe(true);
});

test('a total of another thread is valid until one of its tables changes', () => {
  reader.sharedTotals(['items']).note('a count', [12, null, 0]);
  expect(reader.sharedTotals(['items']).find('a count')).toEqual([12, null, 0]);
  counters.countCommit(['other']);
  expect(reader.sharedTotals(['items']).find('a count')).toEqual([12, null, 0]);
  counters.countCommit(['items']);
  expect(reader.sharedTotals(['items']).find('a count')).toBeNull();
  reader.sharedTotals(['items']).note('a count', [13, null, 0]);
  counters.countCommit(['*']);
  expect(reader.sharedTotals(['items']).find('a count')).toBeNull();
});
