import { expect, test } from 'vitest';
import { Sealer } from './seal.ts';

const now = new Sealer(['the key of now']);

test('what was sealed is opened, and two seals of one text differ', () => {
  const sealed = now.seal('whsec_ü');
  expect(now.open(sealed)).toBe('whsec_ü');
  expect(now.seal('whsec_ü')).not.toBe(sealed);
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('whsec');
});

test('a former key opens while it is accepted, and no other', () => {
  const sealed = new Sealer(['the former key']).seal('secret');
  expect(new Sealer(['the key of now', 'the former key']).open(sealed)).toBe('secret');
  expect(now.open(sealed)).toBeNull();
});

test('what was changed or cut is not opened', () => {
  const bytes = Buffer.from(now.seal('secret'), 'base64url');
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    expect(now.open(changed.toString('base64url'))).toBeNull();
  }
  expect(now.open('')).toBeNull();
  expect(now.open(bytes.subarray(0, 20).toString('base64url'))).toBeNull();
});
