import { expect, test } from 'vitest';
import { parseExpiry } from './expires-in.ts';

const parseTime = (text: string): number => Date.parse(text);

test.each([
  ['2h', '2026-01-31T10:00:00.000Z', '2026-01-31T12:00:00.000Z'],
  ['1d', '2026-02-28T10:00:00.000Z', '2026-03-01T10:00:00.000Z'],
  ['1w', '2026-01-31T10:00:00.000Z', '2026-02-07T10:00:00.000Z'],
  ['1m', '2026-01-31T10:00:00.000Z', '2026-02-28T10:00:00.000Z'],
  ['1m', '2028-01-31T10:00:00.000Z', '2028-02-29T10:00:00.000Z'],
  ['1y', '2028-02-29T10:00:00.000Z', '2029-02-28T10:00:00.000Z'],
])('%s from %s ends %s', (text, from, end) => expect(parseExpiry(text, parseTime(from))).toBe(parseTime(end)));

test('an API key with the value never does not expire', () => expect(parseExpiry('never', 0)).toBeNull());

test.each(['', '0d', '10000d', '5', 'd', '1.5d', '-1d', ' 1d', '1D', '9999y', null, 5])('%s is refused', (text) => {
  expect(() => parseExpiry(text, parseTime('2026-01-01T00:00:00.000Z'))).toThrow(/expiresIn/);
});
