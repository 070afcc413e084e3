/** The bundled server, and whether it is up to date. JavaScript, so that a start does not load Node's TypeScript compiler. */
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The folder of the bundled server, the file in it that is written last, and everything that decides what it contains. */
export const bundle = {
  folder: pathOf('../dist'),
  lastFile: 'licenses.txt',
  sources: ['../src', '../build.ts', '../../../package-lock.json'].map(pathOf),
};

/**
 * Tells whether a file was built after the last change of all its sources.
 *
 * @param {string} file the file that was written last.
 * @param {readonly string[]} sources files, and folders with all that is below them. The time of change (`ctime`) counts, which no
 *   program can set; that of a folder changes when a file is removed.
 * @returns {boolean} false also if something cannot be read.
 */
export function isBuilt(file, sources) {
  try {
    const time = statSync(file).mtimeMs;
    return sources.every((path) => isOlder(path, time));
  } catch {
    return false;
  }
}

function isOlder(path, time) {
  const stats = statSync(path);
  if (stats.ctimeMs > time) return false;
  return !stats.isDirectory() || readdirSync(path).every((name) => isOlder(`${path}/${name}`, time));
}
