import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseManifest, UnusableBackup } from './backup-manifest.ts';

function write(change: { readonly name?: string; readonly store?: string; readonly path?: string }): string {
  const { name = 'shop', store = '0f', path = 'shop.db' } = change;
  const manifest = { format: 1, files: [{ path, bytes: 1, sha256: '00' }], applications: [{ name, store }] };
  const digest = createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
  return JSON.stringify({ ...manifest, digest });
}

test('a manifest with invalid names or paths is refused, even if its digest matches', () => {
  expect(parseManifest('b', write({})).applications).toMatchObject([{ name: 'shop' }]);
  for (const change of [
    { name: '../shop' },
    { name: '' },
    { name: 'a'.repeat(61) },
    { store: '../0f' },
    { path: '../shop.db' },
    { path: 'a\\shop.db' },
  ])
    expect(() => parseManifest('b', write(change))).toThrow(UnusableBackup);
});
