import { expect, test } from 'vitest';
import { day, waitAfter } from './retry.ts';

test('ten seconds, then ever later, six hours at most, and up to a fifth more', () => {
  const waits = Array.from({ length: 12 }, (_, index) => waitAfter(index + 1, 0));
  expect(waits.slice(0, 4)).toEqual([10_000, 30_000, 90_000, 270_000]);
  expect(waits.at(-1)).toBe(6 * 3_600_000);
  expect(waitAfter(1, 1)).toBe(12_000);
  expect(waits.slice(0, 10).reduce((sum, each) => sum + each, 0)).toBeLessThan(day);
  expect(waitAfter(500, 1)).toBe(7.2 * 3_600_000);
});
