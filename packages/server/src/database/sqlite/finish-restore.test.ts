import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { decideRestore, finishRestore } from './finish-restore.ts';

let dataDir: string;
afterEach(() => rmSync(dataDir, { recursive: true }));

const at = (...path: string[]): string => join(dataDir, ...path);
const move = (from: string, to: string, name: string): void => {
  mkdirSync(at(to), { recursive: true });
  renameSync(at(from, name), at(to, name));
};
const [stores, part, ready, kept] = [
  'applications',
  'restore.part/applications',
  'restore.part/ready',
  'kept/applications',
];
/** The steps of a restore of `main`. It is interrupted after some of them. */
const steps: readonly (() => void)[] = [
  () => move(stores, kept, '1.db'),
  () => move(stores, kept, '1.audit.db'),
  () => move(stores, kept, '1.files'),
  () => renameSync(at(part), at(ready)),
  () => move(ready, stores, '1.db'),
  () => move(ready, stores, '1.files'),
  () => rmSync(at('restore.part'), { recursive: true }),
];

test.each(steps.map((_, index) => index))('a restore of main interrupted after %i steps is finished', async (count) => {
  dataDir = mkdtempSync(join(tmpdir(), 'tablinum-finish-'));
  for (const [folder, text] of [
    [stores, 'present'],
    [part, 'restored'],
  ] as const) {
    mkdirSync(at(folder, '1.files'), { recursive: true });
    for (const name of ['1.db', '1.files/a']) writeFileSync(at(folder, name), text);
  }
  for (const name of ['1.audit.db', '10.db']) writeFileSync(at(stores, name), 'present');
  await decideRestore(dataDir, { keep: 'kept', main: '1' });
  for (const step of steps.slice(0, count)) step();
  expect(await finishRestore(dataDir)).toBe(at('kept'));
  expect(readdirSync(at(stores)).sort()).toEqual(['1.db', '1.files', '10.db']);
  expect(readdirSync(at(kept)).sort()).toEqual(['1.audit.db', '1.db', '1.files']);
  for (const name of ['1.db', '1.files/a']) {
    expect(readFileSync(at(stores, name), 'utf8')).toBe('restored');
    expect(readFileSync(at(kept, name), 'utf8')).toBe('present');
  }
  expect(existsSync(at('restore.json')) || existsSync(at('restore.part'))).toBe(false);
  expect(await finishRestore(dataDir)).toBeNull();
});
