import { expect, test } from 'vitest';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';

test('a name has its own limit, and all names together have a total limit', () => {
  const limiter = new ConcurrencyLimiter(2, 3);
  expect([limiter.acquire('a', 5), limiter.acquire('a', 1), limiter.acquire('b', 2), limiter.acquire('c', 1)]).toEqual([
    2, 0, 1, 0,
  ]);
  limiter.release('a');
  expect([limiter.acquire('c', 2), limiter.acquire('a', 1)]).toEqual([1, 0]);
  limiter.release('a');
  limiter.release('b');
  limiter.release('c');
  expect([limiter.acquire('a', 9), limiter.acquire('b', 9)]).toEqual([2, 1]);
});
