import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { expect, test } from 'vitest';
import { bundle } from '../../bin/bundle.js';
import { bundleServer, escapeCharacters, serverPrograms } from '../../build.ts';

/** Texts of JavaScript whose value must not change. */
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

test.each(expressions)('%s has only ASCII in the bundle, and its value', (expression) => {
  const escaped = escapeCharacters(expression);
  expect(escaped).toMatch(/^\p{ASCII}*$/u);
  expect(runInThisContext(escaped)).toBe(runInThisContext(expression));
});

test('a raw template with other characters is refused', () => {
  expect(() => escapeCharacters('String.raw`a’`')).toThrow('Use an escape in String.raw`a’');
  expect(escapeCharacters("String.raw`a`+'’'")).toBe("String.raw`a`+'\\u2019'");
});

/** The files of a bundle, by name. It is written next to dist/, from where its files find others. */
async function buildAgain(): Promise<Record<string, string>> {
  const folder = mkdtempSync(`${bundle.folder}-again-`);
  try {
    await bundleServer(folder, serverPrograms);
    return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('the same sources give the same files, in whatever order programs are found', async () => {
  const [first, second] = [await buildAgain(), await buildAgain()];
  expect(Object.keys(second)).toEqual(Object.keys(first));
  expect(second).toEqual(first);
  expect(Object.keys(first).length).toBeGreaterThan(100);
});
