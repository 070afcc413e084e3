import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { type BindEnvironment, type Param, type Sql, sql } from '../sql.ts';
import { foldText } from '../text-fold.ts';
import { DeadlineExceeded, SqliteConnection } from './sqlite-connection.ts';
import { buildContains, buildLike } from './sqlite-text.ts';

const runs = Number(process.env['PROPERTY_RUNS'] ?? 2000);
const connection = new SqliteConnection(':memory:');
afterAll(() => connection.close());

const pieces = [
  ...['a', 'A', 'b', 'i', 'I', 'k', 'K', 'ab', 'Kim', 'K', 'İ', 'ı', 'i\u0307', 'ς', 'Σ', 'é', 'É', '\u0301', '😀'],
  ...['%', '_', '\\', '*', '?', '[', ']', '^', '-', '!', ' ', '\n', '"', '0', 'x'.repeat(28), 'y'.repeat(990)],
];
const text = fc.array(fc.constantFrom(...pieces), { maxLength: 7 }).map((each) => each.join(''));

const column: Sql = sql`t.x`;
const needle: Param = { storage: 'text', read: ({ values }) => values[0] };

function testText(condition: Sql, haystack: string | null, operand: string | null): unknown {
  const values = condition.parts.flatMap((part) => {
    if (typeof part === 'string') return [];
    const value = part.read({ values: [operand] } as unknown as BindEnvironment);
    return [typeof value === 'boolean' ? Number(value) : value];
  });
  const compiled = condition.parts.map((part) => (typeof part === 'string' ? part : '?')).join('');
  const statement = { text: `SELECT ${compiled} FROM (SELECT ? AS x) t`, values: [...values, haystack] };
  return connection.run(statement)[0]?.[0];
}

test('the SQL for "contains" gives the same result as includes() on folded texts', () => {
  const contains = buildContains(column, needle);
  fc.assert(
    fc.property(text, text, (haystack, wanted) => {
      expect(testText(contains, haystack, wanted)).toBe(Number(foldText(haystack).includes(foldText(wanted))));
    }),
    { numRuns: runs, seed: 51 },
  );
  expect(testText(contains, null, 'a')).toBe(null);
  expect(testText(contains, 'a', null)).toBe(null);
});

test('patterns distinguish case, and only % and _ are wildcards', () => {
  const like = buildLike(column, needle, false);
  fc.assert(
    fc.property(text, text, (haystack, chosen) => {
      const pattern = chosen.replace(/\\+$/, '');
      expect(testText(like, haystack, pattern)).toBe(Number(toRegExp(pattern).test(haystack)));
    }),
    { numRuns: runs, seed: 51 },
  );
  for (const [haystack, pattern] of [
    ['a[b]c', 'a[b]c'],
    ['a*c', 'a\\*c'],
    ['100%', '100\\%'],
    ['a\\b', 'a\\\\b'],
    ['[a-z]', '[a-_]'],
  ] as const)
    expect(testText(like, haystack, pattern), pattern).toBe(1);
  expect(testText(like, 'Abc', 'abc')).toBe(0);
  expect(testText(like, 'abc', '[a-z]bc')).toBe(0);
});

test('a pattern that is slow in every text is stopped at the deadline', () => {
  const texts = JSON.stringify(Array.from({ length: 200 }, () => 'a'.repeat(60_000)));
  const rows = sql`(SELECT value AS x FROM json_each(${{ storage: 'text', read: () => texts }})) t`;
  for (const ignoreCase of [false, true]) {
    const pattern: Param = { storage: 'text', read: () => `%${'a'.repeat(900)}b%` };
    const { parts } = sql`SELECT count(*) FROM ${rows} WHERE ${buildLike(column, pattern, ignoreCase)}`;
    const values = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.read({} as BindEnvironment)]));
    const text = parts.map((part) => (typeof part === 'string' ? part : '?')).join('');
    const started = performance.now();
    expect(() => connection.run({ text, values }, started + 3)).toThrow(DeadlineExceeded);
    expect(performance.now() - started).toBeLessThan(5000);
  }
});

function toRegExp(pattern: string): RegExp {
  const parts = pattern.replaceAll(/\\(.)|(.)/gsu, (_, escaped: string | undefined, plain: string | undefined) => {
    if (plain === '%') return '.*';
    if (plain === '_') return '.';
    const code = ((escaped ?? plain) as string).codePointAt(0) as number;
    return `\\u{${code.toString(16)}}`;
  });
  return new RegExp(`^${parts}$`, 'su');
}
