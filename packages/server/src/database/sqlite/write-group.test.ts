import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FifoLock } from '../../base/fifo-lock.ts';
import type { BoundStatement, Row, Transaction } from '../database.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { WriteGroup } from './write-group.ts';

let folder: string;
let connection: SqliteConnection;
let reader: SqliteConnection;
let queue: FifoLock;
let group: WriteGroup;
/** For each sync that has begun, the function that ends it. */
let syncs: (() => void)[];
let commits: ReadonlySet<string>[];
/** Statements that fail instead of running. */
let failing: Set<string>;

const run = (text: string): BoundStatement => ({ text, values: [] });
const listed = (): unknown[] => reader.run(run('SELECT n FROM things ORDER BY n')).map(([n]) => n);
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tablinum-group-'));
  connection = new SqliteConnection(join(folder, 'a.db'));
  connection.script('CREATE TABLE things (n INTEGER PRIMARY KEY)');
  reader = new SqliteConnection(join(folder, 'a.db'), { readOnly: true });
  queue = new FifoLock();
  syncs = [];
  commits = [];
  failing = new Set();
  const plainRun = connection.run.bind(connection);
  connection.run = (statement): Row[] => {
    if (failing.has(statement.text)) throw new Error(`${statement.text} failed`);
    return plainRun(statement);
  };
  group = new WriteGroup({
    connection,
    queue,
    sync: () => new Promise((resolve) => syncs.push(resolve)),
    committed: (touched) => void commits.push(touched),
  });
});
afterEach(() => {
  reader.close();
  connection.close();
  rmSync(folder, { recursive: true });
});

/** Writes a number; resolves when the write is acknowledged. */
async function write(n: number, more?: (transaction: Transaction) => Promise<unknown>): Promise<number> {
  const { result, durable } = await queue.run(() =>
    group.run(async (transaction) => {
      transaction.touch(`table ${n}`);
      await transaction.run(run(`INSERT INTO things VALUES (${n})`));
      await more?.(transaction);
      return n;
    }),
  );
  await durable;
  return result;
}

/** Begins writes while the disk syncs an earlier one, so that they share a commit. */
async function during(begin: () => void): Promise<void> {
  const earlier = write(0);
  await settle();
  expect(syncs).toHaveLength(1);
  begin();
  await settle();
  expect(listed()).toEqual([0]);
  syncs[0]!();
  await earlier;
  await settle();
}

test('writes that arrive while the disk syncs share a commit, and are acknowledged after its sync', async () => {
  const acknowledged: number[] = [];
  await during(() => [1, 2, 3].map((n) => write(n).then(() => acknowledged.push(n))));
  expect(listed()).toEqual([0, 1, 2, 3]);
  expect(commits.map((touched) => [...touched])).toEqual([['table 0'], ['table 1', 'table 2', 'table 3']]);
  expect(acknowledged).toEqual([]);
  syncs[1]!();
  await settle();
  expect(acknowledged).toEqual([1, 2, 3]);
});

test('a write that fails does not undo other writes', async () => {
  const results: Promise<PromiseSettledResult<number>[]>[] = [];
  const fail = (): Promise<never> => Promise.reject(new Error('refused'));
  await during(() => results.push(Promise.allSettled([write(1, fail), write(2), write(0), write(3, fail), write(4)])));
  syncs[1]!();
  const [settled] = await Promise.all(results);
  expect(settled!.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect(listed()).toEqual([0, 2, 4]);
  expect(commits.map((touched) => [...touched])).toEqual([['table 0'], ['table 2', 'table 4']]);
});

test('no write of a commit that fails is acknowledged, and later ones succeed', async () => {
  const results: Promise<PromiseSettledResult<number>[]>[] = [];
  await during(() => {
    results.push(Promise.allSettled([write(1), write(2)]));
    failing.add('COMMIT');
  });
  const [settled] = await Promise.all(results);
  expect(settled!.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(listed()).toEqual([0]);
  failing.clear();
  const later = write(5);
  await settle();
  syncs[1]!();
  expect(await later).toBe(5);
  expect(listed()).toEqual([0, 5]);
});

test('if the engine undoes the whole transaction, all its writes fail', async () => {
  const results: Promise<PromiseSettledResult<number>[]>[] = [];
  const losesAll = async (transaction: Transaction): Promise<never> => {
    await transaction.run(run('ROLLBACK'));
    throw new Error('disk full');
  };
  await during(() => results.push(Promise.allSettled([write(1), write(2, losesAll), write(3)])));
  syncs[1]!();
  const [settled] = await Promise.all(results);
  expect(settled!.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  expect(listed()).toEqual([0, 3]);
});
