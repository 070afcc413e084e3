/** An import reads the same values that an export has written, for every field type and every format. */
import { buffer, text } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTable } from '../../../test/support/source-file.ts';
import type { FieldDefinition } from '../../protocol/definition.ts';
import { JsonNumber, parseExactJson } from '../../protocol/exact-json.ts';
import { toExactValue } from '../../schema/field-type.ts';
import { fieldTypes, resolveFieldType } from '../../schema/field-types.ts';
import { writeCsv } from '../csv-writer.ts';
import type { CellKind, ExportColumn, ExportedRecord } from '../export-columns.ts';
import type { ExportTable } from '../export-table.ts';
import { writeXlsx } from '../xlsx-writer.ts';
import { plainFormat } from './cell-format.ts';
import { parseCell } from './cell-value.ts';

const hostileText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'\'"=+-@＝＋\t\r\n,;| \uFEFF\u0007_x0041_<&😀'),
    fc
      .string({ unit: 'binary', minLength: 1, maxLength: 1 })
      .filter((each) => each.isWellFormed() && each !== '\u0000'),
  ),
  maxLength: 12,
});
const instant = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('9999-12-30T00:00:00Z'),
  noInvalidDate: true,
});
const choice = fc.constantFrom('a', 'b;c', '=d', '[e]', ' f');
const digits = (whole: number, scale: number): fc.Arbitrary<string> =>
  fc.bigInt({ min: -(10n ** BigInt(whole + scale)) + 1n, max: 10n ** BigInt(whole + scale) - 1n }).map((number) => {
    const plain = String(number < 0n ? -number : number).padStart(scale + 1, '0');
    const sign = number < 0n ? '-' : '';
    return sign + (scale === 0 ? plain : `${plain.slice(0, -scale)}.${plain.slice(-scale)}`);
  });
/** JSON values without member names that requests may not contain, because no record has them. */
const json = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.stringify(value))
  .filter((text) => !/"(?:__proto__|constructor|prototype)":/.test(text))
  .map((text) => JSON.parse(text) as unknown);
/** A file as it is shown in replies. */
const file = fc.record({
  id: fc.integer({ min: 1 }),
  name: hostileText,
  contentType: fc.constant('text/plain'),
  size: fc.nat(),
  width: fc.constant(null),
  height: fc.constant(null),
  url: fc.constant('/api/files/7'),
});

interface FieldCase {
  readonly definition: Omit<FieldDefinition, 'name'>;
  readonly kind: CellKind;
  /** Values as replies contain them, without null. */
  readonly values: fc.Arbitrary<unknown>;
}

const fields: readonly FieldCase[] = [
  { definition: { type: 'string' }, kind: 'text', values: hostileText },
  { definition: { type: 'text' }, kind: 'text', values: hostileText },
  { definition: { type: 'select', enum: ['a'] }, kind: 'text', values: choice },
  { definition: { type: 'email' }, kind: 'text', values: fc.constantFrom('a@b.de', '+x@b.de', '=x@b.de') },
  { definition: { type: 'phone' }, kind: 'text', values: fc.constant('+4930123456') },
  { definition: { type: 'color' }, kind: 'text', values: fc.constantFrom('#fff', '#A0b1C2', '#00112233') },
  { definition: { type: 'url' }, kind: 'text', values: fc.webUrl({ withQueryParameters: true, withFragments: true }) },
  { definition: { type: 'uid' }, kind: 'text', values: fc.uuid() },
  { definition: { type: 'integer' }, kind: 'integer', values: fc.integer({ min: -2147483647 }) },
  {
    definition: { type: 'bigInt' },
    kind: 'integer',
    values: fc
      .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
      .map((number) => (Number.isSafeInteger(Number(number)) ? Number(number) : String(number))),
  },
  { definition: { type: 'sort' }, kind: 'integer', values: fc.integer({ min: -(2 ** 52), max: 2 ** 52 }) },
  {
    definition: { type: 'float' },
    kind: 'number',
    values: fc.float({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  },
  {
    definition: { type: 'double' },
    kind: 'number',
    values: fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  },
  {
    definition: { type: 'decimal', precision: 18, scale: 4 },
    kind: 'decimal',
    values: digits(14, 4).filter((each) => !/^-0\.0+$/.test(each)),
  },
  { definition: { type: 'boolean' }, kind: 'boolean', values: fc.boolean() },
  { definition: { type: 'date' }, kind: 'date', values: instant.map((date) => date.toISOString().slice(0, 10)) },
  {
    definition: { type: 'datetime', dateOnly: true },
    kind: 'date',
    values: instant.map((date) => date.toISOString().slice(0, 10)),
  },
  { definition: { type: 'datetime' }, kind: 'datetime', values: instant.map((date) => date.toISOString()) },
  {
    definition: { type: 'time' },
    kind: 'time',
    values: instant.map((date) => date.toISOString().slice(11, 23).replace('.000', '')),
  },
  { definition: { type: 'json' }, kind: 'json', values: json.filter((value) => value !== null) },
  { definition: { type: 'array' }, kind: 'json', values: fc.array(json, { maxLength: 4 }) },
  { definition: { type: 'select', enum: ['a'], multiple: true }, kind: 'json', values: fc.uniqueArray(choice) },
  { definition: { type: 'file' }, kind: 'json', values: file },
  { definition: { type: 'file', multiple: true }, kind: 'json', values: fc.array(file, { maxLength: 3 }) },
];
const types = fields.map(({ definition }) => resolveFieldType({ name: 'field', ...definition }));
const names = fields.map((_, index) => `field${index}`);
const findName = (kind: CellKind): string => names[fields.findIndex((each) => each.kind === kind)] ?? '';
const emptyRecord = Object.fromEntries(names.map((name) => [name, null]));
const records = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record(Object.fromEntries(fields.map(({ values }, index) => [names[index], fc.option(values)]))),
    },
    { weight: 1, arbitrary: fc.constant(emptyRecord) },
  ),
  { maxLength: 5 },
);

const columns = fields.map(({ kind, definition }, index): ExportColumn => {
  const name = names[index] ?? '';
  return { path: [name], name, title: name, kind, scale: definition.scale ?? 0 };
});

function makeTable(given: readonly ExportedRecord[], zone: string | null): ExportTable {
  async function* batches(): AsyncGenerator<readonly ExportedRecord[]> {
    yield parseExactJson(JSON.stringify(given)) as ExportedRecord[];
  }
  return { columns, header: 'names', zone, title: 'Records', batches: batches() };
}

async function readBack(file: string | Uint8Array, zone: string | null = null): Promise<readonly unknown[]> {
  const wholeMembers = new Set(names.filter((_, index) => fields[index]?.kind === 'json'));
  const { columns: header, cells } = await readTable(file, { header: true, wholeMembers });
  return cells.map((row) =>
    Object.fromEntries(
      names.map((name, index) => {
        const type = types[index];
        if (!type) throw new Error('no type');
        const result = parseCell(row[header.indexOf(name)] ?? null, type, { format: plainFormat, zone });
        if ('reason' in result) throw new Error(`${name}: ${result.reason}`);
        const { value } = result;
        if (value === null) return [name, null];
        // JSON is stored as text, also the numbers that a JavaScript number cannot represent.
        if (type.storage === 'json') return [name, JSON.parse(JSON.stringify(value)) as unknown];
        return [name, type.read(toExactValue(type, value), { name, ...fields[index]?.definition } as FieldDefinition)];
      }),
    ),
  );
}

test('every field type with values in an export has a case here', () => {
  const tested = new Set(fields.map(({ definition }) => definition.type));
  const others = fieldTypes.all().filter(({ name, secret, relation }) => !secret && !relation && !tested.has(name));
  expect(others.map(({ name }) => name)).toEqual([]);
  // Exports never contain passwords.
  expect(fieldTypes.all().filter(({ secret }) => secret)).toMatchObject([{ name: 'password' }]);
});

test('CSV', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(records, fc.constantFrom(',', ';', '|', '\t'), fc.boolean(), async (given, delimiter, bom) => {
      const file = await text(writeCsv(makeTable(given, null), { delimiter, bom }));
      expect(await readBack(file)).toEqual(given);
    }),
    { numRuns: 150 },
  );
});

test('CSV with local times', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(records, fc.constantFrom('Europe/Berlin', 'America/St_Johns'), async (given, zone) => {
      const file = await text(writeCsv(makeTable(given, zone), { delimiter: ',', bom: false }));
      expect(await readBack(file)).toEqual(given);
    }),
    { numRuns: 50 },
  );
});

test('XLSX', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(records, async (given) => {
      expect(await readBack(await buffer(writeXlsx(makeTable(given, null))))).toEqual(given);
    }),
    { numRuns: 100 },
  );
});

test('XLSX with local times and several sheets', async () => {
  const given = Array.from({ length: 25 }, (_, index) => ({
    ...emptyRecord,
    [findName('integer')]: index % 3 === 0 ? null : index,
    [findName('datetime')]: index % 3 === 0 ? null : '2026-07-01T12:30:15.250Z',
  }));
  const zone = 'America/New_York';
  const file = await buffer(writeXlsx(makeTable(given, zone), { rows: 10, length: 1e9 }));
  expect(await readBack(file, zone)).toEqual(given);
});

test('a large number that is the shortest form of a double is read as that double; other digits stay exact', () => {
  const double = resolveFieldType({ name: 'ratio', type: 'double' });
  const read = (kind: 'number' | 'double', text: string): unknown =>
    parseCell({ kind, text }, double, { format: plainFormat, zone: null });
  expect(read('number', '132666446322702820')).toEqual({ value: Number('132666446322702820') });
  expect(read('double', '-30775147467481550')).toEqual({ value: Number('-30775147467481550') });
  expect(read('number', '9007199254740993')).toEqual({ value: expect.any(JsonNumber) });
  expect(read('number', '1e999')).toEqual({ value: expect.any(JsonNumber) });
});

test('JSON and NDJSON', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(records, async (given) => {
      expect(await readBack(JSON.stringify(given))).toEqual(given);
      if (given.length > 0)
        expect(await readBack(given.map((record) => JSON.stringify(record)).join('\n'))).toEqual(given);
    }),
    { numRuns: 150 },
  );
});
