import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FifoLock } from '../../base/fifo-lock.ts';
import type { BoundStatement, ImmediateTransaction, Row, Transaction } from '../database.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { type FinishedWork, WriteGroup } from './write-group.ts';

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

/** The same as `write`, by a write whose statements run at once. */
async function writeNow(
  n: number,
  mayRefuse: boolean,
  more?: (transaction: ImmediateTransaction) => void,
): Promise<number> {
  const runNow = (): FinishedWork<number> =>
    group.runNow((transaction) => {
      transaction.touch(`table ${n}`);
      expect(transaction.insertNow(run(`INSERT INTO things VALUES (${n})`))).toBe(n);
      more?.(transaction);
      return n;
    }, mayRefuse);
  const { result, durable } = queue.depth === 0 ? runNow() : await queue.run(async () => runNow());
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

const statuses = (settled: PromiseSettledResult<number>[]): string[] => settled.map(({ status }) => status);
const refuse = (): never => {
  throw new Error('refused');
};

test('writes whose statements run at once share a commit with the others', async () => {
  const results: Promise<number[]>[] = [];
  await during(() => results.push(Promise.all([writeNow(1, false), write(2), writeNow(3, true)])));
  syncs[1]!();
  expect(await results[0]).toEqual([1, 2, 3]);
  expect(listed()).toEqual([0, 1, 2, 3]);
  expect(commits.map((touched) => [...touched])).toEqual([['table 0'], ['table 1', 'table 2', 'table 3']]);
});

test('if the first statement of such a write fails, or the write may refuse its row, nothing else is undone', async () => {
  const results: Promise<PromiseSettledResult<number>[]>[] = [];
  await during(() => {
    const writes = [writeNow(0, false), writeNow(1, true, refuse), writeNow(2, false), write(3), writeNow(0, true)];
    results.push(Promise.allSettled([...writes, writeNow(4, true, refuse), writeNow(5, true)]));
  });
  syncs[1]!();
  const [settled] = await Promise.all(results);
  const kept = ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled'];
  expect(statuses(settled!)).toEqual(['rejected', 'rejected', ...kept]);
  expect(listed()).toEqual([0, 2, 3, 5]);
});

test('if such a write fails later although it may not, none of the open transaction is written or acknowledged', async () => {
  const results: Promise<PromiseSettledResult<number>[]>[] = [];
  await during(() =>
    results.push(Promise.allSettled([writeNow(1, false), write(2), writeNow(3, false, refuse), writeNow(4, false)])),
  );
  syncs[1]!();
  const [settled] = await Promise.all(results);
  expect(statuses(settled!)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
  expect(listed()).toEqual([0, 4]);
});

test.each([true, false])(
  'if the engine undoes the whole transaction in such a write (%s), all its writes fail',
  async (mayRefuse) => {
    const results: Promise<PromiseSettledResult<number>[]>[] = [];
    const losesAll = (transaction: ImmediateTransaction): never => {
      transaction.runNow(run('ROLLBACK'));
      throw new Error('disk full');
    };
    await during(() =>
      results.push(Promise.allSettled([write(1), writeNow(2, mayRefuse, losesAll), writeNow(3, mayRefuse)])),
    );
    syncs[1]!();
    const [settled] = await Promise.all(results);
    expect(statuses(settled!)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(listed()).toEqual([0, 3]);
  },
);

test('if the rows of a statement that has succeeded cannot be read, none of the open transaction is written', async () => {
  const results: Promise<PromiseSettledResult<unknown>[]>[] = [];
  await during(() => {
    const unreadable = async (): Promise<void> => {
      const insert = run('INSERT INTO things VALUES (2) RETURNING 9223372036854775807');
      await group.runNow((transaction) => transaction.runNow(insert), false).durable;
    };
    results.push(Promise.allSettled([writeNow(1, false), queue.run(unreadable), writeNow(3, false)]));
  });
  syncs[1]!();
  const [settled] = await Promise.all(results);
  expect(settled!.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  expect(listed()).toEqual([0, 3]);
});
