import { expect, test } from 'vitest';
import { SecretCipher } from './secret-cipher.ts';

const now = new SecretCipher(['the current key']);

test('sealed text can be opened, and two seals of the same text differ', () => {
  const sealed = now.encrypt('whsec_ü');
  expect(now.decrypt(sealed)).toBe('whsec_ü');
  expect(now.encrypt('whsec_ü')).not.toBe(sealed);
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('whsec');
});

test('a former key opens sealed text as long as it is accepted, and other keys do not', () => {
  const sealed = new SecretCipher(['the former key']).encrypt('secret');
  expect(new SecretCipher(['the current key', 'the former key']).decrypt(sealed)).toBe('secret');
  expect(now.decrypt(sealed)).toBeNull();
});

test('text that was changed or truncated cannot be opened', () => {
  const bytes = Buffer.from(now.encrypt('secret'), 'base64url');
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    expect(now.decrypt(changed.toString('base64url'))).toBeNull();
  }
  expect(now.decrypt('')).toBeNull();
  expect(now.decrypt(bytes.subarray(0, 20).toString('base64url'))).toBeNull();
});
