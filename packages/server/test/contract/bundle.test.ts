import { runInThisContext } from 'node:vm';
import { expect, test } from 'vitest';
import { escapeCharacters } from '../../build.ts';

/** JavaScript expressions whose value must not change. */
const expressions = [
  "'’'",
  "'\\’'",
  "'\\\\’'",
  "'😀é'",
  '`a\\\\\\üß`',
  "'\\\\\\\\\\’x'",
  "'x'.replace(/x/, 'ö')",
  "'aü😀'.match(/[ü-ÿ]/)[0]",
  "'aü😀'.match(/[😀]/u)[0]",
  "'a’'.match(/\\’/)[0]",
  '({ größe: 1 }).größe',
];

test.each(expressions)('%s contains only ASCII in the bundle, and keeps its value', (expression) => {
  const escaped = escapeCharacters(expression);
  expect(escaped).toMatch(/^\p{ASCII}*$/u);
  expect(runInThisContext(escaped)).toBe(runInThisContext(expression));
});

test('a raw template with non-ASCII characters is refused', () => {
  expect(() => escapeCharacters('String.raw`a’`')).toThrow('Use an escape in String.raw`a’');
  expect(escapeCharacters("String.raw`a`+'’'")).toBe("String.raw`a`+'\\u2019'");
});
