import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { FileBlobs } from './file-blobs.ts';

/** The paths that the store has synced, in order. */
const done: string[] = [];
/** Replaced in the module itself, because modules that this worker has already loaded also import it. */
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

/** Two texts whose hashes have the same first two characters, so that they are in the same folder. */
function twins(): [ReturnType<typeof blob>, ReturnType<typeof blob>] {
  const seen = new Map<string, ReturnType<typeof blob>>();
  for (let number = 0; ; number += 1) {
    const each = blob(`text ${number}`);
    const other = seen.get(each.sha256.slice(0, 2));
    if (other) return [other, each];
    seen.set(each.sha256.slice(0, 2), each);
  }
}

test('a blob counts as stored when its folder and all parent folders are synced, even if another write created them', async () => {
  const root = join(folder, 'store');
  const [one, other] = twins();
  const above = [join(root, '1', one.sha256.slice(0, 2)), join(root, '1'), root, folder];
  const store = new FileBlobs(root);
  const first = store.put(1, [one]);
  const second = store.put(1, [other]).then(() => [...done]);
  expect(await second).toEqual(expect.arrayContaining(above));
  await first;
  // A folder that an earlier process created, but did not sync before it ended.
  await fs.mkdir(join(root, '2', one.sha256.slice(0, 2)), { recursive: true });
  done.length = 0;
  await new FileBlobs(root).put(2, [one]);
  expect(done).toEqual(expect.arrayContaining([join(root, '2', one.sha256.slice(0, 2)), join(root, '2'), root]));
  expect((await store.get(1, other.sha256))!.toString()).toBe(other.bytes.toString());
});

async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

test('two concurrent streams of the same bytes are stored as one durable file', async () => {
  const root = join(folder, 'received');
  const store = new FileBlobs(root);
  const sha256 = hash('sha256', 'one two');
  done.length = 0;
  const received = await Promise.all([store.receive(0, pieces('one', ' two')), store.receive(0, pieces('one two'))]);
  expect(new Set(received.map((each) => JSON.stringify(each)))).toEqual(new Set([JSON.stringify({ sha256, size: 7 })]));
  expect(done).toEqual(expect.arrayContaining([join(root, '0', sha256.slice(0, 2)), join(root, '0'), root]));
  expect(String(await store.get(0, sha256))).toBe('one two');
  expect((await fs.readdir(join(root, '0'), { recursive: true })).sort()).toEqual(
    [sha256.slice(0, 2), join(sha256.slice(0, 2), sha256), 'in'].sort(),
  );
});

test('a failed stream leaves no file, and a file that a crash has left is found and removed', async () => {
  const root = join(folder, 'failed');
  const store = new FileBlobs(root);
  async function* cut(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('begun');
    throw new Error('the connection was closed');
  }
  await expect(store.receive(0, cut())).rejects.toThrow('the connection was closed');
  expect(await fs.readdir(join(root, '0', 'in'))).toEqual([]);
  await fs.writeFile(join(root, '0', 'in', 'in-left'), 'begun');
  const old = await store.findStoredBefore(0, Date.now() + 60_000);
  expect(old).toEqual(['in-left']);
  await store.remove(0, old, Date.now() + 60_000);
  expect(await fs.readdir(join(root, '0', 'in'))).toEqual([]);
});
