import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { settings } from '../src/base/config.ts';
import { errorCatalogue } from '../src/protocol/error-catalogue.ts';

const page = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const rowsOf = (path: string, form: RegExp): string[][] =>
  [...page(path).matchAll(form)].map((match) => match.slice(1));

test('docs/errors.md lists exactly the errors of the code', () => {
  const rows = rowsOf('docs/errors.md', /^\| `([A-Z_]+)` \| ([^|]+) \| \d+ \| (.+) \|$/gm);
  expect(rows).toEqual(Object.entries(errorCatalogue).map(([code, { label, when }]) => [code, label, when]));
});

test('docs/operations.md lists exactly the settings of the code', () => {
  const rows = rowsOf('docs/operations.md', /^\| `([A-Z\d_]+)`(?: \(`(\w+)`\))? \| (?:`([^|]+)`)? ?\| (.+) \|$/gm);
  expect(rows).toEqual(
    settings.map(({ name, fallback, secret, meaning }) => [
      name,
      secret ? `${name}_FILE` : undefined,
      fallback || undefined,
      meaning,
    ]),
  );
});

test('docs/answers.md names tests that exist', () => {
  const rows = rowsOf('docs/answers.md', /\| `([\w/.-]+\.test\.ts)`: (.+) \|$/gm);
  expect(rows.length).toBeGreaterThan(40);
  // The beginning of a title, or of a name in a table of tests.
  const isTitle = (text: string, name: string): boolean => ["'", '"', '`'].some((quote) => text.includes(quote + name));
  const missing = rows.filter(([file, name]) => !isTitle(page(`packages/server/test/${file}`), name!));
  expect(missing).toEqual([]);
});

test('decisions/dependencies.md has a row for each runtime dependency', () => {
  const { dependencies } = JSON.parse(page('packages/server/package.json')) as { dependencies: Record<string, string> };
  const listed = page('decisions/dependencies.md');
  expect(Object.keys(dependencies).filter((name) => !listed.includes(`| ${name} `))).toEqual([]);
});

test('the README names only existing commands', () => {
  const { scripts } = JSON.parse(page('package.json')) as { scripts: Record<string, string> };
  const named = [...page('README.md').matchAll(/npm run ([a-z][\w-]*)/g)].map((match) => match[1]!);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

test('every way to start a server limits the young generation of V8, and what malloc retains', () => {
  const flags = ['--max-semi-space-size=4'];
  const joined = flags.join(' ');
  const allocator = 'MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072';
  const quoted = (mark: string): string => flags.map((each) => `${mark}${each}${mark}`).join(', ');
  const { scripts } = JSON.parse(page('package.json')) as { scripts: Record<string, string> };
  const { bin } = JSON.parse(page('packages/server/package.json')) as { bin: Record<string, string> };
  expect(scripts['start']).toBe(`${Object.keys(bin)[0]} start`);
  expect(scripts['demo']).toContain(`node ${joined} `);
  expect(page('scripts/dev.ts')).toContain(`${quoted("'")}, 'packages/server/bin/tablinum.js'`);
  expect(page('Dockerfile')).toMatch(new RegExp(`^CMD \\["node", ${quoted('"')}, `, 'm'));
  for (const file of Object.values(bin))
    expect(page(`packages/server/${file}`).split('\n')[0]).toBe(`#!/usr/bin/env -S ${allocator} node ${joined}`);
  for (const file of ['Dockerfile', 'deploy/tablinum.service']) expect(page(file)).toContain(allocator);
});

const documentFiles = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'].concat(
  ['docs', 'decisions'].flatMap((folder) =>
    readdirSync(new URL(`../../../${folder}`, import.meta.url))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
);
const withoutCode = (text: string): string => text.replaceAll(/^```.*?^```/gms, '');

/** The anchors of a page, as GitHub derives them from its headings. */
function listAnchors(path: string): Set<string> {
  const headings = [...withoutCode(page(path)).matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

test('links between documents lead to existing pages and headings', () => {
  const broken = documentFiles.flatMap((file) =>
    [...withoutCode(page(file)).matchAll(/\]\(([^)\s:]+)\)/g)]
      .map((match) => match[1]!)
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? file : join(dirname(file), path);
        if (!existsSync(new URL(`../../../${target}`, import.meta.url))) return true;
        return anchor !== undefined && target.endsWith('.md') && !listAnchors(target).has(anchor);
      })
      .map((link) => ({ file, link })),
  );
  expect(broken).toEqual([]);
});
