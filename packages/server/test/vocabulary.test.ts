import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const glossary = readFileSync(`${root}/docs/glossary.md`, 'utf8');
const sourceFiles = ['server', 'client', 'web'].flatMap((name) =>
  readdirSync(`${root}/packages/${name}/src`, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.includes('.test.'))
    .map((file) => `packages/${name}/src/${file}`),
);

/** Identifiers that the glossary avoids: the code spans of its third column, without `…` and `()`. */
const avoided = new Set(
  glossary
    .split('\n')
    .filter((line) => /^\| .* \| .* \| .*\|$/.test(line))
    .flatMap((line) => [...line.split('|')[3]!.matchAll(/`([A-Za-z]+)(?:\(\))?`/g)].map((match) => match[1]!)),
);
/** Words of the former vocabulary that fit nowhere in an identifier: they are searched inside camel-case names too. */
const avoidedParts = [
  'asked',
  'told',
  'inside',
  'sight',
  'birth',
  'lanes',
  'loosen',
  'witness',
  'seldom',
  'regrouping',
];
/** Exported names that contain an avoided word and are right. This list may only shrink. */
const exceptions = new Set<string>([]);

const exportPattern = /^export (?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;
const exported = sourceFiles.flatMap((file) =>
  [...readFileSync(`${root}/${file}`, 'utf8').matchAll(exportPattern)].map((match) => ({ file, name: match[1]! })),
);
const wordsIn = (name: string): string[] => name.split(/(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());

test('the glossary lists identifiers to avoid', () => {
  expect(avoided.size).toBeGreaterThan(80);
  expect(avoided).toContain('AskedRecordRequest');
});

test('no exported identifier uses a word that the glossary avoids', () => {
  expect(exported.length).toBeGreaterThan(1500);
  const wrong = exported.filter(
    ({ name }) =>
      !exceptions.has(name) && (avoided.has(name) || wordsIn(name).some((word) => avoidedParts.includes(word))),
  );
  expect(wrong).toEqual([]);
});

test('no file is named with a word that the glossary avoids', () => {
  const wrong = sourceFiles.filter((file) =>
    basename(file)
      .replace(/\.\w+$/, '')
      .split('-')
      .some((word) => avoidedParts.includes(word)),
  );
  expect(wrong).toEqual([]);
});

test('functions are named with a verb, not with a trailing "of"', () => {
  expect(exported.filter(({ name }) => /[a-z]Of$/.test(name))).toEqual([]);
});

test('an exported name of the server has one meaning', () => {
  const files = new Map<string, Set<string>>();
  for (const { file, name } of exported)
    if (file.startsWith('packages/server/')) files.set(name, (files.get(name) ?? new Set()).add(file));
  expect([...files].filter(([, places]) => places.size > 1)).toEqual([]);
});
