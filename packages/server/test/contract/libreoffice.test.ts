/** Spreadsheets written by LibreOffice are imported with their values, and LibreOffice reads exported spreadsheets. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sqlite } from '../support/engines.ts';
import { sendFiles } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { convertSheet, findLibreOffice } from '../support/libreoffice.ts';
import { TestServer } from '../support/scenario.ts';
import { readTable } from '../support/source-file.ts';

const libreOffice = findLibreOffice();
/** Separated by commas, with quotation marks, in UTF-8. */
const csvInUtf8 = 'csv:Text - txt - csv (StarCalc):44,34,76,1';

const fields = [
  { name: 'name', type: 'text' },
  { name: 'amount', type: 'double' },
  { name: 'share', type: 'double' },
  { name: 'price', type: 'decimal', precision: 12, scale: 2 },
  { name: 'due', type: 'date' },
  { name: 'seen', type: 'datetime' },
  { name: 'clock', type: 'time' },
  { name: 'active', type: 'boolean' },
  { name: 'total', type: 'double' },
  { name: 'code', type: 'string' },
];

type Cell = readonly [type: string, value?: string, style?: string];
const text = (value: string): Cell => ['string', value];

/** A row of a flat OpenDocument spreadsheet. */
function writeRow(cells: readonly (Cell | null)[]): string {
  const attributes: Readonly<Record<string, string>> = {
    float: 'value',
    percentage: 'value',
    currency: 'value',
    date: 'date-value',
    time: 'time-value',
    boolean: 'boolean-value',
  };
  const written = cells.map((cell) => {
    if (cell === null) return '<table:table-cell/>';
    const [type, value = '', style] = cell;
    const styled = style === undefined ? '' : ` table:style-name="${style}"`;
    if (type === 'formula') return `<table:table-cell table:formula="${value}" office:value-type="float"/>`;
    if (type === 'string') {
      const paragraphs = value.split('\n').map((line) => `<text:p>${line}</text:p>`);
      return `<table:table-cell office:value-type="string">${paragraphs.join('')}</table:table-cell>`;
    }
    return `<table:table-cell${styled} office:value-type="${type}" office:${attributes[type]}="${value}"/>`;
  });
  return `<table:table-row>${written.join('')}</table:table-row>`;
}

const urn = 'urn:oasis:names:tc:opendocument:xmlns';
const part = (name: string, long = ''): string => `<number:${name}${long && ' number:style="long"'}/>`;
const dateParts = [part('year', 'long'), part('month', 'long'), part('day', 'long')].join(
  '<number:text>/</number:text>',
);
const timeParts = [part('hours', 'long'), part('minutes', 'long'), part('seconds', 'long')].join(
  '<number:text>:</number:text>',
);
const numberStyles = [
  `<number:date-style style:name="N1">${dateParts}</number:date-style>`,
  `<number:date-style style:name="N2">${dateParts}<number:text> </number:text>${timeParts}</number:date-style>`,
  `<number:time-style style:name="N3">${timeParts}</number:time-style>`,
  '<number:boolean-style style:name="N4"><number:boolean/></number:boolean-style>',
  '<number:percentage-style style:name="N5"><number:number number:decimal-places="0"/><number:text>%</number:text></number:percentage-style>',
].join('');
const cellStyles = [1, 2, 3, 4, 5]
  .map((index) => `<style:style style:name="c${index}" style:family="table-cell" style:data-style-name="N${index}"/>`)
  .join('');

function writeFlatSheet(rows: readonly (readonly (Cell | null)[])[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?><office:document xmlns:office="${urn}:office:1.0" xmlns:style="${urn}:style:1.0" xmlns:number="${urn}:datastyle:1.0" xmlns:table="${urn}:table:1.0" xmlns:text="${urn}:text:1.0" xmlns:of="${urn}:of:1.2" office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:automatic-styles>${numberStyles}${cellStyles}</office:automatic-styles><office:body><office:spreadsheet><table:table table:name="People">${rows.map(writeRow).join('')}</table:table><table:table table:name="Other"/></office:spreadsheet></office:body></office:document>`;
}

const sheet = writeFlatSheet([
  fields.map(({ name }) => text(name)),
  [
    text('Ann\nsecond line &amp; Ümläut'),
    ['float', '1234.5'],
    ['percentage', '0.25', 'c5'],
    ['currency', '9.99'],
    ['date', '2026-11-23', 'c1'],
    ['date', '2026-11-23T16:10:05', 'c2'],
    ['time', 'PT16H10M05S', 'c3'],
    ['boolean', 'true', 'c4'],
    ['formula', 'of:=[.B2]*2'],
    text('007'),
  ],
  [
    text('=1+1'),
    ['float', '-0.1'],
    null,
    ['float', '9999999999.99'],
    ['date', '1900-03-01', 'c1'],
    ['date', '9999-12-31T23:59:59', 'c2'],
    ['time', 'PT00H00M00S', 'c3'],
    ['boolean', 'false', 'c4'],
    ['formula', 'of:=SUM([.B2:.B3])'],
    text("'quoted'"),
  ],
]);

const records = [
  {
    name: 'Ann\nsecond line & Ümläut',
    amount: 1234.5,
    share: 0.25,
    price: '9.99',
    due: '2026-11-23',
    seen: '2026-11-23T16:10:05.000Z',
    clock: '16:10:05',
    active: true,
    total: 2469,
    code: '007',
  },
  {
    name: '=1+1',
    amount: -0.1,
    share: null,
    price: '9999999999.99',
    due: '1900-03-01',
    seen: '9999-12-31T23:59:59.000Z',
    clock: '00:00:00',
    active: false,
    total: 1234.4,
    code: "'quoted'",
  },
];

describe('LibreOffice', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(sqlite);
    for (const name of ['people', 'copies'])
      await server.data('POST /api/collections:create', { body: { name, fields } });
  });
  afterAll(() => server.stop());

  const importFile = (collection: string, name: string, content: Buffer): ReturnType<typeof sendFiles> =>
    sendFiles(server, `/api/${collection}:import`, {
      as: 'admin',
      files: [{ name, content: new Uint8Array(content) }],
    });
  const list = async (collection: string): Promise<Json[]> =>
    server.data(`GET /api/${collection}:list?sort=id&fields=${fields.map(({ name }) => name).join()}`);

  test('a workbook written by LibreOffice is imported with the values of its cells', async () => {
    // Without LibreOffice, a stored workbook is used, which LibreOffice 7.4 has written from the same sheet.
    const stored = new URL('libreoffice.xlsx', import.meta.url);
    const workbook = libreOffice ? convertSheet(libreOffice, sheet, 'fods', 'xlsx') : readFileSync(stored);
    const { status, text: reply } = await importFile('people', 'people.xlsx', workbook);
    expect({ status, reply }).toMatchObject({ status: 200 });
    expect(await list('people')).toEqual(records);
  });

  test.skipIf(libreOffice === null)(
    'LibreOffice reads an export, and its copy of the export is imported with equal values',
    async () => {
      const names = fields.map(({ name }) => name).join();
      const exported = await fetch(`${server.running.url}/api/people:export?format=xlsx&sort=id&fields=${names}`, {
        headers: { authorization: `Bearer ${server.tokens.get('admin')}` },
      });
      const bytes = Buffer.from(await exported.arrayBuffer());
      const { columns, cells } = await readTable(convertSheet(libreOffice!, bytes, 'xlsx', csvInUtf8));
      const [first, second] = cells;
      expect([columns, first![0], first![1], first![9]]).toEqual([names.split(','), records[0]!.name, '1234.5', '007']);
      expect([second![0], second![7], second![9]]).toEqual(['=1+1', 'FALSE', "'quoted'"]);
      const saved = convertSheet(libreOffice!, convertSheet(libreOffice!, bytes, 'xlsx', 'ods'), 'ods', 'xlsx');
      const { status, text: reply } = await importFile('copies', 'copies.xlsx', saved);
      expect({ status, reply }).toMatchObject({ status: 200 });
      expect(await list('copies')).toEqual(records);
    },
  );
});
