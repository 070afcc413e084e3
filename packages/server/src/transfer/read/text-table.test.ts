import { expect, test } from 'vitest';
import { TextTable } from './text-table.ts';

test('a text table returns every text by its index, including texts that cross pages', () => {
  const texts = [
    '',
    'first',
    '€'.repeat(100_000),
    ...Array.from({ length: 20_000 }, (_, index) => `Text ${index} äöü 😀`),
  ];
  texts.push('x'.repeat(700_000), '', 'last');
  const table = new TextTable();
  for (const text of texts) table.add(text);
  expect(texts.filter((text, index) => table.get(index) !== text)).toEqual([]);
  expect([table.get(-1), table.get(texts.length), table.get(0.5), table.get(Number.NaN)]).toEqual([
    null,
    null,
    null,
    null,
  ]);
});

test('a text table takes little more memory than its texts', () => {
  const before = process.memoryUsage().arrayBuffers;
  const table = new TextTable();
  const text = 'x'.repeat(1000);
  for (let index = 0; index < 20_000; index += 1) table.add(text);
  expect(table.get(19_999)).toBe(text);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(24_000_000);
});

test('a text table returns an empty text at the end of a full page', () => {
  const table = new TextTable();
  for (const text of ['x'.repeat(256 * 1024), '', 'y']) table.add(text);
  expect([table.get(1), table.get(2)]).toEqual(['', 'y']);
});
