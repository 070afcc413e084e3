/**
 * Prepares a release: checks the repository, runs all tests, packs the packages, and writes checksums and notes. It publishes nothing.
 *
 * Usage: node scripts/release.ts [--run]
 *
 * Without `--run` it only checks and lists what it would do. With it, `release/<version>/` contains the packed files, `SHA256SUMS` and
 * `NOTES.md` at the end.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Release {
  readonly version: string;
  /** The section of the changelog, without its heading. */
  readonly notes: string;
  /** What prevents the release, as sentences. */
  readonly problems: readonly string[];
}

const versionForm = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

const readVersion = (path: string): string => {
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version?: string };
  return version ?? '';
};

/** Reads what is to be released, and why it cannot be. @param root of a git repository. */
export function inspectRelease(root: string): Release {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const version = readVersion(join(root, 'package.json'));
  const problems: string[] = [];
  if (!versionForm.test(version)) problems.push(`The version "${version}" in package.json is not of the form 1.2.3.`);
  for (const name of readdirSync(join(root, 'packages'))) {
    const own = readVersion(join(root, 'packages', name, 'package.json'));
    if (own !== version) problems.push(`packages/${name} has the version ${own}, and package.json ${version}.`);
  }
  const changed = git('status', '--porcelain');
  if (changed !== '') problems.push(`The working tree has changes: commit or remove them.\n${changed}`);
  if (git('tag', '--list', `v${version}`) !== '')
    problems.push(`The tag v${version} exists. Raise the version in all files package.json.`);
  const section = findSection(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  if (section === null) problems.push(`CHANGELOG.md has no section "## ${version} – <date>".`);
  else if (!/^\d{4}-\d\d-\d\d$/.test(section.date))
    problems.push(`The section ${version} of CHANGELOG.md has no date: "${section.date}".`);
  else if (section.notes === '') problems.push(`The section ${version} of CHANGELOG.md is empty.`);
  return { version, notes: section?.notes ?? '', problems };
}

/** The section of a version; null if there is none. */
function findSection(text: string, version: string): { readonly date: string; readonly notes: string } | null {
  for (const section of text.split(/^## /m).slice(1)) {
    const [heading = '', ...lines] = section.split('\n');
    const [found, date = ''] = heading.split(/\s+[–-]\s+/);
    if (found === version) return { date: date.trim(), notes: lines.join('\n').trim() };
  }
  return null;
}

/** Lines for `sha256sum --check`. */
export function writeChecksums(folder: string, files: readonly string[]): void {
  const lines = files.map((file) => {
    const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
    return `${sha256}  ${basename(file)}\n`;
  });
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

async function release(root: string, runs: boolean): Promise<number> {
  const print = (text: string): void => void process.stdout.write(`${text}\n`);
  const { version, notes, problems } = inspectRelease(root);
  for (const problem of problems) print(problem);
  const folder = join(root, 'release', version);
  if (existsSync(folder)) print(`The folder ${folder} exists and is replaced.`);
  if (!runs) {
    print(`Dry run of ${version}: ${problems.length === 0 ? 'nothing prevents the release' : 'see above'}.`);
    print(
      'With --run: build of the web interface, npm run check, npm pack, SHA256SUMS and NOTES.md. Nothing is published.',
    );
    return problems.length === 0 ? 0 : 1;
  }
  if (problems.length > 0) return 1;
  const npm = (...args: string[]): void => void execFileSync('npm', args, { cwd: root, stdio: 'inherit' });
  npm('run', 'build:web');
  npm('run', 'check');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { buildPackages, packPackage } = await import('./build-packages.ts');
  const build = join(folder, 'build');
  const built = await buildPackages(build);
  const files = [built.server, built.client].map((each) => packPackage(each, folder));
  rmSync(build, { recursive: true });
  writeChecksums(folder, files);
  writeFileSync(join(folder, 'NOTES.md'), `${notes}\n`);
  // The tests may have changed files.
  const after = inspectRelease(root).problems;
  for (const problem of after) print(problem);
  if (after.length > 0) return 1;
  print(`${folder} contains ${files.map((each) => basename(each)).join(', ')}, SHA256SUMS and NOTES.md.`);
  print(`Nothing was published. To do so: git tag v${version}, push the tag, and run "npm publish" on each file.`);
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  if (args.some((each) => each !== '--run')) {
    process.stderr.write('Usage: node scripts/release.ts [--run]\n');
    process.exitCode = 2;
  } else process.exitCode = await release(dirname(dirname(fileURLToPath(import.meta.url))), args.includes('--run'));
}
