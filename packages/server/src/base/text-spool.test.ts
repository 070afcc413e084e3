import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { TextSpool } from './text-spool.ts';

/** Names of spools in the temporary folder. An open spool must not add a name. */
const listNames = (): string[] => readdirSync(tmpdir()).filter((name) => /^tablinum-\w{6}$/.test(name));

test.each([
  { name: 'no text', count: 0, isShort: true },
  { name: 'a short text', count: 100, isShort: true },
  { name: 'a text that is longer than the memory of a spool', count: 40_000, isShort: false },
])('$name is read back unchanged', async ({ count, isShort }) => {
  const before = listNames();
  const spool = new TextSpool();
  const lines = Array.from({ length: count }, (_, index) => `line ${index} ü€😀\n`);
  for (const line of lines) await spool.append(line);
  expect(spool.isShort).toBe(isShort);
  expect(spool.bytes).toBe(Buffer.byteLength(lines.join('')));
  expect(await text(spool.read())).toBe(lines.join(''));
  expect(await text(spool.read())).toBe(lines.join(''));
  expect(listNames()).toEqual(before);
  await spool.close();
  await spool.close();
});
