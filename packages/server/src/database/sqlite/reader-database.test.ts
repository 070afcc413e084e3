import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BoundStatement } from '../database.ts';
import { ReaderDatabase } from './reader-database.ts';
import { SharedCounters } from './shared-counters.ts';
import { SqliteConnection } from './sqlite-connection.ts';

let folder: string;
let writer: SqliteConnection;
let reader: ReaderDatabase;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tablinum-reader-'));
  const path = join(folder, 'store.sqlite');
  writer = new SqliteConnection(path);
  writer.script('CREATE TABLE _meta (version INTEGER); INSERT INTO _meta VALUES (7); CREATE TABLE items (n INTEGER)');
  reader = new ReaderDatabase({ path, counters: new SharedCounters().buffer });
  reader.requireVersion(7);
});

afterEach(async () => {
  await reader.close();
  writer.close();
  rmSync(folder, { recursive: true });
});

const page: BoundStatement = { text: 'SELECT n FROM items LIMIT 20', values: [] };

/** Counts to a number, so that its time is chosen by a value. */
const countTo = (limit: number): BoundStatement => ({
  text: 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<?) SELECT count(*) FROM c WHERE i%1000>0 OR _tick()',
  values: [limit],
});

/** What it must count to, to take some milliseconds on this machine. */
function calibrate(milliseconds: number): number {
  const limit = 20_000;
  const times = Array.from({ length: 5 }, () => {
    const started = performance.now();
    writer.run(countTo(limit));
    return performance.now() - started;
  });
  return Math.round((limit * milliseconds) / Math.min(...times));
}

const isAnswered = (...statements: BoundStatement[]): boolean => {
  try {
    reader.read(statements);
    return true;
  } catch {
    return false;
  }
};

test('a count that takes some milliseconds is answered now and then, and never hinders its page', async () => {
  const slow = countTo(calibrate(5));
  await expect.poll(() => isAnswered(page, slow)).toBe(true);
  // The next one would hold up other requests again, so the main thread must answer it.
  expect(isAnswered(page, slow)).toBe(false);
  expect(isAnswered(page)).toBe(true);
  await expect.poll(() => isAnswered(page, slow)).toBe(true);
});

test('a statement that takes long is refused at once after it was tried', () => {
  const endless = countTo(calibrate(2000));
  isAnswered(endless);
  const started = performance.now();
  const refusals = Array.from({ length: 100 }, () => isAnswered(page, endless));
  expect(refusals.some((each) => each)).toBe(false);
  expect(performance.now() - started).toBeLessThan(100);
  expect(isAnswered(page)).toBe(true);
});
