/** Files that try to exhaust memory or time, to load other files, or to pass for another format. */
import { deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  makeWorkbook,
  makeWorkbookParts,
  readRows,
  readTable,
  toBlob,
  zipParts,
} from '../../../test/support/source-file.ts';
import { openTable } from './open-table.ts';
import { sourceLimits } from './table-source.ts';

const row = (cells: string): string => `<row r="1">${cells}</row>`;
const sheet = row('<c t="str"><v>name</v></c>');

test('a million columns are refused in every format', async () => {
  const message = 'more than 16384 columns';
  await expect(readTable(`a${',b'.repeat(1_000_000)}\n`)).rejects.toThrow(message);
  await expect(readTable(`a,b\n1,2\n1${','.repeat(1_000_000)}\n`)).rejects.toThrow(`Line 3 has ${message}`);
  await expect(readTable(await makeWorkbook({ sheets: { S: row('<c/>'.repeat(1_000_000)) } }))).rejects.toThrow(
    message,
  );
  await expect(readTable(await makeWorkbook({ sheets: { S: row('<c r="XFE1"><v>1</v></c>') } }))).rejects.toThrow(
    message,
  );
  await expect(readTable(await makeWorkbook({ sheets: { S: row('<c r="ZZZZZZZZ1"><v>1</v></c>') } }))).rejects.toThrow(
    message,
  );
  expect((await readTable(`${'a,'.repeat(sourceLimits.columns - 1)}a\n`)).columns).toHaveLength(sourceLimits.columns);
});

test('a cell that is too long is refused before all of it is in memory', async () => {
  let sent = 0;
  const start = Buffer.from('a,b\n1,"');
  const long = {
    size: 8 * sourceLimits.cellLength,
    async *read(from: number, to: number): AsyncGenerator<Uint8Array> {
      for (let index = from; index <= to; index += 4096) {
        const piece = Buffer.alloc(Math.min(4096, to + 1 - index), 'x');
        if (index === 0) piece.set(start);
        sent += piece.length;
        yield piece;
      }
    },
  };
  const source = await openTable(long, { format: 'csv', encoding: 'utf-8', header: true });
  await expect(readRows(source)).rejects.toThrow('Line 2: a cell has more than');
  expect(sent).toBeLessThan(2 * sourceLimits.cellLength);
});

test('a column name of ten megabytes is read like any other text', async () => {
  const name = 'n'.repeat(sourceLimits.cellLength);
  const { columns, cells } = await readTable(`${name},b\n1,2\n`, { header: true });
  expect(columns[0]).toHaveLength(sourceLimits.cellLength);
  expect(cells).toEqual([['1', '2']]);
  await expect(readTable(`${name}n,b\n`)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
});

test('files of other kinds are refused, and the message says what they are', async () => {
  const compound = (stream: string): Buffer => {
    const bytes = Buffer.alloc(2048);
    bytes.set([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
    bytes.writeUInt16LE(9, 30);
    bytes.writeUInt32LE(1, 48);
    bytes.write(stream, 1024 + 128, 'utf16le');
    return bytes;
  };
  for (const [file, message] of [
    [Buffer.from('\x89PNG\r\n\x1a\n0000', 'latin1'), 'a PNG image'],
    [Buffer.from('\xff\xd8\xff\xe0', 'latin1'), 'a JPEG image'],
    [Buffer.from('%PDF-1.7\n'), 'a PDF document'],
    [Buffer.from('\x7fELF\x02\x01', 'latin1'), 'a program'],
    [Buffer.from('\x1f\x8b\x08\x00', 'latin1'), 'a gzip archive'],
    [Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 7919) % 256)), 'binary'],
    [Buffer.alloc(5000), 'binary'],
    [Buffer.from('<!DOCTYPE html><table><tr><td>1</table>'), 'HTML or XML'],
    [compound('EncryptedPackage'), 'The file is encrypted'],
    [compound('Workbook'), 'old Excel version (.xls)'],
    [compound('WordDocument'), 'old Office version'],
    [
      await zipParts({ mimetype: 'application/vnd.oasis.opendocument.spreadsheet', 'content.xml': '<x/>' }),
      'OpenDocument',
    ],
    [await zipParts({ '[Content_Types].xml': '', 'word/document.xml': '' }), 'a text document'],
    [await zipParts({ '[Content_Types].xml': '', 'xl/workbook.bin': '' }), '.xlsb'],
    [await zipParts({ 'a.txt': 'a' }), 'without a workbook'],
    [Buffer.alloc(0), 'empty'],
  ] as const)
    await expect(openTable(toBlob(file)), message).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining(message),
    });
  await expect(readTable('a,b\n1,2\n', { format: 'xlsx' })).rejects.toThrow('not an XLSX workbook');
  await expect(readTable(await makeWorkbook({ sheets: { S: sheet } }), { format: 'csv' })).rejects.toThrow(
    'Leave "format" out',
  );
});

test('a control character in a cell is read as it is', async () => {
  const { cells } = await readTable(`name,note\n${'Ann Miller,a plain note\n'.repeat(20)}Bob,a\u0000b\n`);
  expect(cells.at(-1)).toEqual(['Bob', 'a\u0000b']);
});

test('entities, document types and references to other files are never followed', async () => {
  const parts = makeWorkbookParts({ sheets: { S: sheet } });
  const entity =
    '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>';
  await expect(
    readTable(
      await zipParts({
        ...parts,
        'xl/worksheets/s0.xml': `${entity}<worksheet><sheetData>&b;&c;</sheetData></worksheet>`,
      }),
    ),
  ).rejects.toThrow('document type definition');
  const unknown = await makeWorkbook({ sheets: { S: row('<c t="str"><v>&c;&lt;</v></c>') } });
  expect((await readTable(unknown, { header: false })).cells).toEqual([['&c;<']]);
  const external =
    '<Relationships xmlns="urn:r"><Relationship Id="r0" Type="x/worksheet" TargetMode="External" Target="http://127.0.0.1:9/s.xml"/></Relationships>';
  await expect(readTable(await zipParts({ ...parts, 'xl/_rels/workbook.xml.rels': external }))).rejects.toThrow(
    'no sheet',
  );
  const outside =
    '<Relationships xmlns="urn:r"><Relationship Id="r0" Type="x/worksheet" Target="../../../../etc/passwd"/></Relationships>';
  await expect(readTable(await zipParts({ ...parts, 'xl/_rels/workbook.xml.rels': outside }))).rejects.toThrow(
    'missing',
  );
});

/** A workbook whose zip directory states this size for the sheet. */
async function lieAboutSheet(size: number): Promise<Buffer> {
  const path = 'xl/worksheets/s0.xml';
  const file = await zipParts(makeWorkbookParts({ sheets: { S: sheet } }));
  file.writeUInt32LE(size, file.lastIndexOf(path) - 46 + 24);
  return file;
}

test('a small file that unpacks to gigabytes is refused before it is unpacked', async () => {
  await expect(readTable(await lieAboutSheet(1400 * 1024 * 1024))).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
    message: expect.stringContaining('more tightly'),
  });
  // A smaller size is only refused because it is wrong.
  await expect(readTable(await lieAboutSheet(1200 * 1024 * 1024))).rejects.toThrow('damaged');
});

test('a sheet of equal texts is read, although its compression ratio is high', async () => {
  const text = 'x'.repeat(30_000);
  const rows = 600;
  const content = row(`<c t="str"><v>${text}</v></c>`).repeat(rows);
  const file = await makeWorkbook({ sheets: { S: content } });
  expect(content.length / file.length).toBeGreaterThan(250);
  const source = await openTable(toBlob(file), { header: false });
  let count = 0;
  for await (const batch of source.rows()) count += batch.filter(({ cells }) => cells[0] === text).length;
  expect(count).toBe(rows);
});

test('a sheet that the list of sheets names several times is read once', async () => {
  const parts = makeWorkbookParts({ sheets: { S: sheet } });
  const list = parts['xl/workbook.xml'] ?? '';
  const copies = Array.from({ length: 9 }, (_, index) => `<sheet name="S (${index + 2})" r:id="r0"/>`).join('');
  const workbook = list.replace('</sheets>', `${copies}</sheets>`);
  expect(workbook).not.toBe(list);
  const { source } = await readTable(await zipParts({ ...parts, 'xl/workbook.xml': workbook }));
  expect(source.sheets).toEqual(['S']);
});

test('a small workbook whose cells repeat a long text is refused', async () => {
  const cells = row('<c t="s"><v>0</v></c>'.repeat(3)).repeat(25);
  const workbook = await makeWorkbook({ sheets: { S: cells }, texts: `<si><t>${'x'.repeat(1_000_000)}</t></si>` });
  await expect(readTable(workbook)).rejects.toThrow('repeat more text');
});

test('XML that is nested too deeply is refused', async () => {
  const parts = makeWorkbookParts({ sheets: { S: sheet } });
  const nested = '<a>'.repeat(10_000);
  await expect(readTable(await zipParts({ ...parts, 'xl/workbook.xml': nested }))).rejects.toThrow('nested too deeply');
});

test('a zip directory with many parts needs few reads', async () => {
  const parts = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`xl/media/${index}.png`, 'x']));
  const file = await zipParts({ ...makeWorkbookParts({ sheets: { S: sheet } }), ...parts });
  let reads = 0;
  const blob = toBlob(file);
  const counted = {
    size: blob.size,
    read: (from: number, to: number): AsyncGenerator<Uint8Array> => {
      reads += 1;
      return blob.read(from, to);
    },
  };
  const source = await openTable(counted, { header: false });
  expect((await readRows(source)).map(({ cells }) => cells)).toEqual([['name']]);
  expect(reads).toBeLessThan(60);
});

test('a directory that lies about the size of a part is refused', async () => {
  const path = 'xl/worksheets/s0.xml';
  const parts = makeWorkbookParts({ sheets: { S: row(`<c t="str"><v>${'x'.repeat(5000)}</v></c>`) } });
  const file = await zipParts(parts);
  const size = Buffer.byteLength(parts[path] ?? '');
  const packed = deflateRawSync(Buffer.from(parts[path] ?? '')).length;
  const entry = file.lastIndexOf(path) - 46;
  expect([file.readUInt32LE(entry + 20), file.readUInt32LE(entry + 24)]).toEqual([packed, size]);
  for (const wrong of [size - 1, size + 1, 10]) {
    const changed = Buffer.from(file);
    changed.writeUInt32LE(wrong, entry + 24);
    await expect(readTable(changed)).rejects.toThrow('damaged');
  }
  const otherChecksum = Buffer.from(file);
  otherChecksum.writeUInt32LE(1, entry + 16);
  await expect(readTable(otherChecksum, { header: false })).rejects.toThrow('damaged');
});

test('a damaged or truncated workbook is refused, wherever the damage is', async () => {
  const file = await makeWorkbook({ sheets: { S: sheet } });
  for (let length = 30; length < file.length; length += 97)
    await expect(readTable(file.subarray(0, length)), `${length}`).rejects.toMatchObject({ code: 'FILE_INVALID' });
  const parts = makeWorkbookParts({ sheets: { S: sheet } });
  for (const [path, content] of [
    ['xl/workbook.xml', ''],
    ['xl/workbook.xml', '<workbook>'],
    ['xl/worksheets/s0.xml', '<worksheet><sheetData><row><c>'],
    ['xl/worksheets/s0.xml', 'not XML'],
  ] as const)
    await expect(readTable(await zipParts({ ...parts, [path]: content })), content).rejects.toMatchObject({
      code: 'FILE_INVALID',
    });
  for (let index = 0; index < file.length; index += 13) {
    const changed = Buffer.from(file);
    changed[index] = (changed[index] ?? 0) ^ 0xff;
    // Some bytes, such as timestamps, are not used, so the workbook may still be readable.
    await readTable(changed).catch((error: unknown) => expect(error).toMatchObject({ name: 'ApiError' }));
  }
});
