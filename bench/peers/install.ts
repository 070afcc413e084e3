/** Installs what is compared into a scratch folder outside of the repository, and reuses what is there. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Installed } from './subject.ts';

export const scratch = process.env['PEERS_FOLDER'] ?? join(tmpdir(), 'tablinum-peers');

/** The version of Node.js for the products that run on it: the newest that they support with long-term maintenance. */
const currentNode = '24.20.0';

export function folderOf(name: string): string {
  const folder = join(scratch, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * Runs a program to its end; what it says is in `install.log` of the folder.
 *
 * @throws with the last line of the log if it fails.
 */
export async function run(
  folder: string,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const log = join(folder, 'install.log');
  const output = openSync(log, 'w');
  const child = spawn(command[0]!, command.slice(1), {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output],
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => closeSync(output));
  if (code !== 0) throw new Error(`${command.join(' ')}: ${lastLines(log) || code}`);
}

function lastLines(log: string): string {
  return readFileSync(log, 'utf8').trim().split('\n').slice(-3).join(' | ').slice(0, 400);
}

export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  }
}

/** The program `node` of a version, from the registry. */
async function installedNode(version: string): Promise<{ program: string; folder: string }> {
  const folder = folderOf(`node-${version}`);
  const name = `node-${process.platform}-${process.arch}`;
  const program = join(folder, 'node_modules', name, 'bin', 'node');
  if (!existsSync(program)) {
    writeFiles(folder, { 'package.json': '{"private":true}' });
    await run(folder, ['npm', 'install', `${name}@${version}`, '--no-audit', '--no-fund']);
  }
  return { program, folder: join(folder, 'node_modules', name) };
}

/** PATH that finds this version of Node.js first. */
export async function pathOfNode(version: string = currentNode): Promise<string> {
  return join((await installedNode(version)).folder, 'bin') + delimiter + (process.env['PATH'] ?? '');
}

/** Packages of npm, and what they need to be installed. */
export interface Packages {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  /** Versions of packages that the dependencies depend on. */
  readonly overrides?: Readonly<Record<string, string>>;
  readonly node?: string;
}

/**
 * Installs packages, with native parts built for the version of Node.js that will execute them.
 *
 * @returns the version of the first.
 */
export async function installPackages(
  name: string,
  { dependencies, flags = [], overrides = {}, node = currentNode }: Packages,
): Promise<Installed> {
  const folder = folderOf(name);
  const first = Object.keys(dependencies)[0]!;
  const done = join(folder, 'installed');
  const wanted = JSON.stringify({ dependencies, node });
  if (!existsSync(done) || readFileSync(done, 'utf8') !== wanted) {
    writeFiles(folder, { 'package.json': JSON.stringify({ name: 'peer', private: true, dependencies, overrides }) });
    await run(folder, ['npm', 'install', '--omit=dev', '--no-audit', '--no-fund', ...flags], {
      PATH: await pathOfNode(node),
      npm_config_nodedir: (await installedNode(node)).folder,
    });
    writeFileSync(done, wanted);
  }
  const manifest = readFileSync(join(folder, 'node_modules', first, 'package.json'), 'utf8');
  return { version: (JSON.parse(manifest) as { version: string }).version, runtime: `Node.js ${node}` };
}
