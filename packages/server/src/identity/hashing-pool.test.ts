import { expect, test } from 'vitest';
import { HashingPool } from './hashing-pool.ts';

test('a full queue refuses immediately, the other queue continues, and the queues alternate', async () => {
  const pool = new HashingPool(1, 2);
  const order: string[] = [];
  const release: (() => void)[] = [];
  const job = (name: string) => () =>
    new Promise<void>((resolve) => {
      order.push(name);
      release.push(resolve);
    });
  const running = [
    pool.run('strangers', job('s1')),
    pool.run('strangers', job('s2')),
    pool.run('strangers', job('s3')),
  ];
  await expect(pool.run('strangers', job('s4'))).rejects.toMatchObject({ code: 'BUSY', retryAfter: 2 });
  running.push(pool.run('callers', job('c1')), pool.run('callers', job('c2')));
  for (let done = 0; done < 5; done += 1) {
    release[done]!();
    await running[['s1', 's2', 's3', 'c1', 'c2'].indexOf(order[done]!)];
  }
  expect(order).toEqual(['s1', 'c1', 's2', 'c2', 's3']);
});
