/**
 * Builds the web interface into dist/, and compresses each file in two ways (`.br`, `.gz`), so that the server only has to send it. With
 * `--if-needed` nothing is done while dist/ is newer than its sources.
 */
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { buildFolder } from '../../scripts/build-folder.ts';

const root = fileURLToPath(new URL('.', import.meta.url));
const repository = join(root, '../..');

await buildFolder(
  {
    title: 'The web interface',
    output: join(root, 'dist'),
    file: 'index.html',
    sources: [
      join(root, 'src'),
      join(root, 'public'),
      join(root, 'index.html'),
      join(root, 'vite.config.ts'),
      join(root, 'build.ts'),
      join(repository, 'packages/client/src'),
      join(repository, 'packages/server/src/protocol'),
      join(repository, 'package-lock.json'),
    ],
    tool: 'vite',
    write: build,
  },
  process.argv.includes('--if-needed'),
);

async function build(folder: string): Promise<void> {
  process.env['NODE_ENV'] = 'production'; // also if a test builds it: the size and speed of what users get
  const vite = await import('vite');
  await vite.build({ root, logLevel: 'warn', build: { outDir: folder, emptyOutDir: true } });
  const assets = join(folder, 'assets');
  await Promise.all(readdirSync(assets).map((name) => compressFile(join(assets, name))));
}

async function compressFile(path: string): Promise<void> {
  if (!/\.(js|css|svg)$/.test(path)) return;
  const plain = await readFile(path);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  await writeFile(`${path}.br`, await promisify(brotliCompress)(plain, quality));
  await writeFile(`${path}.gz`, await promisify(gzip)(plain, { level: 9 }));
}
