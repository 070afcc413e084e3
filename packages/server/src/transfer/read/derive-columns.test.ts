import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countTurns } from '../../../test/support/event-loop-turns.ts';
import { toBlob } from '../../../test/support/source-file.ts';
import type { FieldDefinition } from '../../protocol/definition.ts';
import { checkCollection } from '../../schema/definition-check.ts';
import type { CellFormat } from './cell-format.ts';
import { type DerivedTable, deriveColumns } from './derive-columns.ts';
import { openTable } from './open-table.ts';
import type { SourceRow, TableOptions, TableSource } from './table-source.ts';

async function derive(file: string, options?: TableOptions, maxRows?: number): Promise<DerivedTable> {
  return deriveColumns(await openTable(toBlob(file), options), maxRows === undefined ? {} : { maxRows });
}

/** The field of a column with these texts. */
async function deriveOne(
  values: readonly string[],
  header = 'value',
): Promise<Partial<FieldDefinition> & { format: CellFormat }> {
  const lines = values.map((value) => `"${value.replaceAll('"', '""')}"`);
  const { columns } = await derive(`${header}\n${lines.join('\n')}\n`, { header: true, format: 'csv', delimiter: '|' });
  const [column] = columns;
  return { ...column?.definition, format: column?.format ?? { numbers: null, dates: null } };
}

test('types are derived from all values', async () => {
  const cases: readonly (readonly [values: readonly string[], type: object])[] = [
    [['1', '-20', '3'], { type: 'integer', required: true }],
    [['1', '', '3'], { type: 'integer' }],
    [['2147483648', '1'], { type: 'bigInt' }],
    [['12345678901234567890'], { type: 'string' }],
    [['1.50', '20', '300.25'], { type: 'decimal', precision: 10, scale: 2 }],
    [['1.5e3', '2'], { type: 'double' }],
    [['0.12345678901', '2'], { type: 'double' }],
    [['01234', '55555'], { type: 'string' }],
    [['+4930123456', '+49301234567'], { type: 'string' }],
    [['true', 'FALSE'], { type: 'boolean' }],
    [['ja', 'nein'], { type: 'boolean' }],
    [['1', '0'], { type: 'integer' }],
    [['2026-12-31', '2026-01-01'], { type: 'date' }],
    [['2026-12-31T10:00:00Z', '2026-01-01 10:00'], { type: 'datetime' }],
    [['2026-12-31', '2026-01-01 10:00'], { type: 'datetime' }],
    [['10:30', '23:59:59.5'], { type: 'time' }],
    [['ann@example.com', 'bob@example.com'], { type: 'email' }],
    [['https://a.example/x', 'http://b.example'], { type: 'url' }],
    [['0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'], { type: 'uid' }],
    [['[1,2]', '[]'], { type: 'array' }],
    [['[1,2]', '{"a":1}'], { type: 'json' }],
    [['a', 'b'], { type: 'string' }],
    [['line\nbreak', 'b'], { type: 'text' }],
    [['x'.repeat(300)], { type: 'text' }],
    [
      [...Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? 'open' : 'closed'))],
      { type: 'select', enum: ['closed', 'open'] },
    ],
    [[...Array.from({ length: 600 }, (_, index) => String(index)), 'last'], { type: 'string' }],
    [['', ''], { type: 'string' }],
  ];
  for (const [values, type] of cases) expect(await deriveOne(values), values.slice(0, 3).join()).toMatchObject(type);
  expect(await deriveOne(['1', '0'], 'isActive')).toMatchObject({ type: 'boolean' });
  expect(await deriveOne(['1', ''])).not.toHaveProperty('required');
});

test('decimal and group separators are only derived if they are unambiguous', async () => {
  for (const [values, numbers] of [
    [['1.234,50', '5', '1.000'], { decimal: ',', group: '.' }],
    [['1,5', '2'], { decimal: ',', group: '.' }],
    [['1,234.50', '1,000'], { decimal: '.', group: ',' }],
    [['1,234,567'], { decimal: '.', group: ',' }],
    [['1 234,5', '2\u00a0000'], { decimal: ',', group: ' ' }],
    [["1'234.50", '2'], { decimal: '.', group: "'" }],
    [['1.234', '5'], null],
  ] as const) {
    const { type, format } = await deriveOne(values);
    expect([values, format.numbers]).toEqual([values, numbers]);
    expect(type).toMatch(/^(?:decimal|integer)$/);
  }
  expect(await deriveOne(['1,234', '5,678'])).toMatchObject({ type: 'string' });
  expect(await deriveOne(['1,5', '1.5'])).toMatchObject({ type: 'string' });
});

test('the order of day, month and year is only derived if it is unambiguous', async () => {
  for (const [values, dates] of [
    [['31.12.2026', '01.02.2026'], 'dmy'],
    [['01.02.2026'], 'dmy'],
    [['12/31/2026', '01/02/2026'], 'mdy'],
    [['31/12/2026', '01/02/2026'], 'dmy'],
    [['2026/12/31', '2026/01/02'], 'ymd'],
    [['2026-12-31'], null],
  ] as const) {
    const { type, format } = await deriveOne(values);
    expect([values, type, format.dates]).toEqual([values, 'date', dates]);
  }
  expect(await deriveOne(['01/02/2026', '03/04/2026'])).toMatchObject({ type: 'string' });
  expect(await deriveOne(['31/12/2026', '12/31/2026'])).toMatchObject({ type: 'date', format: { dates: null } });
  expect(await deriveOne(['31.12.2026 10:00', '01.01.2026 9:30'])).toMatchObject({
    type: 'datetime',
    format: { dates: 'dmy' },
  });
  expect(await deriveOne(['31.02.2026'])).toMatchObject({ type: 'string' });
});

test('a few other texts do not prevent the detection of number and date formats', async () => {
  const prices = [...Array.from({ length: 60 }, (_, index) => `${index},50`), 'none'];
  expect(await deriveOne(prices)).toMatchObject({ type: 'string', format: { numbers: { decimal: ',', group: '.' } } });
  const days = Array.from({ length: 28 }, (_, index) => `${index + 1}/02/2026`);
  expect(await deriveOne([...days, 'soon', '31/02/2026'])).toMatchObject({ type: 'string', format: { dates: 'dmy' } });
  const times = days.map((day) => `${day} 10:00`);
  expect(await deriveOne([...times, 'later'])).toMatchObject({ type: 'string', format: { dates: 'dmy' } });
  // No format is derived from contradictory values, or from texts with a few numbers.
  const plain = { numbers: null, dates: null };
  expect(await deriveOne(['1,5', 'none', '1.5'])).toMatchObject({ type: 'string', format: plain });
  expect(await deriveOne(['13/02/2026', 'soon', '02/13/2026'])).toMatchObject({ type: 'string', format: plain });
  const words = Array.from({ length: 21 }, (_, index) => `word ${index}`);
  expect(await deriveOne([...words, '1,50', '31/12/2026'])).toMatchObject({ type: 'string', format: plain });
});

test('strings in JSON files are not read as numbers', async () => {
  const { columns } = await derive('[{"zip":"12345","n":12.5,"when":"2026-01-01","list":[1],"big":9007199254740993}]');
  expect(columns.map(({ definition: { type } }) => type)).toEqual(['string', 'decimal', 'date', 'array', 'bigInt']);
});

test('ascending whole numbers under the header "id" become the primary key', async () => {
  const find = async (file: string): Promise<unknown> => (await derive(file)).columns[0]?.definition;
  expect(await find('id,name\n1,a\n5,b\n')).toEqual({
    name: 'id',
    type: 'integer',
    primaryKey: true,
    autoIncrement: true,
  });
  expect(await find('id,name\n1,a\n1,b\n')).toEqual({ name: 'id2', title: 'id', type: 'integer', required: true });
  expect(await find('id,name\nx,a\ny,b\n')).toMatchObject({ name: 'id2', type: 'string' });
});

test('every row is used, up to a limit', async () => {
  const file = `n\n${Array.from({ length: 5000 }, (_, index) => `${index}\n`).join('')}text\n`;
  expect(await derive(file)).toMatchObject({
    rows: 5001,
    truncated: false,
    columns: [{ definition: { type: 'string' } }],
  });
  expect(await derive(file, {}, 5000)).toMatchObject({
    rows: 5000,
    truncated: true,
    columns: [{ definition: { type: 'integer' } }],
  });
  expect((await derive(file)).sampleRows).toHaveLength(20);
});

test('any header leads to a valid definition', async () => {
  const headers = [
    'name',
    'name',
    '',
    'Unit price (€)',
    'Größe',
    '名前',
    '1st',
    'createdAt',
    'id',
    'constructor',
    '__proto__',
    'x'.repeat(10_000),
    '😀',
    "=cmd|'/c'!A1",
  ];
  const line = (texts: readonly string[]): string => `${texts.map((text) => `"${text}"`).join(',')}\n`;
  const { columns } = await derive(line(headers) + line(headers.map(() => 'text')), { header: true });
  expect(columns.map(({ definition: { name } }) => name)).toEqual([
    'name',
    'name2',
    'column3',
    'unitPrice',
    'grosse',
    'column6',
    'n1st',
    'createdAt2',
    'id2',
    'constructor2',
    'proto',
    'x'.repeat(60),
    'column13',
    'cmdCA1',
  ]);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { minLength: 1, maxLength: 5 }),
      async (texts) => {
        const safe = texts.map((text) => text.toWellFormed().replaceAll('"', ''));
        const derived = await derive(`${line(safe)}${line(safe.map(() => 'x'))}`, {
          header: true,
          format: 'csv',
          delimiter: ',',
          encoding: 'utf-8',
        });
        const fields = derived.columns.map(({ definition }) => definition);
        expect(() => checkCollection({ name: 'things', fields }, 1000)).not.toThrow();
      },
    ),
    { numRuns: 200 },
  );
});

test('other requests are processed while the types of one batch of rows are derived', async () => {
  const rows = Array.from({ length: 400 }, (_, index) => `${index},2026-01-31,Text ${index}`);
  const source = await openTable(toBlob(`id,day,text\n${rows.join('\n')}\n`));
  const batches: (readonly SourceRow[])[] = [];
  for await (const batch of source.rows()) batches.push(batch);
  const inMemory: TableSource = {
    ...source,
    async *rows() {
      yield batches.flat();
    },
  };
  let derived: DerivedTable | null = null;
  const turns = await countTurns(async () => {
    derived = await deriveColumns(inMemory);
  });
  expect(turns).toBeGreaterThanOrEqual(60);
  expect(derived).toMatchObject({ rows: 400 });
});

test('numbers that can be read in two ways have the decimal sign of the other columns', async () => {
  const readFormats = async (csv: string): Promise<unknown[]> =>
    (await derive(csv)).columns.map(({ definition, format }) => [definition.type, format.numbers?.decimal ?? '.']);
  expect(await readFormats('a;b\n1.234;1.234,5\n2.345;2,5\n')).toEqual([
    ['integer', ','],
    ['decimal', ','],
  ]);
  expect(await readFormats('a;b\n"1,234";1.5\n"2,345";2.5\n')).toEqual([
    ['integer', '.'],
    ['decimal', '.'],
  ]);
  // Both signs, or none: each column is read by itself.
  expect(await readFormats('a;b;c\n1.234;1,5;1.5\n')).toMatchObject([
    ['decimal', '.'],
    ['decimal', ','],
    ['decimal', '.'],
  ]);
  expect(await readFormats('a;b\n1.234;x\n')).toMatchObject([['decimal', '.'], {}]);
});
