/** Checks that the engines stay separate: some words may only occur in their folders, and one flag has few readers. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !/^database\/(sqlite|postgres)\//.test(name),
);
const text = (file: string): string => readFileSync(join(source, file), 'utf8');
const occurrences = (file: string, pattern: RegExp): string[] =>
  [...text(file).matchAll(pattern)].map(([word]) => `${file}: ${word}`);

/** Words that only one engine understands. */
const engineWords = /\bxid8?\b|\bpg_\w*|\browid\b|\bLATERAL\b|\bEXPLAIN\b|\bjson_each\b/g;

/** Texts for operators that name a tool or a file of PostgreSQL. This list may only become shorter. */
const allowedWords = ['base/start-failure.ts: pg_hba'];

test('names of one engine only occur in its folder, also in comments', () => {
  expect(files.flatMap((file) => occurrences(file, engineWords)).sort()).toEqual(allowedWords);
});

/** Files that must know whether several servers use one store, because no member of Database or Dialect hides it. */
const multiNodeReaders = [
  'applications/application.ts',
  'applications/applications.ts',
  'http/health.ts',
  'mail/delivery/mail-delivery.ts',
  'realtime/feed.ts',
  'webhooks/webhooks.ts',
];

test('few places check whether several servers use the same store', () => {
  const readers = files
    .filter((file) => file !== 'database/database.ts')
    .flatMap((file) => occurrences(file, /\bmultiNode\b/g));
  expect(readers.map((each) => each.slice(0, each.indexOf(':'))).sort()).toEqual(multiNodeReaders);
  expect(multiNodeReaders.length).toBeLessThanOrEqual(6);
});

test('no folder checks which engine is used', () => {
  // The start message names the engine.
  expect(files.flatMap((file) => occurrences(file, /\bdialect\.name\b/g))).toEqual(['server.ts: dialect.name']);
});

/** Files with functions of more than four parameters, see the last override of biome.json. This number may only go down. */
const maxFilesOverParameterBudget = 20;

test('the limit of parameters has few exceptions', () => {
  const { overrides } = JSON.parse(readFileSync(join(source, '../../../biome.json'), 'utf8')) as {
    overrides: { includes: string[]; linter: { rules: { complexity?: Record<string, unknown> } } }[];
  };
  const exceptions = overrides.filter(({ linter }) => linter.rules.complexity?.['useMaxParams'] === 'off');
  expect(exceptions.flatMap(({ includes }) => includes).length).toBeLessThanOrEqual(maxFilesOverParameterBudget);
});

test('there are few non-null assertions', () => {
  // An assertion follows a name, a bracket or a call; `!==` and negations do not.
  const assertion = /[\w)\]]!(?=[.,;:)\]}[\s])(?!=)/g;
  const code = (file: string): string => text(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$|(['"`])(?:\\.|(?!\1).)*\1/gm, '');
  const all = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  const count = all.reduce((sum, file) => sum + [...code(file).matchAll(assertion)].length, 0);
  expect(count).toBeLessThanOrEqual(140);
});

test('braces are only used for several statements, branches and loops', () => {
  const loneStatement =
    /^( *)(?:\} else )?(?:if|for|while) \(.*\) \{\n\1 {2}(?:return|throw|continue|break)[^\n]*;\n\1\}/gm;
  expect(files.flatMap((file) => occurrences(file, loneStatement))).toEqual([]);
});
