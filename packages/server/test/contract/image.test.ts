/** The image of the Dockerfile, built with buildah and run as a container runs it: another user, and a read-only file system. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFreePort } from '../../../../scripts/unprivileged-user.ts';
import { rootSettings } from '../support/cli-process.ts';
import type { Json } from '../support/json.ts';
import { isInstalled } from '../support/nginx.ts';
import { usePackedServer } from '../support/packed-server.ts';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));

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
  const folder = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'tablinum-image-test-'));
  const buildah = (...args: string[]): string =>
    execFileSync(
      'buildah',
      ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs', ...args],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 * 1024 * 1024 },
    ).trim();
  let config: Json;
  let root: string;
  let running: ChildProcess | null = null;

  beforeAll(() => {
    // The first stage needs an image of a registry. What it runs is run here; the second stage is that of the Dockerfile.
    const dockerfile = readFileSync(join(repository, 'Dockerfile'), 'utf8');
    expect(dockerfile).toContain('scripts/build-image.ts /image\n');
    const stage = dockerfile.slice(dockerfile.indexOf('FROM scratch'));
    const context = join(folder, 'context');
    mkdirSync(context);
    writeFileSync(join(context, 'Dockerfile'), stage.replaceAll('--from=build ', '').replaceAll('/image/', 'image/'));
    const script = join(repository, 'scripts/build-image.ts');
    execFileSync(process.execPath, ['--no-warnings', script, join(context, 'image')], { stdio: 'pipe' });
    buildah('bud', '--isolation', 'chroot', '--format', 'docker', '-t', 'tablinum', context);
    config = JSON.parse(buildah('inspect', '--type', 'image', 'tablinum')).Docker.config;
    root = buildah('mount', buildah('from', 'tablinum'));
  }, 300_000);
  afterAll(() => {
    running?.kill('SIGKILL');
    spawnSync('buildah', ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), 'umount', '-a']);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a command of the image. */
  const run = (command: readonly string[], settings: Readonly<Record<string, string>> = {}): ChildProcess => {
    const environment = [...config.Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)];
    const args = ['-m', 'sh', '-c', isolate, 'sh', root, '-C', config.WorkingDir, ...environment, ...command];
    return spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  };

  test('is small, and has a user without rights, a health check and a volume', () => {
    const [image] = JSON.parse(buildah('images', '--json')) as { size: string }[];
    const [, megabytes = ''] = /^([\d.]+) ?MB$/i.exec(image?.size ?? '') ?? [];
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
