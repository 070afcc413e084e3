/** What every blob store must do: a folder, PostgreSQL, a bucket, and a bucket that replaced one of the others. */
import { hash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BlobStore } from '../../src/base/blob-store.ts';
import { describeEngines } from '../support/engines.ts';
import { bucket, S3Server } from '../support/s3-server.ts';
import { TestServer } from '../support/scenario.ts';

const far = Date.now() + 86_400_000;
const blob = (text: string) => ({ sha256: hash('sha256', text), bytes: Buffer.from(text) });

async function* pieces(...all: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const each of all) yield Buffer.from(each);
}

async function readAll(bytes: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const piece of bytes ?? []) read.push(piece);
  return Buffer.concat(read);
}

let s3: S3Server;
beforeAll(async () => {
  s3 = await S3Server.start();
});
afterAll(() => s3.remove());

describeEngines('blobs', (engine) => {
  describe.each(['of the engine', 'in a bucket'])('%s', (kind) => {
    let server: TestServer;
    let store: BlobStore;
    beforeAll(async () => {
      const env = kind === 'in a bucket' ? s3.env(`${engine.name}/`) : {};
      server = await TestServer.start(engine, { signIn: false, env });
      store = server.running.applications.main.files.blobs;
    });
    afterAll(() => server.stop());

    test('blobs are stored once for each scope, and read as a whole or in ranges', async () => {
      await store.put(1, [blob('equal'), blob('equal'), blob('other')]);
      await store.put(1, [blob('equal')]);
      await store.put(2, [blob('equal')]);
      expect((await store.findStoredBefore(1, far)).sort()).toEqual(
        [blob('equal').sha256, blob('other').sha256].sort(),
      );
      expect((await store.scopes()).sort()).toEqual(expect.arrayContaining([1, 2]));
      expect(String(await store.get(1, blob('other').sha256))).toBe('other');
      expect(await store.get(2, blob('other').sha256)).toBeNull();
      expect(await store.open(2, blob('other').sha256)).toBeNull();
      const opened = await store.open(1, blob('equal').sha256);
      expect(opened?.size).toBe(5);
      expect(String(await readAll(opened?.read(1, 3)))).toBe('qua');
      expect(String(await readAll(opened?.read(0, 4)))).toBe('equal');
      const reader = opened?.read(0, 4);
      await reader?.next();
      await reader?.return(undefined); // a reader that stops early leaves no file or connection open
    });

    test('an empty blob is stored and read as a blob', async () => {
      const { sha256, size } = await store.receive(3, pieces());
      expect({ sha256, size }).toEqual({ sha256: blob('').sha256, size: 0 });
      expect((await store.open(3, sha256))?.size).toBe(0);
      expect(await store.get(3, sha256)).toEqual(Buffer.alloc(0));
    });

    // 5 MiB is the size of one part of a multipart upload.
    test.each([7, 5 * 1024 * 1024, 5 * 1024 * 1024 + 1, 11_000_000])(
      '%i bytes are stored as a stream',
      async (size) => {
        const bytes = randomBytes(size);
        const sha256 = hash('sha256', bytes);
        const half = Math.floor(size / 2);
        const arrive = (): ReturnType<typeof store.receive> =>
          store.receive(4, pieces(bytes.subarray(0, half), '', bytes.subarray(half)));
        expect(await arrive()).toEqual({ sha256, size });
        expect(await arrive()).toEqual({ sha256, size }); // the same bytes a second time
        expect((await store.get(4, sha256))?.equals(bytes)).toBe(true);
        const opened = await store.open(4, sha256);
        expect((await readAll(opened?.read(half - 1, half + 1))).equals(bytes.subarray(half - 1, half + 2))).toBe(true);
        expect(await store.findStoredBefore(4, far)).toEqual([sha256]);
        await store.remove(4, [sha256], far);
        expect(await store.get(4, sha256)).toBeNull();
        expect(await store.findStoredBefore(4, far)).toEqual([]);
      },
    );

    test('nothing remains of an upload whose stream fails', async () => {
      async function* cut(size: number): AsyncGenerator<Uint8Array> {
        yield randomBytes(size);
        throw new Error('the connection was closed');
      }
      for (const size of [100, 6_000_000])
        await expect(store.receive(5, cut(size))).rejects.toThrow('the connection was closed');
      expect(await store.findStoredBefore(5, far)).toEqual([]);
    });

    test('a blob that was stored again later is not removed by a sweep with an earlier time', async () => {
      const { sha256 } = blob('again');
      await store.put(6, [blob('again')]);
      const before = Date.now() - 2000;
      await store.put(6, [blob('again')]);
      await store.remove(6, [sha256], before);
      expect(String(await store.get(6, sha256))).toBe('again');
      expect(await store.findStoredBefore(6, before)).toEqual([]);
      await store.remove(6, [sha256, blob('unknown').sha256], far);
      expect(await store.get(6, sha256)).toBeNull();
    });

    test('names that are not hashes find nothing', async () => {
      for (const name of ['../../1.db', 'A'.repeat(64), ''])
        expect(await store.open(1, name).catch((error: Error) => error.message)).toSatisfy(
          (found) => found === null || found === 'a blob is named by scope and SHA-256',
        );
    });
  });

  test('several servers share the bucket under prefixes, and all objects of this engine are under its own prefix', () => {
    const own = s3.keys().filter((key) => key.startsWith(`${engine.name}/`));
    expect(own).toContain(`${engine.name}/tablinum-owner`);
    expect(s3.requests.filter((line) => /^(PUT|DELETE)/.test(line) && !line.includes(`/${bucket}/`))).toEqual([]);
    expect(s3.uploads()).toEqual([]);
  });
});
