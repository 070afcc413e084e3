import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isBuilt } from '../packages/server/bin/bundle.js';

/** How long files of earlier builds remain: a week. */
const keptMilliseconds = 7 * 86_400_000;

/** A folder that is generated from sources, such as the built web interface. */
export interface BuiltFolder {
  /** For messages, such as `The web interface`. */
  readonly title: string;
  readonly output: string;
  /** A file of the folder; its time is compared with that of the sources. */
  readonly file: string;
  /** Files and folders; everything that decides what the folder contains. */
  readonly sources: readonly string[];
  /** The package that builds. */
  readonly tool: string;
  /** Writes the content into another folder, which is in the same folder as `output` and need not exist. */
  readonly write: (folder: string) => Promise<void>;
}

/**
 * Builds a folder, and prints how long it took. @param isOnlyIfNeeded nothing is done if the folder is newer than its sources, or if the
 * tool is not installed. Files of earlier builds remain for a week: a running server loads some of its files later, and
 * open pages load some of theirs.
 */
export async function buildFolder(folder: BuiltFolder, isOnlyIfNeeded: boolean): Promise<void> {
  const { title, output, file, sources, tool, write } = folder;
  if (isOnlyIfNeeded) {
    if (isBuilt(join(output, file), sources)) return;
    if (!isInstalled(tool)) {
      process.stdout.write(`${title} is not built: ${tool} is not installed.\n`);
      return;
    }
  }
  const started = performance.now();
  const staging = `${output}.${process.pid}`;
  try {
    await write(staging);
    moveFiles(staging, output, file);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  process.stdout.write(`${title} is built in ${((performance.now() - started) / 1000).toFixed(1)} s.\n`);
}

/** Moves all files, one of them last, and removes files of earlier builds that are more than a week old. */
function moveFiles(from: string, to: string, last: string): void {
  const listFiles = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(folder, name)).isFile());
  const names = listFiles(from).filter((name) => name !== last);
  for (const name of [...names, last]) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    renameSync(join(from, name), join(to, name));
  }
  const current = new Set([...names, last]);
  for (const name of listFiles(to))
    if (!current.has(name) && statSync(join(to, name)).mtimeMs < Date.now() - keptMilliseconds) rmSync(join(to, name));
}

/** Without the development packages there is nothing to build with. */
const isInstalled = (tool: string): boolean =>
  existsSync(new URL(`../node_modules/${tool}/package.json`, import.meta.url));
