import { expect, test } from 'vitest';
import { makeWorkbook, makeWorkbookParts, readTable, toBlob, zipParts } from '../../../test/support/source-file.ts';
import { openTable } from './open-table.ts';
import { type SourceCell, sourceLimits } from './table-source.ts';

const double = (text: string): SourceCell => ({ kind: 'double', text });
const row = (number: number, ...cells: string[]): string => `<row r="${number}">${cells.join('')}</row>`;
const inline = (text: string): string => `<c t="inlineStr"><is><t>${text}</t></is></c>`;

test('texts, numbers, booleans and errors are read, and formulas by their stored value', async () => {
  const file = await makeWorkbook({
    texts:
      '<si><t>shared</t></si><si><r><t xml:space="preserve">rich </t></r><r><t>text</t></r><rPh><t>aid</t></rPh></si>',
    sheets: {
      Data: [
        row(1, ...['a', 'b', 'c', 'd'].map(inline)),
        row(2, '<c r="A2" t="s"><v>0</v></c><c r="B2" t="s"><v>1</v></c><c r="D2"><f>1+1</f><v>2</v></c>'),
        row(
          3,
          '<c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c t="str"><f>A1</f><v>calculated</v></c><c><f>NOW()</f></c>',
        ),
        row(4, '<c r="A4" s="1"/><c r="B4" t="s"><v/></c>'),
        '<row r="9" hidden="1"><c r="A9"><v>1.1000000000000001</v></c><c r="B9"><v>1E-7</v></c></row>',
        row(
          10,
          '<c t="s"><v>77</v></c><c t="inlineStr"><is><t></t></is></c><c t="inlineStr"><is><t>_x0007__x005F_x0041_&#10;&amp;</t></is></c>',
        ),
      ].join(''),
    },
  });
  const { source, rows } = await readTable(file);
  expect(source).toMatchObject({
    format: 'xlsx',
    hasHeader: true,
    sheets: ['Data'],
    sheet: 'Data',
    columns: ['a', 'b', 'c', 'd'],
  });
  expect(rows).toEqual([
    { line: 2, cells: ['shared', 'rich text', null, double('2')] },
    {
      line: 3,
      cells: [
        true,
        { kind: 'error', text: '#N/A' },
        'calculated',
        { kind: 'error', text: 'a formula without a stored value' },
      ],
    },
    { line: 9, cells: [double('1.1'), double('1e-7')] },
    { line: 10, cells: [{ kind: 'error', text: 'a text that the file does not contain' }, '', '\u0007_x0041_\n&'] },
  ]);
});

test('rows and cells without references follow the ones before, also with prefixed names and in UTF-16', async () => {
  const sheet =
    '<row><c t="str"><v>a</v></c><c t="str"><v>b</v></c></row><row><c/><c><v>5</v></c></row><row r="7"><c r="C7"><v>6</v></c><c><v>7</v></c></row>';
  const expected = [
    { line: 2, cells: [null, double('5')] },
    { line: 7, cells: [null, null, double('6'), double('7')] },
  ];
  expect((await readTable(await makeWorkbook({ sheets: { S: sheet } }))).rows).toEqual(expected);
  const prefixed = sheet.replace(/<(\/?)(row|c|v)/g, '<$1x:$2');
  expect((await readTable(await makeWorkbook({ sheets: { S: prefixed } }))).rows).toEqual(expected);
  const parts = Object.entries(makeWorkbookParts({ sheets: { S: sheet } })).map(
    ([path, text]) => [path, Buffer.from(`\uFEFF${text}`, 'utf16le')] as const,
  );
  expect((await readTable(await zipParts(Object.fromEntries(parts)))).rows).toEqual(expected);
});

test('dates and times are recognised by the format of the number', async () => {
  const cases: readonly (readonly [format: string | number, value: string, cell: SourceCell])[] = [
    [14, '46349', { kind: 'date', text: '2026-11-23' }],
    [14, '46349.5', { kind: 'datetime', text: '2026-11-23T12:00:00.000' }],
    [22, '46349.673611111109', { kind: 'datetime', text: '2026-11-23T16:10:00.000' }],
    [20, '0.67361111111111116', { kind: 'time', text: '16:10:00' }],
    [47, '0.00017476851851851852', { kind: 'time', text: '00:00:15.100' }],
    [46, '1.5', double('1.5')],
    [21, '0.5', { kind: 'time', text: '12:00:00' }],
    ['yyyy\\-mm\\-dd hh:mm:ss', '46349.25', { kind: 'datetime', text: '2026-11-23T06:00:00.000' }],
    ['[$-407]dd.mm.yyyy', '1', { kind: 'date', text: '1900-01-01' }],
    ['m/d/yy', '59', { kind: 'date', text: '1900-02-28' }],
    ['m/d/yy', '60', { kind: 'error', text: '60 is not a date' }],
    ['mmm', '61', { kind: 'date', text: '1900-03-01' }],
    ['d', '2958465', { kind: 'date', text: '9999-12-31' }],
    ['d', '2958466', { kind: 'error', text: '2958466 is not a date' }],
    ['[h]:mm', '0.25', { kind: 'time', text: '06:00:00' }],
    ['h:mm AM/PM', '0.75', { kind: 'time', text: '18:00:00' }],
    ['[Red]0.00', '5', double('5')],
    ['#,##0.00" days"', '5', double('5')],
    ['General', '5', double('5')],
    ['0.00E+00', '5', double('5')],
    ['0;[Red]d', '5', double('5')],
    ['yyyy', '-1', { kind: 'date', text: '1899-12-29' }],
  ];
  const cells = cases.map(([, value], index) => `<c s="${index + 1}"><v>${value}</v></c>`).join('');
  const content = { formats: cases.map(([format]) => format), sheets: { S: row(1, cells) } };
  expect((await readTable(await makeWorkbook(content), { header: false })).cells[0]).toEqual(
    cases.map(([, , cell]) => cell),
  );
});

test('workbooks with the 1904 date system are read correctly, and ISO dates are read unchanged', async () => {
  const sheet = row(
    1,
    '<c s="1"><v>0</v></c><c s="1"><v>44887</v></c><c t="d"><v>2026-11-23T16:10:00Z</v></c><c t="d"><v>2026-11-23</v></c>',
  );
  const file = await makeWorkbook({ formats: [14], properties: 'date1904="1"', sheets: { S: sheet } });
  expect((await readTable(file, { header: false })).cells[0]).toEqual([
    { kind: 'date', text: '1904-01-01' },
    { kind: 'date', text: '2026-11-23' },
    { kind: 'datetime', text: '2026-11-23T16:10:00' },
    { kind: 'date', text: '2026-11-23' },
  ]);
});

test('a sheet is chosen by name or index; by default, the continuation sheets of an export are also read', async () => {
  const sheet = (value: string, header = 'name'): string => row(1, inline(header)) + row(2, inline(value));
  const file = await makeWorkbook({
    sheets: {
      Orders: sheet('a'),
      'Orders (2)': sheet('b'),
      'Orders (3)': sheet('c'),
      Old: sheet('d'),
      '07': sheet('e'),
    },
  });
  const read = async (sheetOption?: string | number): Promise<unknown> =>
    (await readTable(file, sheetOption === undefined ? {} : { sheet: sheetOption })).rows.map(({ line, cells }) => [
      line,
      cells[0],
    ]);
  expect(await read()).toEqual([
    [2, 'a'],
    [4, 'b'],
    [6, 'c'],
  ]);
  expect(await read('Orders')).toEqual([[2, 'a']]);
  expect(await read(3)).toEqual([[2, 'd']]);
  expect(await read('3')).toEqual([[2, 'd']]);
  expect(await read('07')).toEqual([[2, 'e']]);
  for (const missing of ['Nothing', 9, -1])
    await expect(read(missing)).rejects.toMatchObject({ code: 'PARAMETER_INVALID' });
  const different = await makeWorkbook({ sheets: { A: sheet('a'), 'A (2)': sheet('b', 'other') } });
  expect((await readTable(different)).cells).toEqual([['a']]);
});

test('batches have at most 500 rows, however short the rows are', async () => {
  const content = '<row><c><v>1</v></c></row>'.repeat(6000);
  const source = await openTable(toBlob(await makeWorkbook({ sheets: { S: content } })), { header: false });
  const sizes: number[] = [];
  for await (const batch of source.rows()) sizes.push(batch.length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(6000);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(sourceLimits.batchRows);
});
