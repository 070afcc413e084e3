/** What keeps the engines apart from the rest: words that only their folders may use, and one flag with few readers. */
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

/** Words that one engine alone understands. */
const engineWords = /\bxid8?\b|\bpg_\w*|\browid\b|\bLATERAL\b|\bEXPLAIN\b|\bjson_each\b/g;

/** Texts for operators that name a tool or a file of PostgreSQL. This list may only become shorter. */
const allowedWords = ['base/start-failure.ts: pg_hba', 'cli-backup.ts: pg_dump'];

test('words of one engine stand in its folder only, also in comments', () => {
  expect(files.flatMap((file) => occurrences(file, engineWords)).sort()).toEqual(allowedWords);
});

/** Where several servers on one store make a difference that no member of Database or Dialect can hide. */
const multiNodeReaders = [
  'applications/application.ts',
  'applications/application.ts',
  'applications/applications.ts',
  'http/health.ts',
  'realtime/feed.ts',
  'webhooks/webhooks.ts',
];

test('few places ask whether other servers use the same store', () => {
  const readers = files
    .filter((file) => file !== 'database/database.ts')
    .flatMap((file) => occurrences(file, /\bmultiNode\b/g));
  expect(readers.map((each) => each.slice(0, each.indexOf(':'))).sort()).toEqual(multiNodeReaders);
  expect(multiNodeReaders.length).toBeLessThanOrEqual(7);
});

test('no room asks which engine runs', () => {
  // The start message names the engine.
  expect(files.flatMap((file) => occurrences(file, /\bdialect\.name\b/g))).toEqual(['server.ts: dialect.name']);
});
