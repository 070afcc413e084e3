import { expect, test } from 'vitest';
import { dayMilliseconds } from '../base/clock.ts';
import { computeRetryWait, parseRetryAfter } from './retry.ts';

test('the first delay is ten seconds, delays grow up to six hours, and each is extended by up to a fifth', () => {
  const waits = Array.from({ length: 12 }, (_, index) => computeRetryWait(index + 1, 0));
  expect(waits.slice(0, 4)).toEqual([10_000, 30_000, 90_000, 270_000]);
  expect(waits.at(-1)).toBe(6 * 3_600_000);
  expect(computeRetryWait(1, 1)).toBe(12_000);
  expect(waits.slice(0, 10).reduce((sum, each) => sum + each, 0)).toBeLessThan(dayMilliseconds);
  expect(computeRetryWait(500, 1)).toBe(7.2 * 3_600_000);
});

test('Retry-After is read as seconds or a date, is limited to six hours, and is ignored if it is malformed', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  expect(parseRetryAfter('120', now)).toBe(120_000);
  expect(parseRetryAfter('Sat, 21 Nov 2026 12:01:00 GMT', now)).toBe(60_000);
  expect(parseRetryAfter('999999', now)).toBe(6 * 3_600_000);
  for (const each of [null, '', 'soon', '0', '-5', '1.5e9', 'Sat, 21 Nov 2026 11:00:00 GMT'])
    expect(parseRetryAfter(each, now)).toBeNull();
});
