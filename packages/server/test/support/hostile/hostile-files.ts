/**
 * Files that are made to pretend to be something else, to exhaust a server, to reach other files, or to confuse
 * parsers.
 */
import { gzipSync } from 'node:zlib';
import { makeWorkbook, makeWorkbookParts, zipParts } from '../source-file.ts';
import {
  makeJpeg,
  makeOverlappingZip,
  makePictureBomb,
  makePng,
  makeZipBomb,
  packEntry,
  sheetPath,
  writeZip,
} from './hostile-archives.ts';
import { disguised, named } from './hostile-disguises.ts';
import {
  doctype,
  type HostileEntry,
  type HostileFile,
  refused,
  rows,
  tooMuch,
  unreadable,
  utf16,
  xlsx,
} from './hostile-file.ts';

const textCell = (text: string): string => `<c t="str"><v>${text}</v></c>`;
const header = `<row>${textCell('name')}${textCell('note')}</row>`;
const makeSheet = (rows: string, texts = ''): Promise<Buffer> => makeWorkbook({ sheets: { S: header + rows }, texts });
const makeChanged = async (path: string, content: string): Promise<Buffer> =>
  zipParts({ ...makeWorkbookParts({ sheets: { S: `${header}<row>${textCell('a')}</row>` } }), [path]: content });
const external = (attributes: string): Promise<Buffer> =>
  makeChanged(
    'xl/_rels/workbook.xml.rels',
    `<Relationships xmlns="urn:r"><Relationship Id="r0" Type="x/worksheet" ${attributes}/></Relationships>`,
  );
const bombs: readonly HostileEntry[] = [
  ['a sheet that unpacks to 3 GB', ['a.xlsx', xlsx, makeZipBomb(3000)], null, tooMuch],
  ['a sheet that unpacks to more than its directory says', ['a.xlsx', xlsx, makeZipBomb(3000, 1000)], null, refused],
  ['an archive whose parts overlap', ['a.xlsx', xlsx, makeOverlappingZip()], null, tooMuch],
  [
    'archives in an archive',
    ['a.xlsx', xlsx, zipParts({ '0.zip': makeZipBomb(100), '1.zip': makeZipBomb(100) })],
    null,
    refused,
  ],
  [
    'a compressed text',
    ['a.csv.gz', 'application/gzip', gzipSync(Buffer.alloc(16 * 1024 * 1024, 'a,'))],
    null,
    refused,
  ],
  ['PNG of 900 megapixels', ['a.png', 'image/png', makePictureBomb()], 'image/png', refused],
  [
    'PNG whose size is a lie',
    ['a.png', 'image/png', makePng(0x7fffffff, 0x7fffffff, Buffer.from('x'))],
    'image/png',
    refused,
  ],
  ['JPEG of 4,294 megapixels', ['a.jpg', 'image/jpeg', makeJpeg(65_535, 65_535)], 'image/jpeg', refused],
  [
    'XML entities that grow',
    [
      'a.xlsx',
      xlsx,
      makeChanged(
        sheetPath,
        `<?xml version="1.0"?>${doctype}<worksheet><sheetData><row><c t="str"><v>&l12;</v></c></row></sheetData></worksheet>`,
      ),
    ],
    null,
    refused,
  ],
  [
    'cells that repeat a long text',
    [
      'a.xlsx',
      xlsx,
      makeSheet(`<row>${'<c t="s"><v>0</v></c>'.repeat(2)}</row>`.repeat(60), `<si><t>${'x'.repeat(900_000)}</t></si>`),
    ],
    null,
    tooMuch,
  ],
  ['XML that is nested deeply', ['a.xlsx', xlsx, makeChanged('xl/workbook.xml', '<a>'.repeat(100_000))], null, tooMuch],
  [
    'JSON that is nested deeply',
    ['a.json', 'application/json', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    'text/plain; charset=utf-8',
    tooMuch,
  ],
  [
    'a million columns',
    ['a.csv', 'text/csv', `name${',b'.repeat(1_000_000)}\r\n`],
    'text/plain; charset=utf-8',
    tooMuch,
  ],
  [
    'a million cells in a row of two columns',
    ['a.csv', 'text/csv', `name,note\r\na${',b'.repeat(1_000_000)}\r\n`],
    'text/plain; charset=utf-8',
    tooMuch,
  ],
  [
    'a cell in column ZZZZZZ',
    ['a.xlsx', xlsx, makeSheet('<row r="2"><c r="ZZZZZZ2"><v>1</v></c></row>')],
    null,
    tooMuch,
  ],
  [
    'a row 999,999,999',
    ['a.xlsx', xlsx, makeSheet(`<row r="999999999">${textCell('a')}</row>`)],
    null,
    rows(['a', null]),
  ],
  [
    'a header of 10 MB',
    ['a.csv', 'text/csv', `${'n'.repeat(10_500_000)},name\r\n1,a\r\n`],
    'text/plain; charset=utf-8',
    tooMuch,
  ],
  [
    'a quote without an end',
    ['a.csv', 'text/csv', `name,note\r\na,"${'x\r\n'.repeat(4_000_000)}`],
    'text/plain; charset=utf-8',
    tooMuch,
  ],
];

const references: readonly HostileEntry[] = [
  [
    'an external entity',
    [
      'a.xlsx',
      xlsx,
      makeChanged(
        sheetPath,
        `${doctype}<worksheet><sheetData><row><c t="str"><v>&file;</v></c></row></sheetData></worksheet>`,
      ),
    ],
    null,
    refused,
  ],
  [
    'an entity that nobody defines',
    ['a.xlsx', xlsx, makeSheet(`<row>${textCell('&file;')}</row>`)],
    null,
    rows(['&file;', null]),
  ],
  [
    'a sheet at an address',
    ['a.xlsx', xlsx, external('TargetMode="External" Target="http://127.0.0.1:9/s.xml"')],
    null,
    refused,
  ],
  ['a sheet outside of the archive', ['a.xlsx', xlsx, external('Target="../../../../etc/passwd"')], null, refused],
  ['a sheet at a file address', ['a.xlsx', xlsx, external('Target="file:///etc/passwd"')], null, refused],
  [
    'an entry with a path upwards',
    [
      'a.xlsx',
      xlsx,
      Promise.resolve(
        writeZip(
          Object.entries({
            ...makeWorkbookParts({ sheets: { S: `${header}<row>${textCell('a')}</row>` } }),
            '../../evil.txt': 'x',
            '/etc/evil': 'x',
          }).map(([path, content]) => packEntry(path, content)),
        ),
      ),
    ],
    null,
    refused,
  ],
  [
    'a formula that fetches, with its last value',
    ['a.xlsx', xlsx, makeSheet('<row><c t="str"><f>WEBSERVICE("http://127.0.0.1:9/")</f><v>=1+1</v></c></row>')],
    null,
    rows(['=1+1', null]),
  ],
  [
    'a formula that runs a program, without a value',
    ['a.xlsx', xlsx, makeSheet(`<row><c><f>cmd|'/C calc'!A0</f></c></row>`)],
    null,
    unreadable,
  ],
  [
    'a workbook with macros',
    ['a.xlsm', xlsx, makeChanged('xl/vbaProject.bin', 'Sub Auto_Open()')],
    null,
    rows(['a', null]),
  ],
];

const texts: readonly HostileEntry[] = [
  [
    'formulas',
    [
      'a.csv',
      'text/csv',
      `name,note\r\n=1+1,"=HYPERLINK(""http://127.0.0.1:9/"",""x"")"\r\n+1,-1\r\n@SUM(A1),\t=1\r\n=cmd|'/C calc'!A0,'=1\r\n`,
    ],
    'text/plain; charset=utf-8',
    rows(
      ['=1+1', '=HYPERLINK("http://127.0.0.1:9/","x")'],
      ['+1', '-1'],
      ['@SUM(A1)', '\t=1'],
      ["=cmd|'/C calc'!A0", '=1'],
    ),
  ],
  [
    'UTF-16 with a byte order mark',
    ['a.csv', 'text/csv', utf16('\ufeffname\tnote\r\nä\t€\r\n')],
    null,
    rows(['ä', '€']),
  ],
  [
    'UTF-16 of the other order without a mark',
    ['a.csv', 'text/csv', utf16('name,note\r\nann,one\r\nben,two\r\n').swap16()],
    null,
    rows(['ann', 'one'], ['ben', 'two']),
  ],
  ['UTF-16 with half a character', ['a.csv', 'text/csv', utf16('\ufeffname,note\r\na\ud800b,c\r\n')], null, refused],
  [
    'UTF-16 that ends in the middle of a character',
    ['a.csv', 'text/csv', utf16('\ufeffname,note\r\na,b').subarray(0, -1)],
    null,
    refused,
  ],
  [
    'mixed line ends',
    ['a.csv', 'text/csv', '\ufeffname,note\na,1\r\nb,2\rc,3\n\r\nd,4'],
    'text/plain; charset=utf-8',
    rows(['a', '1'], ['b', '2'], ['c', '3'], ['d', '4']),
  ],
  [
    'quoted line breaks',
    ['a.csv', 'text/csv', 'name,note\r\n"a\r\nb","c\n""d"""\r\n"e\rf","\n"\r\n'],
    'text/plain; charset=utf-8',
    rows(['a\r\nb', 'c\n"d"'], ['e\rf', '\n']),
  ],
  [
    'overlong UTF-8',
    ['a.csv', 'text/csv', Buffer.from('name,note\r\n\xc0\xafa,b\r\n', 'latin1')],
    null,
    rows(['À¯a', 'b']),
  ],
  ['a NUL', ['a.csv', 'text/csv', `name,note\r\n${'plain,text\r\n'.repeat(20)}a\u0000b,c\r\n`], null, unreadable],
  [
    'names of the prototype',
    ['a.csv', 'text/csv', '__proto__,constructor,name,toString\r\n1,2,a,3\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'members of the prototype',
    ['a.json', 'application/json', '[{"__proto__":{"note":"x"},"constructor":{"prototype":{"note":"y"}},"name":"a"}]'],
    'text/plain; charset=utf-8',
    { code: 'BODY_INVALID' },
  ],
  ['equal names', ['a.csv', 'text/csv', 'name,name,note\r\na,b,c\r\n'], 'text/plain; charset=utf-8', rows(['a', 'c'])],
  [
    'a number beyond all numbers',
    ['a.json', 'application/json', '[{"name":1e999,"note":"x"}]'],
    'text/plain; charset=utf-8',
    rows(['1e999', 'x']),
  ],
  [
    'lines that are no records',
    ['a.ndjson', 'application/x-ndjson', '{"name":"a"}\n[1]\nnull\n'],
    'text/plain; charset=utf-8',
    refused,
  ],
  [
    'half a character in JSON',
    ['a.json', 'application/json', '[{"name":"a\\ud800b"}]'],
    'text/plain; charset=utf-8',
    unreadable,
  ],
  ['nothing', ['a.csv', 'text/csv', ''], null, refused],
  ['zeros', ['a.csv', 'text/csv', Buffer.alloc(100_000)], null, refused],
];

/** All files. The workbooks are built first. */
export async function makeHostileFiles(): Promise<readonly HostileFile[]> {
  const all = [...disguised, ...named, ...bombs, ...references, ...texts];
  return Promise.all(
    all.map(async ([label, [name, type, content], inline, imported]) => ({
      label,
      name,
      type,
      content: await content,
      inline,
      imported,
    })),
  );
}
