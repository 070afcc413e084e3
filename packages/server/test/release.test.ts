import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { inspectRelease, writeChecksums } from '../../../scripts/release.ts';

const root = mkdtempSync(join(tmpdir(), 'tablinum-release-'));
afterAll(() => rmSync(root, { recursive: true }));

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], {
    cwd: root,
    encoding: 'utf8',
  });
const write = (path: string, text: string): void => writeFileSync(join(root, path), text);

test('a release needs a clean tree, equal versions, a new tag and a dated section of the changelog', () => {
  git('init', '-q');
  mkdirSync(join(root, 'packages/a'), { recursive: true });
  write('package.json', '{"version":"1.2.3"}');
  write('packages/a/package.json', '{"version":"1.2.2"}');
  write('CHANGELOG.md', '# Changelog\n\n## 1.2.3 – unreleased\n\n- New.\n\n## 1.2.2 – 2026-01-01\n\n- Old.\n');
  expect(inspectRelease(root).problems).toEqual([
    'packages/a has the version 1.2.2, and package.json 1.2.3.',
    expect.stringMatching(/^The working tree has changes.*CHANGELOG.md/s),
    'The section 1.2.3 of CHANGELOG.md has no date: "unreleased".',
  ]);
  write('packages/a/package.json', '{"version":"1.2.3"}');
  write('CHANGELOG.md', '# Changelog\n\n## 1.2.3 – 2026-11-28\n\n- New.\n\n## 1.2.2 – 2026-01-01\n\n- Old.\n');
  git('add', '.');
  git('commit', '-qm', 'all');
  expect(inspectRelease(root)).toEqual({ version: '1.2.3', notes: '- New.', problems: [] });
  git('tag', 'v1.2.3');
  expect(inspectRelease(root).problems).toEqual([expect.stringContaining('The tag v1.2.3 exists.')]);
  git('tag', '-d', 'v1.2.3');
  write('CHANGELOG.md', '# Changelog\n\n## 1.2.4 – 2026-11-28\n\n- New.\n');
  git('commit', '-qam', 'changelog');
  expect(inspectRelease(root).problems).toEqual(['CHANGELOG.md has no section "## 1.2.3 – <date>".']);
});

test('checksums can be checked with sha256sum', () => {
  write('a.tgz', 'bytes');
  writeChecksums(root, [join(root, 'a.tgz')]);
  expect(execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: root, encoding: 'utf8' })).toBe('a.tgz: OK\n');
});
