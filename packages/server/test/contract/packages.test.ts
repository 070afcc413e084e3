/** `npm pack` of server and client: installed in an empty folder, the server runs with all its threads and processes, and the client reaches it. */
import { type ExecFileSyncOptions, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rootSettings, startCliProcess } from '../support/cli-process.ts';
import type { Json } from '../support/json.ts';
import { usePackedServer } from '../support/packed-server.ts';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));
// Too much for a folder in memory, and outside of the repository, whose packages would hide one that is not declared.
const folder = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'tablinum-packages-'));
const installed = join(folder, 'empty');
const environment = {
  ...process.env,
  PATH: [join(installed, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
};
const quiet: ExecFileSyncOptions = { cwd: installed, stdio: ['ignore', 'pipe', 'pipe'], env: environment };

beforeAll(() => {
  const script = join(repository, 'scripts/build-packages.ts');
  const built = execFileSync(process.execPath, ['--no-warnings', script, join(folder, 'built')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const files = built.split('\n').filter((line) => line.endsWith('.tgz'));
  expect(files).toHaveLength(2);
  mkdirSync(installed);
  writeFileSync(join(installed, 'package.json'), '{"name":"empty","private":true,"type":"module"}');
  try {
    execFileSync(
      'npm',
      ['install', '--prefer-offline', '--no-audit', '--no-fund', '--fetch-retries=0', ...files],
      quiet,
    );
  } catch {
    process.stdout.write(
      'The dependencies could not be installed from a registry; those of the repository are linked.\n',
    );
    linkDependencies(files);
  }
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Unpacks the packages next to links to the packages of the repository. */
function linkDependencies(files: readonly string[]): void {
  const modules = join(installed, 'node_modules');
  rmSync(modules, { recursive: true, force: true });
  mkdirSync(join(modules, '@tablinum'), { recursive: true });
  for (const name of readdirSync(join(repository, 'node_modules')))
    if (name !== '@tablinum' && name !== '.package-lock.json')
      symlinkSync(join(repository, 'node_modules', name), join(modules, name));
  for (const file of files) {
    const target = join(modules, '@tablinum', file.includes('-server-') ? 'server' : 'client');
    mkdirSync(target);
    execFileSync('tar', ['-xzf', file, '-C', target, '--strip-components=1']);
  }
}

test('the server starts, and everything that it loads later works', async () => {
  const packed = join(installed, 'node_modules/@tablinum/server');
  const program = join(packed, 'bin/tablinum.js');
  expect(execFileSync(process.execPath, [program, 'help'], { encoding: 'utf8' })).toContain('tablinum <command>');
  const server = await startCliProcess(join(folder, 'data'), { ...rootSettings, READERS: '1' }, [], program);
  try {
    runClient(server.url, await usePackedServer(server.url));
  } finally {
    await server.stop('SIGTERM');
  }
}, 60_000);

/** Runs and type-checks a program that uses the packed client. */
function runClient(url: string, token: string): void {
  const text = `import { Client } from '@tablinum/client';
import type { ErrorCode } from '@tablinum/server/protocol';
import type { Extension } from '@tablinum/server/extension';
const code: ErrorCode = 'BUSY';
// @ts-expect-error There is no such code.
const other: ErrorCode = 'NO_SUCH_CODE';
const extension: Extension | null = null;
const client = new Client({ url: ${JSON.stringify(url)}, token: ${JSON.stringify(token)} });
const { data } = await client.records('things').list({ sort: ['n'] });
console.log(JSON.stringify(data.map((each) => each['n'])), code, other, extension);
`;
  writeFileSync(join(installed, 'program.ts'), text);
  const printed = execFileSync(process.execPath, ['program.ts'], { cwd: installed, encoding: 'utf8' });
  expect(printed).toBe('[1,2] BUSY NO_SUCH_CODE null\n');
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2025', '--types', 'node'];
  const types = join(repository, 'node_modules/@types');
  const tsc = join(repository, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, ...options, '--typeRoots', types, 'program.ts'], { ...quiet, stdio: 'inherit' });
}

test('the packages contain no TypeScript source and no test, and the client has no dependencies', () => {
  const modules = join(installed, 'node_modules/@tablinum');
  const files = ['server', 'client'].flatMap((name) =>
    readdirSync(join(modules, name), { recursive: true, encoding: 'utf8' }).map((file) => `${name}/${file}`),
  );
  expect(files.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file))).toEqual([]);
  expect(files.length).toBeGreaterThan(500);
  const client = JSON.parse(readFileSync(join(modules, 'client/package.json'), 'utf8')) as Json;
  expect(client.dependencies).toBeUndefined();
  const code = files.filter((file) => file.startsWith('client/') && file.endsWith('.js'));
  for (const file of code) expect(readFileSync(join(modules, file), 'utf8')).not.toMatch(/from '[^.]/);
});
