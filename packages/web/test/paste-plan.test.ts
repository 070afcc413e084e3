/**
 * How pasted text becomes changes: the text of the clipboard, the values of its cells, and the records that a paste
 * changes.
 */
import type { Field } from '@tablinum/client';
import { describe, expect, test } from 'vitest';
import { formatRows, parseRows } from '../src/admin/records/clipboard-text.ts';
import { dropTitles, listWrites, type PasteTarget, planPaste } from '../src/admin/records/paste-plan.ts';
import { parsePastedValue } from '../src/admin/records/pasted-value.ts';
import type { Row } from '../src/data/records/row-window.ts';
import { imports } from '../src/ui/i18n/en/imports.ts';

const { problems } = imports.paste;

describe('the text of a clipboard', () => {
  test.each([
    ['', []],
    ['a', [['a']]],
    ['a\tb', [['a', 'b']]],
    [
      'a\tb\r\nc\td\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['a\nb\n', [['a'], ['b']]],
    ['a\rb', [['a'], ['b']]],
    ['\t', [['', '']]],
    ['\n', [['']]],
    ['a\n\nb', [['a'], [''], ['b']]],
    [
      'a\t\n\tb',
      [
        ['a', ''],
        ['', 'b'],
      ],
    ],
    // Excel, LibreOffice and Google Sheets quote cells with tabs, line breaks and quotation marks.
    ['"two\nlines"\tb', [['two\nlines', 'b']]],
    ['"a\tb"\r\nc', [['a\tb'], ['c']]],
    ['"says ""yes"""', [['says "yes"']]],
    ['""', [['']]],
    ['"two\r\nlines"\r\n', [['two\r\nlines']]],
    // A quotation mark that is part of the text.
    ['5" disk\tb', [['5" disk', 'b']]],
    ['"a" and b\tc', [['"a" and b', 'c']]],
    ['"open\tb\nc', [['"open', 'b'], ['c']]],
    ['"', [['"']]],
  ] as const)('%j', (text, rows) => {
    expect(parseRows(text)).toEqual(rows);
  });

  test('what the grid copies is read back', () => {
    const fields: Field[] = [
      { name: 'a', type: 'text' },
      { name: 'b', type: 'string' },
    ];
    const values = [
      { a: 'two\nlines', b: 'a "b"\tc' },
      { a: '', b: null },
    ];
    const rows = values.map((each, key) => ({ key, values: each, version: 1, isRemoved: false, changedAt: 0 }));
    const table = parseRows(formatRows(fields, rows));
    expect(dropTitles(table, fields, 0)).toEqual([
      ['two\nlines', 'a "b"\tc'],
      ['', ''],
    ]);
    expect(dropTitles([['a', 'b']], fields, 0)).toEqual([['a', 'b']]); // a single row that looks like titles is taken for values
    expect(dropTitles(table, fields, 1)).toHaveLength(3);
  });

  test('a long text is read in one pass, and only up to the limit', () => {
    expect(parseRows(`"${'x\n'.repeat(200_000)}`)).toHaveLength(200_000);
    expect(parseRows('x\n'.repeat(100), 12)).toHaveLength(12);
  });
});

describe('the value of a pasted cell', () => {
  const genre = { type: 'select', enum: ['Rock', 'Jazz'] };
  test.each([
    [{ type: 'string' }, 'a', { value: 'a' }],
    [{ type: 'string' }, '', { value: null }],
    [{ type: 'string' }, ' ', { value: ' ' }],
    [{ type: 'string', required: true }, '', { problem: problems.required }],
    [{ type: 'string', maxLength: 3 }, '😀😀😀', { value: '😀😀😀' }],
    [{ type: 'string', maxLength: 3 }, 'abcd', { problem: problems.tooLong(3) }],
    [{ type: 'integer' }, ' 12 ', { value: 12 }],
    [{ type: 'integer' }, '\u22125', { value: -5 }],
    [{ type: 'integer' }, '1.5', { problem: problems.whole }],
    [{ type: 'integer' }, '0x10', { problem: problems.whole }],
    [{ type: 'integer', min: 1, max: 9 }, '0', { problem: problems.min('1') }],
    [{ type: 'integer', min: 1, max: 9 }, '10', { problem: problems.max('9') }],
    [{ type: 'bigInt' }, '9007199254740993', { value: '9007199254740993' }],
    [{ type: 'decimal' }, '12.50', { value: '12.50' }],
    [{ type: 'decimal' }, '12,50', { problem: problems.number }],
    [{ type: 'double' }, '1e3', { value: 1000 }],
    [{ type: 'boolean' }, 'TRUE', { value: true }],
    [{ type: 'boolean' }, 'No', { value: false }],
    [{ type: 'boolean' }, 'perhaps', { problem: problems.boolean }],
    [genre, 'jazz', { value: 'Jazz' }],
    [genre, 'Pop', { problem: problems.choice('Rock, Jazz') }],
    [{ ...genre, multiple: true }, 'Rock, jazz', { value: ['Rock', 'Jazz'] }],
    [{ ...genre, multiple: true }, '["Rock"]', { value: ['Rock'] }],
    [{ ...genre, multiple: true }, '["Pop"]', { problem: problems.choice('Rock, Jazz') }],
    [{ type: 'date' }, '2026-11-23', { value: '2026-11-23' }],
    [{ type: 'date' }, '23.11.2026', { problem: problems.date }],
    [{ type: 'time' }, '14:30', { value: '14:30' }],
    [{ type: 'time' }, 'noon', { problem: problems.time }],
    [{ type: 'datetime' }, '2026-11-23T14:30:00Z', { value: '2026-11-23T14:30:00.000Z' }],
    [{ type: 'datetime' }, 'soon', { problem: problems.dateTime }],
    [{ type: 'json' }, '{"a":1}', { value: { a: 1 } }],
    [{ type: 'json' }, '{', { problem: problems.json }],
    [{ type: 'array' }, '{"a":1}', { problem: problems.array }],
    [{ type: 'phone' }, '+49 (30) 1', { value: '+49301' }],
  ] as const)('%j %j', (field, text, value) => {
    expect(parsePastedValue({ name: 'f', ...(field as Omit<Field, 'name'>) }, text, problems)).toEqual(value);
  });
});

describe('the plan of a paste', () => {
  const fields: Field[] = [
    { name: 'title', type: 'string', required: true },
    { name: 'price', type: 'integer' },
    { name: 'stamp', type: 'datetime', readOnly: true },
    { name: 'artist', type: 'belongsTo', target: 'artists', foreignKey: 'artistId' },
  ];
  const rows: Row[] = [1, 2].map((key) => ({
    key,
    values: { title: `t${key}`, price: key, artistId: 7 },
    version: 3,
    isRemoved: false,
    changedAt: 0,
  }));
  const target: PasteTarget = {
    fields,
    count: 2,
    row: (index) => rows[index],
    mayUpdate: (field) => !field.readOnly,
    mayCreate: (field) => !field.readOnly,
  };
  const lookup = (_: Field, text: string) => (text === 'Queen' ? { key: 9 } : { problem: 'none' });
  const plan = (table: string[][], row = 0, column = 0, changed: Partial<PasteTarget> = {}) =>
    planPaste(table, { row, column }, { ...target, ...changed }, { lookup, problems });

  test('cells are pasted to the right and below, and unchanged values are left out', () => {
    const found = plan([
      ['t1', '5'],
      ['x', '2'],
    ]);
    expect(listWrites(found).map(({ row, values }) => [row?.key, values])).toEqual([
      [1, { price: 5 }],
      [2, { title: 'x' }],
    ]);
  });

  test('rows below the last one are new records, without their empty cells', () => {
    expect(
      listWrites(
        plan(
          [
            ['a', '1'],
            ['b', ''],
          ],
          1,
        ),
      ).map(({ row, values }) => [row?.key ?? null, values]),
    ).toEqual([
      [2, { title: 'a', price: 1 }],
      [null, { title: 'b' }],
    ]);
    const readOnly = plan([['a'], ['b'], ['c']], 1, 0, { mayCreate: () => false });
    expect([readOnly.skippedRows, listWrites(readOnly).length]).toEqual([2, 1]);
  });

  test('columns that cannot be written or do not exist are named', () => {
    const found = plan([['5', 'x', 'Queen', 'y']], 0, 1);
    expect(found).toMatchObject({ readOnlyColumns: ['stamp'], skippedColumns: 1, skippedRows: 0 });
    expect(listWrites(found)[0]?.values).toEqual({ price: 5, artistId: 9 });
  });

  test('invalid cells are left out, and so is a new record without a required value', () => {
    const found = plan([
      ['', '1'],
      ['x', 'abc'],
    ]);
    expect(found.rows.flatMap(({ cells }) => cells.map(({ problem }) => problem))).toEqual([
      problems.required,
      null,
      problems.whole,
    ]);
    expect(listWrites(found).map(({ values }) => values)).toEqual([{ title: 'x' }]);
    const tooLong = [{ name: 'title', type: 'string', required: true, maxLength: 1 } as Field, ...fields.slice(1)];
    expect(listWrites(plan([['abc', '1']], 2, 0, { fields: tooLong }))).toEqual([]);
  });

  test('a deleted record is left out', () => {
    expect(plan([['x']], 0, 0, { row: () => ({ ...rows[0]!, isRemoved: true }) })).toMatchObject({
      rows: [],
      skippedRows: 1,
    });
  });
});
