import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const glossary = readFileSync(`${root}/docs/glossary.md`, 'utf8');
/** TypeScript files of the sources and of the tests, with paths from the root of the repository. */
const files = ['server', 'client', 'web'].flatMap((name) =>
  ['src', 'test'].flatMap((folder) =>
    readdirSync(`${root}/packages/${name}/${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => `packages/${name}/${folder}/${file}`),
  ),
);

/** Identifiers that the glossary avoids: the code spans of its third column, without `…` and `()`. */
const avoided = new Set(
  glossary
    .split('\n')
    .filter((line) => /^\| .* \| .* \| .*\|$/.test(line))
    .flatMap((line) => [...line.split('|')[3]!.matchAll(/`([A-Za-z]+)(?:\(\))?`/g)].map((match) => match[1]!)),
);
/** Words of the former vocabulary that no identifier may contain, not even as a part of a camel-case name. */
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
/** Exported names that correctly contain an avoided word. This list may only shrink. */
const exceptions = new Set<string>([]);

const exportPattern = /^export (?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;
const exported = files.flatMap((file) =>
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
  const wrong = files.filter((file) =>
    basename(file)
      .replace(/(\.test)?\.\w+$/, '')
      .split('-')
      .some((word) => avoidedParts.includes(word)),
  );
  expect(wrong).toEqual([]);
});

test('functions are named with a verb, not with a trailing "of"', () => {
  expect(exported.filter(({ name }) => /[a-z]Of$/.test(name))).toEqual([]);
});

test('an exported name of the server has one meaning', () => {
  const filesByName = new Map<string, Set<string>>();
  for (const { file, name } of exported)
    if (file.startsWith('packages/server/src/')) filesByName.set(name, (filesByName.get(name) ?? new Set()).add(file));
  expect([...filesByName].filter(([, each]) => each.size > 1)).toEqual([]);
});

test('an exported name of the shared test modules has one meaning', () => {
  const filesByName = new Map<string, Set<string>>();
  for (const { file, name } of exported)
    if (file.startsWith('packages/server/test/support/'))
      filesByName.set(name, (filesByName.get(name) ?? new Set()).add(file));
  expect([...filesByName].filter(([, each]) => each.size > 1)).toEqual([]);
});

/** The name of a scenario: a text that is followed by its request. */
const scenarioName = /\bname:\s*(?:'((?:[^'\\\n]|\\.)+)'|"((?:[^"\\\n]|\\.)+)"),\s*request:/g;
/** Words that continue the sentence of the scenario before. */
const continuation = /^(?:also|and|as|but|nor|not|or|so|then|though|too|which|with|without) /;

test('the name of a scenario is a sentence that is understood without the scenario before it', () => {
  const names = files
    .filter((file) => file.endsWith('.test.ts'))
    .flatMap((file) =>
      [...readFileSync(`${root}/${file}`, 'utf8').matchAll(scenarioName)].map((match) => ({
        file,
        name: (match[1] ?? match[2])!,
      })),
    );
  expect(names.length).toBeGreaterThan(800);
  expect(names.filter(({ name }) => name.split(' ').length < 3 || continuation.test(name))).toEqual([]);
});
