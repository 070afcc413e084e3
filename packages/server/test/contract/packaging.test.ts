/**
 * `npm pack` of server and client. Installed in an empty folder, the server runs with all its threads and processes,
 * and the client reaches it.
 * The image of the Dockerfile is built with buildah from the same package, and runs like a container: as another user,
 * on a read-only file system.
 */
import { type ChildProcess, type ExecFileSyncOptions, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
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
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { installPacked } from '../../../../scripts/build-image.ts';
import { findFreePort } from '../../../../scripts/unprivileged-user.ts';
import { bundleServer, serverPrograms } from '../../build.ts';
import { rootSettings, startCliProcess } from '../support/cli-process.ts';
import type { Json } from '../support/json.ts';
import { isInstalled } from '../support/nginx.ts';
import { usePackedServer } from '../support/packed-server.ts';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));
// The packages are too large for a folder in memory. Inside the repository, its packages would hide an undeclared
// dependency.
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
  // Without a network, npm would retry for minutes.
  vi.stubEnv('npm_config_fetch_retries', '0');
  try {
    installPacked(installed, files);
  } catch {
    process.stdout.write(
      'The dependencies could not be installed from a registry; those of the repository are linked.\n',
    );
    linkDependencies(files);
  } finally {
    vi.unstubAllEnvs();
  }
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Unpacks the packages next to links to the dependencies of the repository. */
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

test('building the same sources again gives the same files', async () => {
  const again = join(folder, 'again');
  await bundleServer(again, serverPrograms);
  const readFiles = (path: string): Record<string, string> =>
    Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name), 'utf8')]));
  const packed = readFiles(join(installed, 'node_modules/@tablinum/server/dist'));
  expect(Object.keys(packed).length).toBeGreaterThan(100);
  expect(readFiles(again)).toEqual(packed);
});

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
  writeFileSync(join(installed, 'program.mts'), text);
  const printed = execFileSync(process.execPath, ['program.mts'], { cwd: installed, encoding: 'utf8' });
  expect(printed).toBe('[1,2] BUSY NO_SUCH_CODE null\n');
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2025', '--types', 'node'];
  const types = join(repository, 'node_modules/@types');
  const tsc = join(repository, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, ...options, '--typeRoots', types, 'program.mts'], {
    ...quiet,
    stdio: 'inherit',
  });
}

test('the packages contain no TypeScript source and no test, and the client has no dependencies', () => {
  const modules = join(installed, 'node_modules/@tablinum');
  const files = ['server', 'client'].flatMap((name) =>
    readdirSync(join(modules, name), { recursive: true, encoding: 'utf8' }).map((file) => `${name}/${file}`),
  );
  expect(files.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file))).toEqual([]);
  expect(files.length).toBeGreaterThan(250);
  const client = JSON.parse(readFileSync(join(modules, 'client/package.json'), 'utf8')) as Json;
  expect(client.dependencies).toBeUndefined();
  const code = files.filter((file) => file.startsWith('client/') && file.endsWith('.js'));
  for (const file of code) expect(readFileSync(join(modules, file), 'utf8')).not.toMatch(/from '[^.]/);
});

/** Why the image cannot be built here; null if it can. */
function findObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'this is not root';
  if (!isInstalled('buildah')) return 'buildah is not installed';
  return spawnSync('unshare', ['-m', 'true']).status === 0 ? null : 'no namespaces for mounts are allowed';
}

const obstacle = findObstacle();
if (obstacle !== null) process.stdout.write(`The image is not built and run: ${obstacle}.\n`);

/** Starts a command in a file system that it can only read, except for /data and /tmp, as the user of the image. */
const isolate = `set -e
root="$1"; shift
mount --make-rprivate /
mkdir -p "$root/proc" "$root/dev"
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t tmpfs -o uid=10001,mode=700 tmpfs "$root/data"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
cd /
exec chroot --userspec=10001:10001 "$root" /usr/bin/env -i "$@"`;

describe.skipIf(obstacle !== null)('the image', () => {
  const image = join(folder, 'image');
  const buildah = (...args: string[]): string =>
    execFileSync(
      'buildah',
      ['--root', join(image, 'storage'), '--runroot', join(image, 'run'), '--storage-driver', 'vfs', ...args],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 * 1024 * 1024 },
    ).trim();
  let config: Json;
  let root: string;
  let running: ChildProcess | null = null;

  beforeAll(() => {
    // buildah can run RUN steps here (chroot isolation). But the first stage needs a base image from a registry, which
    // CI cannot reach, and
    // runs apt-get and npm. So its last command is run here, and only the second stage of the Dockerfile is built.
    const dockerfile = readFileSync(join(repository, 'Dockerfile'), 'utf8');
    expect(dockerfile).toContain('scripts/build-image.ts /image\n');
    const stage = dockerfile.slice(dockerfile.indexOf('FROM scratch'));
    const context = join(image, 'context');
    mkdirSync(context, { recursive: true });
    writeFileSync(join(context, 'Dockerfile'), stage.replaceAll('--from=build ', '').replaceAll('/image/', 'image/'));
    const script = join(repository, 'scripts/build-image.ts');
    const built = join(context, 'image');
    execFileSync(process.execPath, ['--no-warnings', script, built, installed], { stdio: 'pipe' });
    buildah('bud', '--isolation', 'chroot', '--format', 'docker', '-t', 'tablinum', context);
    config = JSON.parse(buildah('inspect', '--type', 'image', 'tablinum')).Docker.config;
    root = buildah('mount', buildah('from', 'tablinum'));
  }, 300_000);
  afterAll(() => {
    running?.kill('SIGKILL');
    spawnSync('buildah', ['--root', join(image, 'storage'), '--runroot', join(image, 'run'), 'umount', '-a']);
  });

  /** Runs a command of the image. */
  const run = (command: readonly string[], settings: Readonly<Record<string, string>> = {}): ChildProcess => {
    const environment = [...config.Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)];
    const args = ['-m', 'sh', '-c', isolate, 'sh', root, '-C', config.WorkingDir, ...environment, ...command];
    return spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  };

  test('is small, and has a user without privileges, a health check and a volume', () => {
    const [stored] = JSON.parse(buildah('images', '--json')) as { size: string }[];
    const [, megabytes = ''] = /^([\d.]+) ?MB$/i.exec(stored?.size ?? '') ?? [];
    expect(Number(megabytes)).toBeGreaterThan(100);
    expect(Number(megabytes)).toBeLessThan(300);
    expect(config).toMatchObject({ User: 'tablinum', StopSignal: 'SIGTERM', Volumes: { '/data': {} } });
    expect(config.Healthcheck.Test[0]).toBe('CMD');
  });

  test('runs on a read-only file system: the server, its health check and its commands', async () => {
    const port = await findFreePort();
    const settings = { ...rootSettings, PORT: String(port), LOG_LEVEL: 'warn' };
    running = run(config.Cmd, settings);
    let printed = '';
    running.stdout?.on('data', (piece: Buffer) => {
      printed += piece.toString();
    });
    await expect.poll(() => printed, { interval: 20 }).toContain('Tablinum listens on');
    expect(readFileSync(`/proc/${String(running.pid)}/status`, 'utf8')).toMatch(/^Uid:\t10001\t10001/m);
    await usePackedServer(`http://127.0.0.1:${port}`);
    const [healthy] = await once(run(config.Healthcheck.Test.slice(1), settings), 'exit');
    expect(healthy).toBe(0);
    const probe = "try { fs.writeFileSync('/app/x', '') } catch ({ code }) { process.exit(code === 'EROFS' ? 7 : 1) }";
    const [readOnly] = await once(run(['node', '-e', probe]), 'exit');
    expect(readOnly).toBe(7);
    const [help] = await once(run(['tablinum', 'help']), 'exit');
    expect(help).toBe(0);
    running.kill('SIGTERM');
    const [code] = await once(running, 'exit');
    expect(code).toBe(0);
    const [unhealthy] = await once(run(config.Healthcheck.Test.slice(1), settings), 'exit');
    expect(unhealthy).toBe(1);
  });
});
