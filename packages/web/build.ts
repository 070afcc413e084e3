/**
 * Builds the web interface into dist/, and packs each file twice beside itself (`.br`, `.gz`), so that the server only has
 * to send it. With `--if-needed` nothing is done while dist/ is newer than all it is made of.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const root = fileURLToPath(new URL('.', import.meta.url));
const repository = join(root, '../..');
const output = join(root, 'dist');
/** Everything that decides what dist/ holds. */
const sources = [
  join(root, 'src'),
  join(root, 'public'),
  join(root, 'index.html'),
  join(root, 'vite.config.ts'),
  join(root, 'build.ts'),
  join(repository, 'packages/client/src'),
  join(repository, 'packages/server/src/protocol'),
  join(repository, 'package-lock.json'),
];

function isFresh(): boolean {
  const builtIndex = join(output, 'index.html');
  return existsSync(builtIndex) && statSync(builtIndex).mtimeMs >= Math.max(...sources.map(newest));
}

function newest(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  const times = readdirSync(path, { recursive: true, encoding: 'utf8' }).map(
    (name) => statSync(join(path, name)).mtimeMs,
  );
  return Math.max(stats.mtimeMs, ...times);
}

/** Beside dist/ first, then in its place: a server that starts meanwhile finds the one or the other. */
async function build(): Promise<void> {
  const stagingDir = join(root, `dist.${process.pid}`);
  process.env['NODE_ENV'] = 'production'; // also where a test builds it: the size and speed of what people get
  const vite = await import('vite');
  await vite.build({ root, logLevel: 'warn', build: { outDir: stagingDir, emptyOutDir: true } });
  const assets = join(stagingDir, 'assets');
  await Promise.all(readdirSync(assets).map((name) => compressFile(join(assets, name))));
  rmSync(output, { recursive: true, force: true });
  try {
    renameSync(stagingDir, output);
  } catch (error) {
    // Another one, of the same sources, was faster by a moment.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    rmSync(stagingDir, { recursive: true });
  }
}

async function compressFile(path: string): Promise<void> {
  if (!/\.(js|css|svg)$/.test(path)) return;
  const plain = await readFile(path);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  await writeFile(`${path}.br`, await promisify(brotliCompress)(plain, quality));
  await writeFile(`${path}.gz`, await promisify(gzip)(plain, { level: 9 }));
}

/** Without the development packages there is nothing to build with: the server serves what is there, or the API alone. */
function hasBuildTools(): boolean {
  try {
    return Boolean(import.meta.resolve('vite')) && existsSync(fileURLToPath(import.meta.resolve('vite')));
  } catch {
    return false;
  }
}

const isBuildIfNeeded = process.argv.includes('--if-needed');
if (isBuildIfNeeded && !hasBuildTools())
  process.stdout.write('The web interface is not built anew: its tools are not installed.\n');
else if (!(isBuildIfNeeded && isFresh())) {
  const started = performance.now();
  await build();
  process.stdout.write(`The web interface is built in ${((performance.now() - started) / 1000).toFixed(1)} s.\n`);
}
