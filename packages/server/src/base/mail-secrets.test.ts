import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { MailSecrets } from './mail-secrets.ts';
import { PlacedSealer } from './seal.ts';

const folder = mkdtempSync(join(tmpdir(), 'tablinum-secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));
const logger = pino({ level: 'silent' });
const place = { application: 'main', record: 1, field: 'password' };
const of = (file: string, key: string | null = null, former: string | null = null): MailSecrets =>
  new MailSecrets({ key, former, file: join(folder, file), logger });

test('a key file is made once, for nobody else to read, and opens what was sealed before', () => {
  const sealed = of('new/made.key').seal('hunter2', place);
  expect(statSync(join(folder, 'new/made.key')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, 'new/made.key'), 'utf8').trim()).toHaveLength(64);
  expect(of('new/made.key').open(sealed, place)).toBe('hunter2');
  expect(of('new/made.key').open(sealed, { ...place, record: 2 })).toBeNull();
});

test.each([
  ['empty', ''],
  ['nothing but a line end', '\n'],
  ['cut short', 'abc\n'],
])('a key file that is %s seals nothing: anybody could open that', (name, text) => {
  writeFileSync(join(folder, `${name}.key`), text);
  expect(() => of(`${name}.key`).seal('hunter2', place)).toThrow(/holds no whole key/);
  const open = new PlacedSealer(['']);
  expect(open.open(open.seal('hunter2', place), place)).toBe('hunter2');
  expect(readdirSync(folder)).toContain(`${name}.key`);
});

test('a former key opens, a lost one does not, and neither is mistaken for the other', () => {
  const sealed = of('x', 'the former key, which was good').seal('hunter2', place);
  expect(of('x', 'the key of now, which is better', 'the former key, which was good').open(sealed, place)).toBe(
    'hunter2',
  );
  expect(of('x', 'the key of now, which is better').open(sealed, place)).toBeNull();
  expect(readdirSync(folder)).not.toContain('x');
});
