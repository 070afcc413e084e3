import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalDate } from './date.ts';
import { canonicalDatetime } from './datetime.ts';

/** Whether Date formats a parsed text unchanged. It turns 30 February into 2 March, and 24:00 into the next day. */
function isReal(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text && time >= Date.parse('0001-01-01T00:00:00.000Z');
}

test('exactly the days that exist in four centuries are valid dates', () => {
  const wrong: string[] = [];
  for (let year = 1899; year <= 2301; year += 1)
    for (let month = 0; month <= 13; month += 1)
      for (let day = 0; day <= 32; day += day === 1 ? 26 : 1) {
        const two = (number: number): string => String(number).padStart(2, '0');
        const text = `${year}-${two(month)}-${two(day)}`;
        const isDate = isReal(`${text}T00:00:00.000Z`);
        if ((canonicalDate(text) !== null) !== isDate) wrong.push(text);
        if ((canonicalDatetime(`${text}T12:00:00.000Z`) !== null) !== isDate) wrong.push(text);
      }
  expect(wrong).toEqual([]);
});

test('a text in the canonical form is valid exactly if Date formats it unchanged', () => {
  const number = (max: number, digits: number): fc.Arbitrary<string> =>
    fc.integer({ min: 0, max }).map((each) => String(each).padStart(digits, '0'));
  const parts = fc.tuple(number(9999, 4), number(13, 2), number(32, 2), number(25, 2), number(61, 2), number(61, 2));
  fc.assert(
    fc.property(parts, number(999, 3), ([year, month, day, hour, minute, second], fraction) => {
      const text = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction}Z`;
      expect(canonicalDatetime(text)).toBe(isReal(text) ? text : null);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  '0000-01-01T00:00:00.000Z',
  '2026-01-01T24:00:00.000Z',
  '2026-01-01T00:00:60.000Z',
  '2026-01-0aT00:00:00.000Z',
  '٢٠٢٦-٠١-٠١T00:00:00.000Z',
])('%s is no date-time', (text) => expect(canonicalDatetime(text)).toBeNull());

test.each(['0000-12-31', '2026-1-1', '2026-01-01 ', '2026-02-29', '1900-02-29', '2026/01/01', 20260101, null])(
  '%s is no date',
  (value) => expect(canonicalDate(value)).toBeNull(),
);

test('other forms of a date-time are converted', () => {
  expect(canonicalDatetime('2026-01-31')).toBe('2026-01-31T00:00:00.000Z');
  expect(canonicalDatetime('2026-01-31t12:30:00.1239+02:00')).toBe('2026-01-31T10:30:00.123Z');
  expect(canonicalDatetime('2024-02-29 23:59')).toBe('2024-02-29T23:59:00.000Z');
});
