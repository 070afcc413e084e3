import { expect, test } from 'vitest';
import type { BlobStore, OpenBlob } from '../../base/blob-store.ts';
import { type BlobReceiver, copyBlobs, type KnownBlobs } from './copy-blobs.ts';

const nameOf = (digit: string): string => digit.repeat(64);
const empty: OpenBlob = { size: 0, async *read() {} };

test('only names that were not copied or found before are compared with those of the receiver', async () => {
  const names = [nameOf('a'), nameOf('b'), nameOf('c')];
  const unreadable = new Set([nameOf('c')]);
  const compared: string[][] = [];
  const present = new Set([nameOf('b')]);
  const from: Pick<BlobStore, 'scopes' | 'findStoredBefore' | 'open'> = {
    scopes: async () => [-1, 0],
    findStoredBefore: async (scope) => (scope === 0 ? [...names, 'in-0'] : [nameOf('f')]),
    open: async (_, name) => (unreadable.has(name) ? null : empty),
  };
  const to: BlobReceiver = {
    findMissing: async (_, some) => {
      compared.push([...some]);
      return some.filter((name) => !present.has(name));
    },
    receive: async (_, name) => void present.add(name),
    flush: async () => {},
  };
  const known: KnownBlobs = new Map();
  const copy = (): Promise<unknown> => copyBlobs(from as BlobStore, to, { known, onBlob: () => {} });
  await copy();
  names.push(nameOf('d'));
  unreadable.clear();
  await copy();
  await copy();
  // "c" was removed when it was read, and stored again.
  expect(compared).toEqual([
    [nameOf('a'), nameOf('b'), nameOf('c')],
    [nameOf('c'), nameOf('d')],
  ]);
  expect([...present].sort()).toEqual(names);
});
