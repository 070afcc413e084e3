import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { FileBlobs } from './file-blobs.ts';

/** What the store does, in order: folders that are made, paths that are synced. */
const done: string[] = [];
/** Through the module itself: sources that other files have loaded in this worker import it too. */
const { open } = fs;
fs.open = async (...given: Parameters<typeof open>) => {
  const file = await open(...given);
  const sync = file.sync.bind(file);
  file.sync = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await sync();
    done.push(String(given[0]));
  };
  return file;
};
syncBuiltinESMExports();

const folder = mkdtempSync(join(tmpdir(), 'tablinum-blobs-'));
afterAll(() => {
  fs.open = open;
  syncBuiltinESMExports();
  rmSync(folder, { recursive: true });
});
const blob = (text: string) => ({ sha256: hash('sha256', text), bytes: Buffer.from(text) });

/** Two texts whose hashes begin alike, so that they share a folder. */
function twins(): [ReturnType<typeof blob>, ReturnType<typeof blob>] {
  const seen = new Map<string, ReturnType<typeof blob>>();
  for (let number = 0; ; number += 1) {
    const each = blob(`text ${number}`);
    const other = seen.get(each.sha256.slice(0, 2));
    if (other) return [other, each];
    seen.set(each.sha256.slice(0, 2), each);
  }
}

test('a file counts as kept when its folder and those above are on the disk, whoever made them', async () => {
  const root = join(folder, 'store');
  const [one, other] = twins();
  const above = [join(root, '1', one.sha256.slice(0, 2)), join(root, '1'), root, folder];
  const store = new FileBlobs(root);
  const first = store.put(1, [one]);
  const second = store.put(1, [other]).then(() => [...done]);
  expect(await second).toEqual(expect.arrayContaining(above));
  await first;
  // A process that ended between making a folder and noting it left one that nobody has noted.
  await fs.mkdir(join(root, '2', one.sha256.slice(0, 2)), { recursive: true });
  done.length = 0;
  await new FileBlobs(root).put(2, [one]);
  expect(done).toEqual(expect.arrayContaining([join(root, '2', one.sha256.slice(0, 2)), join(root, '2'), root]));
  expect((await store.get(1, other.sha256))!.toString()).toBe(other.bytes.toString());
});
