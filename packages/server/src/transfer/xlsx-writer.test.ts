import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readSheetValues, readWorkbook, type Sheet } from '../../test/support/workbook.ts';
import type { ExportColumn, ExportedRecord } from './export-columns.ts';
import type { ExportTable } from './export-table.ts';
import { columnLetters, maxCellLength } from './xlsx-cells.ts';
import { type SheetLimits, writeXlsx } from './xlsx-writer.ts';

const column = (name: string, kind: ExportColumn['kind'], scale = 0): ExportColumn => ({
  path: [name],
  name,
  title: name,
  kind,
  scale,
});

async function* inBatches(records: readonly ExportedRecord[], size: number): AsyncGenerator<ExportedRecord[]> {
  for (let from = 0; from < records.length; from += size) yield records.slice(from, from + size);
}

function makeTable(
  columns: readonly ExportColumn[],
  records: readonly ExportedRecord[],
  more: Partial<ExportTable> = {},
): ExportTable {
  return { columns, header: 'names', zone: null, title: 'Table', batches: inBatches(records, 10), ...more };
}

async function write(table: ExportTable, limits?: SheetLimits): Promise<Sheet[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of writeXlsx(table, limits)) pieces.push(piece);
  return readWorkbook(Buffer.concat(pieces));
}

const values = async (
  kind: ExportColumn['kind'],
  given: readonly unknown[],
  scale = 0,
  zone: string | null = null,
): Promise<unknown[]> => {
  const records = given.map((value) => ({ a: value }));
  const [sheet] = await write(makeTable([column('a', kind, scale)], records, { zone }));
  return sheet!.rows.slice(1).map((row) => [row.get('A')?.type, row.get('A')?.value]);
};

test('a table continues on further sheets, each with the header', async () => {
  const records = Array.from({ length: 25 }, (_, n) => ({ n }));
  const table = (): ExportTable =>
    makeTable([column('n', 'integer')], records, { title: 'A title of more than thirty letters' });
  const sheets = await write(table(), { rows: 11, length: 1e9 });
  expect(sheets.map(({ name }) => name)).toEqual([
    'A title of more than thirty let',
    'A title of more than thirty (2)',
    'A title of more than thirty (3)',
  ]);
  expect(sheets.map((sheet) => readSheetValues(sheet).length)).toEqual([11, 11, 6]);
  const found = sheets.flatMap((sheet) => readSheetValues(sheet).slice(1));
  expect(found).toEqual(records.map(({ n }) => [String(n)]));
  expect(sheets.map((sheet) => readSheetValues(sheet)[0])).toEqual([['n'], ['n'], ['n']]);
  const full = makeTable([column('n', 'integer')], records.slice(0, 20));
  expect(await write(full, { rows: 11, length: 1e9 })).toHaveLength(2); // no third sheet, because it would have no records
  expect(await write(table(), { rows: 1000, length: 100 })).toHaveLength(3);
});

test('integers and decimals are written as numbers up to 15 digits, and as text beyond that', async () => {
  expect(await values('integer', [0, -7, 999_999_999_999_999, 1_000_000_000_000_000, '-9223372036854775808'])).toEqual([
    ['n', '0'],
    ['n', '-7'],
    ['n', '999999999999999'],
    ['inlineStr', '1000000000000000'],
    ['inlineStr', '-9223372036854775808'],
  ]);
  expect(await values('decimal', ['0.00', '-12.30', '0.0000000000000001', '123456789012345.6'], 2)).toEqual([
    ['n', '0.00'],
    ['n', '-12.30'],
    ['n', '0.0000000000000001'],
    ['inlineStr', '123456789012345.6'],
  ]);
  expect(await values('number', [0.1 + 0.2, 1e21, -5e-324])).toEqual([
    ['n', '0.30000000000000004'],
    ['n', '1e+21'],
    ['n', '-5e-324'],
  ]);
});

test('dates and times are written as serial numbers from March 1900 on, and as text before that', async () => {
  expect(await values('date', ['1900-02-28', '1900-03-01', '9999-12-31'])).toEqual([
    ['inlineStr', '1900-02-28'],
    ['n', '61'],
    ['n', '2958465'],
  ]);
  const times = ['1900-02-28T23:59:59.999Z', '2026-01-01T12:00:00.000Z'];
  expect(await values('datetime', times)).toEqual([
    ['inlineStr', times[0]],
    ['n', '46023.5'],
  ]);
  // 9999-12-31 is the last day of spreadsheets, and 14 hours later is the next one.
  const last = ['9999-12-31T09:59:59.999Z', '9999-12-31T10:00:00.000Z'];
  expect(await values('datetime', last, 0, 'Pacific/Kiritimati')).toEqual([
    ['n', expect.stringMatching(/^2958465\.99/)],
    ['inlineStr', last[1]],
  ]);
  expect(await values('time', ['00:00:00', '12:00:00'])).toEqual([
    ['n', '0'],
    ['n', '0.5'],
  ]);
});

test('every character of a text can be read back', async () => {
  const all = Array.from({ length: 0x120 }, (_, code) => String.fromCharCode(code)).join('');
  const texts = [all, '\uFFFE\uFFFF😀', '_x0041_x0042_', ' \t\r\n ', '&amp;<b>]]>', '=1+1', ''];
  expect(await values('text', texts)).toEqual(texts.map((text) => ['inlineStr', text]));
});

test('a text that is too long for a cell ends with the number of its characters', async () => {
  const [exact, long, emoji] = (
    (await values('text', ['x'.repeat(maxCellLength), 'x'.repeat(maxCellLength + 1), '😀'.repeat(20_000)])) as [
      string,
      string,
    ][]
  ).map(([, text]) => text);
  expect(exact).toHaveLength(maxCellLength);
  expect(long).toHaveLength(maxCellLength);
  expect(long).toMatch(/^x+ \[cut off: 32768 characters\]$/);
  expect(emoji!.isWellFormed()).toBe(true);
  expect(emoji).toMatch(/^(?:😀)+ \[cut off: 40000 characters\]$/u);
});

test('the letters of columns follow the alphabet', () => {
  expect([0, 25, 26, 51, 701, 702, 16_383].map(columnLetters)).toEqual(['A', 'Z', 'AA', 'AZ', 'ZZ', 'AAA', 'XFD']);
});

test('an error in the records ends the file, and a reader that stops closes the records', async () => {
  async function* failing(): AsyncGenerator<ExportedRecord[]> {
    yield [{ n: 1 }];
    throw new Error('the database is gone');
  }
  const columns = [column('n', 'integer')];
  await expect(write(makeTable(columns, [], { batches: failing() }))).rejects.toThrow('the database is gone');

  let isOpen = true;
  async function* endless(): AsyncGenerator<ExportedRecord[]> {
    try {
      for (;;) yield [{ n: Math.random() }];
    } finally {
      isOpen = false;
    }
  }
  const stream = writeXlsx(makeTable(columns, [], { batches: endless() }));
  for (let size = 0; size < 100_000; ) size += ((await stream.next()).value as Uint8Array).length;
  await stream.return(undefined);
  expect(isOpen).toBe(false);
});

test('no further records are fetched while the reader pauses', { timeout: 60_000 }, async () => {
  let batches = 0;
  async function* endless(): AsyncGenerator<ExportedRecord[]> {
    for (;;) {
      batches += 1;
      yield Array.from({ length: 100 }, () => ({ n: Math.random() }));
    }
  }
  const stream = writeXlsx(makeTable([column('n', 'number')], [], { batches: endless() }));
  await stream.next();
  const countMore = async (): Promise<number> => {
    const before = batches;
    await pause(100);
    return batches - before;
  };
  await expect.poll(countMore, { timeout: 30_000 }).toBe(0); // the buffers between the records and the reader are full
  expect(batches).toBeLessThan(5000);
  await stream.return(undefined);
});

test('names of sheets are valid', async () => {
  for (const [title, name] of [
    ['a/b\\c?d*e[f]g:h', 'a b c d e f g h'],
    ["'quoted'", 'quoted'],
    [" 'x", 'x'],
    ["::'x'::", 'x'],
    ['History', 'Records'],
    ['', 'Records'],
    ['a & "b"', 'a & "b"'],
  ] as const)
    expect((await write(makeTable([column('n', 'integer')], [], { title })))[0]!.name).toBe(name);
});
