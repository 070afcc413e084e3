import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCsv } from '../../test/support/csv-parser.ts';
import { escapeFormula, quoteCell, unescapeFormula } from './cell-text.ts';
import { writeCsv } from './csv-writer.ts';
import type { ExportColumn, ExportedRecord } from './export-columns.ts';
import type { ExportTable } from './export-table.ts';

const column = (name: string, kind: ExportColumn['kind']): ExportColumn => ({
  path: [name],
  name,
  title: name,
  kind,
  scale: 0,
});

async function* inBatches(records: readonly ExportedRecord[], size: number): AsyncGenerator<ExportedRecord[]> {
  for (let from = 0; from < records.length; from += size) yield records.slice(from, from + size);
}

function makeTable(columns: readonly ExportColumn[], records: readonly ExportedRecord[], size = 100): ExportTable {
  return { columns, header: 'names', zone: null, title: 'Table', batches: inBatches(records, size) };
}

async function write(table: ExportTable, delimiter = ','): Promise<string> {
  let file = '';
  for await (const piece of writeCsv(table, { delimiter, bom: false })) file += piece;
  return file;
}

/** Texts with many of the characters that need quoting or escaping. */
const hostileText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'\'"=+-@＝＋－＠\t\r\n,;| \uFEFF\u00A0'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => text.isWellFormed()),
  ),
  maxLength: 12,
});

test('an independent CSV reader reads back every text, number and null', async () => {
  const record = fc.record({
    text: fc.option(hostileText),
    number: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    json: fc.option(fc.jsonValue()),
  });
  const columns = [column('text', 'text'), column('number', 'number'), column('json', 'json')];
  const delimiters = fc.constantFrom(',', ';', '|', '\t');
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { maxLength: 8 }),
      delimiters,
      fc.integer({ min: 1, max: 9 }),
      async (records, delimiter, size) => {
        const file = await write(makeTable(columns, records, size), delimiter);
        const [header, ...rows] = parseCsv(file, delimiter);
        expect(header!.map(({ text }) => text)).toEqual(['text', 'number', 'json']);
        expect(rows).toHaveLength(records.length);
        for (const [index, row] of rows.entries()) {
          const { text, number, json } = records[index]!;
          const [textCell, numberCell, jsonCell] = row;
          const isNull = textCell!.text === '' && !textCell!.isQuoted;
          expect(isNull ? null : unescapeFormula(textCell!.text)).toBe(text);
          expect(numberCell!.text).toBe(number === null ? '' : String(number));
          expect(unescapeFormula(jsonCell!.text)).toBe(json === null ? '' : JSON.stringify(json));
          for (const { text: cell } of [textCell!, jsonCell!]) expect(cell).not.toMatch(/^[=+\-@＝＋－＠\t\r\n]/);
        }
      },
    ),
    { numRuns: 200 },
  );
});

test('escaping can be undone for every text, and only changes texts that begin with apostrophes and a sign', () => {
  fc.assert(
    fc.property(hostileText, (text) => {
      expect(unescapeFormula(escapeFormula(text))).toBe(text);
      if (!/^'*[=+\-@＝＋－＠\t\r\n]/.test(text)) expect(escapeFormula(text)).toBe(text);
    }),
    { numRuns: 2000 },
  );
});

test('cells are written by the rules of the documentation', () => {
  const cells: readonly (readonly [string | null, string])[] = [
    [null, ''],
    ['', '""'],
    ['a', 'a'],
    ['=1', "'=1"],
    ["'=1", "''=1"],
    ["''@", "'''@"],
    ["'a", "'a"],
    ["'", "'"],
    ['\tx', "'\tx"],
    ['\n=1', '"\'\n=1"'],
    ['＝1', "'＝1"],
    ["'＠", "''＠"],
    ['a"b', '"a""b"'],
    ['a;b', '"a;b"'],
    [' a', '" a"'],
    ['a\nb', '"a\nb"'],
  ];
  for (const [text, cell] of cells) expect(quoteCell(text === null ? null : escapeFormula(text), ',')).toBe(cell);
});

test('a record that lacks a column ends the file, because an empty cell would look like a null', async () => {
  const records = [{ a: 1 }, {}];
  await expect(write(makeTable([column('a', 'integer')], records))).rejects.toMatchObject({ code: 'FIELD_DENIED' });
});
