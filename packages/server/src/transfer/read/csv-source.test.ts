import fc from 'fast-check';
import iconv from 'iconv-lite';
import { expect, test } from 'vitest';
import { readTable, toBlob } from '../../../test/support/source-file.ts';
import { importEncodings } from '../../protocol/import-encodings.ts';
import { openTable } from './open-table.ts';

test('line ends of every kind, quoted line breaks and quotation marks are read, with the line numbers of the file', async () => {
  const file = 'a,b\r\n1,"x\r\ny\rz\nw"\r2,"say ""hi"""\n\n3,plain "q"\r\n4,';
  const { rows } = await readTable(file, { header: true });
  expect(rows).toEqual([
    { line: 2, cells: ['1', 'x\r\ny\rz\nw'] },
    { line: 6, cells: ['2', 'say "hi"'] },
    { line: 8, cells: ['3', 'plain "q"'] },
    { line: 9, cells: ['4', null] },
  ]);
});

test('an empty cell is null and a quoted one is the empty text; the apostrophe of formulas is removed', async () => {
  const { cells } = await readTable("a,b,c\n,\"\",'=1+1\n\"''=2\",'quoted',-5\n");
  expect(cells).toEqual([
    [null, '', '=1+1'],
    ["'=2", "'quoted'", '-5'],
  ]);
});

test('with a single column, an empty line is a null', async () => {
  expect((await readTable('name\r\nAnn\r\n\r\n""\r\n')).cells).toEqual([['Ann'], [null], ['']]);
});

test('every text is read back, whatever the delimiter, the line ends and the chunk size', async () => {
  const cell = fc.option(fc.string({ unit: fc.constantFrom(...'ab";,|\t\r\n \'=ü😀'), maxLength: 6 }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell, cell), { maxLength: 6 }),
      fc.constantFrom(',', ';', '|', '\t'),
      fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 7, maxLength: 7 }),
      fc.integer({ min: 1, max: 40 }),
      async (rows, delimiter, ends, pieceSize) => {
        const quote = (text: string | null): string => (text === null ? '' : `"${text.replaceAll('"', '""')}"`);
        const lines = rows.map((row, index) => row.map(quote).join(delimiter) + ends[index + 1]);
        const file = ['x', 'y', 'z'].join(delimiter) + ends[0] + lines.join('');
        const expected = rows.map((row) =>
          row.map((text) => (text === null ? null : text.replace(/^'(?='*[=\t\r\n])/, ''))),
        );
        const { cells } = await readTable(
          file,
          { format: 'csv', delimiter, header: true, encoding: 'utf-8' },
          pieceSize,
        );
        expect(cells).toEqual(expected);
      },
    ),
    { numRuns: 300 },
  );
});

test('the delimiter is detected without regard to quoted parts', async () => {
  const detect = async (file: string): Promise<string | null> => (await openTable(toBlob(file))).delimiter;
  expect(await detect('a;b\n"1,2,3";"x,y"\n"4,5,6";"z,,"\n')).toBe(';');
  expect(await detect('a;b\n1,5;2,5\n3,5;4,5\n')).toBe(';');
  expect(await detect('a\tb\n1\t2\n')).toBe('\t');
  expect(await detect('a|b|c\n1|2|3\n')).toBe('|');
  expect(await detect('name\nhello, world\nplain\n')).toBe(',');
  expect(await detect('a,b\n"x;y;z",1\n"u;v;w",2\n')).toBe(',');
  const declared = await readTable('sep=;\r\na;b\r\n1,2,3;4\r\n');
  expect(declared.source.delimiter).toBe(';');
  expect(declared.rows).toEqual([{ line: 3, cells: ['1,2,3', '4'] }]);
});

test('a header is detected, or the columns are numbered', async () => {
  const detect = async (file: string): Promise<boolean> => (await openTable(toBlob(file))).hasHeader;
  expect(await detect('name,age\nAnn,5\n')).toBe(true);
  expect(await detect('name,city\nAnn,Berlin\n')).toBe(true);
  expect(await detect('Ann,5\nBob,6\n')).toBe(false);
  expect(await detect('1,2026-01-01\n2,2026-01-02\n')).toBe(false);
  expect(await detect('ann@example.com,Ann\nbob@example.com,Bob\n')).toBe(false);
  const plain = await readTable('Ann,5\nBob,6\n');
  expect(plain.columns).toEqual(['Column 1', 'Column 2']);
  expect(plain.rows[0]).toEqual({ line: 1, cells: ['Ann', '5'] });
  expect((await readTable('1,2\n3,4\n', { header: true })).columns).toEqual(['1', '2']);
});

test('encodings are detected with and without a byte order mark', async () => {
  const text = 'Straße;Größe\nMüller;überlänge\nGäßchen;schön\n';
  for (const [encoding, bytes] of [
    ['utf-8', Buffer.from(text)],
    ['utf-8', Buffer.from(`\uFEFF${text}`)],
    ['utf-16le', Buffer.from(text, 'utf16le')],
    ['utf-16le', Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['utf-16be', Buffer.from(text, 'utf16le').swap16()],
    ['utf-16be', Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()],
    ['windows-1252', Buffer.from(text, 'latin1')],
  ] as const) {
    const { source, columns, cells } = await readTable(bytes, {}, 3);
    expect(source.encoding).toBe(encoding);
    expect(columns).toEqual(['Straße', 'Größe']);
    expect(cells).toEqual([
      ['Müller', 'überlänge'],
      ['Gäßchen', 'schön'],
    ]);
  }
  const cyrillic = 'имя,город\nАнна Каренина,Москва\nИван Денисович,Ленинград\nПётр Великий,Санкт-Петербург\n';
  expect((await readTable(iconv.encode(cyrillic, 'windows-1251'))).columns).toEqual(['имя', 'город']);
  expect((await readTable(iconv.encode('é,b\n1,2\n', 'cp850'), { encoding: 'cp850' })).columns).toEqual(['é', 'b']);
  // The first byte that is not UTF-8 is far from the beginning.
  const late = Buffer.from(`name,age\n${'plain,1\n'.repeat(30_000)}Müller,2\n`, 'latin1');
  expect((await readTable(late)).cells.at(-1)).toEqual(['Müller', '2']);
});

test('an encoding that does not match the bytes, and an unknown encoding, are refused', async () => {
  const latin = Buffer.from('name\nMüller\n', 'latin1');
  await expect(readTable(latin, { encoding: 'utf-8' })).rejects.toMatchObject({ code: 'FILE_INVALID' });
  for (const encoding of ['klingon', 'base64', 'hex', 'utf-7', 'utf7-imap', ''])
    await expect(readTable(latin, { encoding })).rejects.toMatchObject({
      code: 'PARAMETER_INVALID',
      message: expect.stringMatching(/^"encoding" must be one of: utf-8 .*windows-1252.*euc-kr$/),
    });
  for (const encoding of ['latin1', 'ISO_8859-1', 'Windows 1252', 'cp1252'])
    expect((await readTable(latin, { encoding })).cells).toEqual([['Müller']]);
  for (const encoding of importEncodings) expect(iconv.encodingExists(encoding) || encoding).toBe(true);
  await expect(readTable('a,b\n', { delimiter: 'x' })).rejects.toMatchObject({ code: 'PARAMETER_INVALID' });
});

test('errors in quotation marks name the line on which they begin', async () => {
  await expect(readTable('a,b\n1,2\n"open,3\n4,5\n')).rejects.toThrow('Line 3: the quotation mark');
  await expect(readTable('a,b\n1,"x"y\n')).rejects.toThrow('Line 2: text follows the closing quotation mark');
});

test('rows arrive in small batches, can be read twice and end early', async () => {
  const file = `n,t\n${Array.from({ length: 5000 }, (_, index) => `${index},x`).join('\n')}`;
  const source = await openTable(toBlob(file));
  const sizes: number[] = [];
  for await (const batch of source.rows()) sizes.push(batch.length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(5000);
  for await (const [first] of source.rows()) {
    expect(first).toEqual({ line: 2, cells: ['0', 'x'] });
    break;
  }
});

test('a file without any text is refused as empty', async () => {
  const utf16 = Buffer.from([0xff, 0xfe]);
  for (const file of ['', '\u{feff}', ' \r\n\n\t', utf16, Buffer.concat([utf16, Buffer.from('\n', 'utf16le')])])
    await expect(readTable(file)).rejects.toThrow('The file is empty.');
});
