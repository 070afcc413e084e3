/**
 * Writes the file system of the container image: the packed server, its dependencies, Node, and the shared libraries that they need, without a
 * shell or a package manager. The libraries are those of the machine that builds.
 *
 * Usage: node scripts/build-image.ts <folder>, which does not exist. The Dockerfile runs it. A second argument is a folder in which the packed
 * server is installed; without it, the server is built, packed and installed.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackages, packPackage } from './build-packages.ts';

/** Loaded by name while the server runs, so that no program refers to it. */
const resolver = 'libresolv.so.2';
/** What neither the server nor a command of the operator reads. */
const unused = [/\.(md|markdown|map|c|cc|h|gyp)$/i, /\.d\.[cm]?ts$/];

/**
 * @param output the folder to create, with `root/`, and `data/` for the folder of another owner.
 * @param installed a folder in which {@link installPacked} has installed the server; null: it is built.
 */
export async function buildImage(output: string, installed: string | null = null): Promise<void> {
  const image = join(output, 'root');
  const app = join(image, 'app');
  mkdirSync(app, { recursive: true });
  if (installed === null) await installServer(app);
  else copyServer(installed, app);
  trim(join(app, 'node_modules'));
  const env = realpathSync('/usr/bin/env');
  copyInto(image, env, '/usr/bin/env');
  const programs = [env, ...findNativeFiles(join(app, 'node_modules'))];
  for (const library of findLibraries(programs, app)) copyInto(image, realpathSync(library), library);
  for (const [path, text] of Object.entries({
    'etc/passwd': 'root:x:0:0:root:/:/none\ntablinum:x:10001:10001:Tablinum:/app:/none\n',
    'etc/group': 'root:x:0:\ntablinum:x:10001:\n',
    'etc/nsswitch.conf': 'hosts: files dns\n',
  })) {
    mkdirSync(dirname(join(image, path)), { recursive: true });
    writeFileSync(join(image, path), text);
  }
  mkdirSync(join(image, 'tmp'));
  mkdirSync(join(output, 'data'), { mode: 0o700 });
  chmodSync(join(image, 'tmp'), 0o1777);
}

async function installServer(app: string): Promise<void> {
  const build = mkdtempSync(join(tmpdir(), 'tablinum-image-'));
  try {
    installPacked(app, [packPackage((await buildPackages(join(build, 'packages'))).server, build)]);
  } finally {
    rmSync(build, { recursive: true });
  }
}

/** Installs packed packages, with what they need at run time, in a folder. */
export function installPacked(folder: string, files: readonly string[]): void {
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  const options = ['--prefer-offline', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save'];
  execFileSync('npm', ['install', ...options, ...files], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

function copyServer(installed: string, app: string): void {
  const client = join(installed, 'node_modules/@tablinum/client');
  cpSync(join(installed, 'node_modules'), join(app, 'node_modules'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => path !== client,
  });
  cpSync(join(installed, 'package.json'), join(app, 'package.json'));
}

function trim(modules: string): void {
  for (const name of readdirSync(modules).filter((each) => /^node-.*-(x64|arm64)$/.test(each)))
    for (const part of ['include', 'share']) rmSync(join(modules, name, part), { recursive: true, force: true });
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && unused.some((each) => each.test(entry.name))) rmSync(join(entry.parentPath, entry.name));
}

/** The programs and libraries of packages. */
function findNativeFiles(modules: string): string[] {
  return readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => /\.node$|\.so(\.[\d.]+)?$|\/node-[^/]+\/bin\/node$/.test(path));
}

/** The libraries of the machine that files load. */
function findLibraries(files: readonly string[], app: string): Set<string> {
  const libraries = new Set<string>();
  for (const file of files) {
    const listed = execFileSync('ldd', [file], { encoding: 'utf8' });
    const missing = /^\s*(\S+) => not found$/m.exec(listed);
    if (missing) throw new Error(`${file} needs ${missing[1] ?? ''}, which is not installed.`);
    for (const match of listed.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)) libraries.add(match[1] ?? '');
  }
  const own = [...libraries].filter((path) => !resolve(path).startsWith(app));
  const folder = dirname(own.find((path) => path.includes('/libc.so')) ?? '/lib');
  return new Set([...own, ...(existsSync(join(folder, resolver)) ? [join(folder, resolver)] : [])]);
}

function copyInto(image: string, from: string, path: string): void {
  const target = join(image, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(from, target);
  chmodSync(target, lstatSync(from).mode & 0o755);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , image, installed] = process.argv;
  if (image === undefined || existsSync(image)) {
    process.stderr.write(
      'Usage: node scripts/build-image.ts <folder that does not exist> [<folder with an installed server>]\n',
    );
    process.exitCode = 2;
  } else await buildImage(resolve(image), installed === undefined ? null : resolve(installed));
}
