/** `operator.json` in the data folder: where the command line finds the running server, and its credential. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Only the owner of the data folder may read it. */
const operatorFileName = 'operator.json';

/** Writes the file. @returns a function that removes it, unless another server has overwritten it meanwhile. */
export function writeOperatorFile(dataDir: string, url: string, token: string): () => void {
  const path = join(dataDir, operatorFileName);
  const part = `${path}.${process.pid}`;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(part, JSON.stringify({ url, token, pid: process.pid, host: hostname() }), {
      mode: 0o600,
      flag: 'wx',
    });
    renameSync(part, path);
  } catch {
    rmSync(part, { force: true });
    return () => {}; // with PostgreSQL, the folder may be read-only: the command line then starts its own server
  }
  return () => {
    try {
      if (readFileSync(path, 'utf8').includes(token)) rmSync(path, { force: true });
    } catch {
      // another process has removed it
    }
  };
}
