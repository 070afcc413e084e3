import { AsyncLocalStorage } from 'node:async_hooks';
import { vi } from 'vitest';
import { HashingPool } from '../../src/identity/hashing-pool.ts';
import type { TestServer } from './scenario.ts';

/**
 * Counts the password hashes that are computed while the work runs, and how many of them inside a transaction of
 * `main`, which
 * other writes would wait for. No time is measured, so hashes may be as cheap as they like.
 */
export async function countPasswordHashes(
  server: TestServer,
  work: () => Promise<void>,
): Promise<{ all: number; withinTransactions: number }> {
  const { database } = server.running.applications.main;
  const { write } = database;
  const transactions = new AsyncLocalStorage<true>();
  database.write = (run, options) =>
    write.call(
      database,
      (transaction) =>
        transactions.run(true, () => (run as (inside: typeof transaction) => Promise<unknown>)(transaction)),
      options,
    ) as never;
  const { run } = HashingPool.prototype;
  const hashes = { all: 0, withinTransactions: 0 };
  const spy = vi.spyOn(HashingPool.prototype, 'run').mockImplementation(function (this: HashingPool, ...given) {
    hashes.all += 1;
    if (transactions.getStore()) hashes.withinTransactions += 1;
    return run.apply(this, given) as never;
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
    database.write = write;
  }
  return hashes;
}
