import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { MailSecrets } from './mail-secrets.ts';
import { ContextCipher } from './secret-cipher.ts';

const folder = mkdtempSync(join(tmpdir(), 'tablinum-secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));
const logger = pino({ level: 'silent' });
const context = { application: 'main', record: 1, field: 'password' };
const createSecrets = (file: string, key: string | null = null, previousKey: string | null = null): MailSecrets =>
  new MailSecrets({ key, previousKey, file: join(folder, file), logger });

test('a key file is created once with private access, and decrypts data that was encrypted before', () => {
  const sealed = createSecrets('new/made.key').encrypt('hunter2', context);
  expect(statSync(join(folder, 'new/made.key')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, 'new/made.key'), 'utf8').trim()).toHaveLength(64);
  expect(createSecrets('new/made.key').decrypt(sealed, context)).toBe('hunter2');
  expect(createSecrets('new/made.key').decrypt(sealed, { ...context, record: 2 })).toBeNull();
});

test.each([
  ['empty', ''],
  ['only a line break', '\n'],
  ['cut short', 'abc\n'],
])('a key file that is %s is not used, because other users could read it', (name, text) => {
  writeFileSync(join(folder, `${name}.key`), text);
  expect(() => createSecrets(`${name}.key`).encrypt('hunter2', context)).toThrow(/contains no complete key/);
  const open = new ContextCipher(['']);
  expect(open.decrypt(open.encrypt('hunter2', context), context)).toBe('hunter2');
  expect(readdirSync(folder)).toContain(`${name}.key`);
});

test('data of a former key can be decrypted, data of a lost key cannot, and no key file is created', () => {
  const sealed = createSecrets('x', 'the former key, which was good').encrypt('hunter2', context);
  expect(
    createSecrets('x', 'the key of now, which is better', 'the former key, which was good').decrypt(sealed, context),
  ).toBe('hunter2');
  expect(createSecrets('x', 'the key of now, which is better').decrypt(sealed, context)).toBeNull();
  expect(createSecrets('x', 'the former key, which was good').decrypt(sealed, { ...context, record: 2 })).toBeNull();
  expect(readdirSync(folder)).not.toContain('x');
});
