/** Files that are made to be taken for something else, to exhaust a server, to reach other files, or to confuse their readers. */
import { crc32, deflateRawSync, gzipSync, constants as zlib } from 'node:zlib';
import { makeWorkbook, makeWorkbookParts, zipParts } from '../source-file.ts';

const script = '<script>alert(document.domain)</script>';
const page = `<!doctype html><html><body>${script}</body></html>`;
export const tinyPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

interface RawEntry {
  readonly path: string;
  /** Compressed with deflate. */
  readonly packed: Uint8Array;
  /** What the directory says about the unpacked bytes. */
  readonly size: number;
  readonly crc: number;
}

/** A ZIP archive with a directory that may say anything. `overlap`: all entries have the bytes of the first. */
function writeZip(entries: readonly RawEntry[], overlap = false): Buffer {
  const [files, directory]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  let firstOffset = 0;
  entries.forEach(({ path, packed, size, crc }, index) => {
    const name = Buffer.from(path);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(name.length, 22);
    if (index === 0) firstOffset = offset;
    const isStored = !overlap || index === 0;
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(isStored ? offset : firstOffset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, tail, name);
    if (isStored) files.push(local);
    if (isStored) offset += local.length;
  });
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(list.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, list, Buffer.from('PK\x05\x06', 'latin1'), end]);
}

function packEntry(path: string, content: string): RawEntry {
  const bytes = Buffer.from(content);
  return { path, packed: deflateRawSync(bytes), size: bytes.length, crc: crc32(bytes) };
}

/** Deflated bytes that unpack to `megabytes` of spaces between two texts. */
function packSpaces(before: string, megabytes: number, after: string): { packed: Buffer; size: number } {
  const flush = { finishFlush: zlib.Z_FULL_FLUSH };
  const spaces = deflateRawSync(Buffer.alloc(1024 * 1024, ' '), flush);
  const packed = Buffer.concat([
    deflateRawSync(Buffer.from(before), flush),
    ...Array.from({ length: megabytes }, () => spaces),
    deflateRawSync(Buffer.from(after)),
  ]);
  return { packed, size: before.length + megabytes * 1024 * 1024 + after.length };
}

/** A workbook of a few parts, and one that is given as it is packed. */
function makeWorkbookWith(entry: RawEntry): Buffer {
  const parts = makeWorkbookParts({ sheets: { S: '' } });
  const others = Object.entries(parts).filter(([path]) => path !== entry.path);
  return writeZip([...others.map(([path, content]) => packEntry(path, content)), entry]);
}

const sheetPath = 'xl/worksheets/s0.xml';
const sheetStart = '<worksheet><sheetData>';
const sheetEnd = '</sheetData></worksheet>';

/** A workbook of some kilobytes whose sheet unpacks to gigabytes. @param claimed what the directory says. */
function makeZipBomb(megabytes: number, claimed?: number): Buffer {
  const { packed, size } = packSpaces(sheetStart, megabytes, sheetEnd);
  return makeWorkbookWith({ path: sheetPath, packed, size: claimed ?? size, crc: 0 });
}

/** A workbook whose many parts are the same bytes of the archive. */
function makeOverlappingZip(): Buffer {
  const { packed, size } = packSpaces(sheetStart, 200, sheetEnd);
  const bomb = { packed, size, crc: 0 };
  return writeZip(
    Array.from({ length: 500 }, (_, index) => ({ ...bomb, path: index === 0 ? 'xl/workbook.xml' : `xl/${index}.xml` })),
    true,
  );
}

function makePng(width: number, height: number, data: Uint8Array): Buffer {
  const chunk = (type: string, content: Uint8Array): Buffer => {
    const body = Buffer.concat([Buffer.from(type), content]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(content.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** Image data of some kilobytes that unpacks to gigabytes. */
function makePictureBomb(): Buffer {
  const zlibHeader = Buffer.from([0x78, 0x9c]);
  return makePng(30_000, 30_000, Buffer.concat([zlibHeader, packSpaces('', 2600, '').packed]));
}

function makeJpeg(width: number, height: number, comment = ''): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt16BE(height, 0);
  size.writeUInt16BE(width, 2);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(comment.length + 2);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8, 0xff, 0xfe]),
    length,
    Buffer.from(comment, 'latin1'),
    Buffer.from([0xff, 0xc0, 0, 17, 8]),
    size,
    Buffer.from([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1, 0xff, 0xd9]),
  ]);
}

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
const laughs = Array.from({ length: 12 }, (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`);
const doctype = `<!DOCTYPE w [<!ENTITY l0 "ha">${laughs.join('')}<!ENTITY file SYSTEM "file:///etc/passwd">]>`;

/** What is stored of a row: the fields `name` and `note`. */
export type HostileRow = readonly [name: string | null, note: string | null];

/** What an import makes of a file: the code of the refusal, or the rows. */
export type ImportOutcome = { readonly code: string } | { readonly rows: readonly HostileRow[] };

export interface HostileFile {
  readonly label: string;
  readonly name: string;
  readonly type: string;
  readonly content: string | Uint8Array;
  /** The type under which a browser shows the uploaded file; null: it is a download. */
  readonly inline: string | null;
  readonly imported: ImportOutcome;
}

type HostileEntry = readonly [
  label: string,
  file: readonly [name: string, type: string, content: string | Uint8Array | Promise<Uint8Array>],
  inline: string | null,
  imported: ImportOutcome,
];

const refused: ImportOutcome = { code: 'FILE_INVALID' };
const tooLarge: ImportOutcome = { code: 'LIMIT_EXCEEDED' };
const unreadable: ImportOutcome = { code: 'IMPORT_INVALID' };
const rows = (...all: readonly HostileRow[]): ImportOutcome => ({ rows: all });
const xlsx = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');

const disguised: readonly HostileEntry[] = [
  [
    'SVG with a script',
    ['a.svg', 'image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">${script}</svg>`],
    null,
    refused,
  ],
  [
    'SVG with an entity',
    ['a.svg', 'image/svg+xml', `<?xml version="1.0"?>${doctype}<svg>&file;&l12;</svg>`],
    null,
    refused,
  ],
  [
    'SVG that claims to be PNG',
    ['a.png', 'image/png', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
    null,
    refused,
  ],
  ['HTML that claims to be PNG', ['a.png', 'image/png', page], null, refused],
  ['HTML that claims to be CSV', ['a.csv', 'text/csv', page], null, refused],
  ['HTML after a byte order mark and spaces', ['a.txt', 'text/plain', `\ufeff \n ${page}`], null, refused],
  ['HTML in UTF-16', ['a.txt', 'text/plain', utf16(`\ufeff${page}`)], null, refused],
  [
    'XHTML',
    [
      'a.xml',
      'application/xhtml+xml',
      `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">${script}</html>`,
    ],
    null,
    refused,
  ],
  ['a script that claims to be JPEG', ['a.jpg', 'image/jpeg', 'alert(1)\u0000'], null, refused],
  [
    'GIF that is also a script',
    ['a.js', 'text/javascript', Buffer.from(`GIF89a/*${script}*/=1;alert(1)`)],
    'image/gif',
    refused,
  ],
  ['PNG that is also HTML', ['a.html', 'text/html', Buffer.concat([tinyPng, Buffer.from(page)])], 'image/png', refused],
  ['JPEG with HTML in a comment', ['a.html', 'text/html', makeJpeg(4, 4, page)], 'image/jpeg', refused],
  [
    'GIF that is also a ZIP archive',
    [
      'a.gif',
      'image/gif',
      Buffer.concat([Buffer.from('GIF89a\x01\x00\x01\x00'), writeZip([packEntry('Main.class', 'x')])]),
    ],
    'image/gif',
    refused,
  ],
  [
    'HTML that is also a ZIP archive',
    ['a.zip', 'application/zip', Buffer.concat([Buffer.from(page), writeZip([packEntry('a', 'x')])])],
    null,
    refused,
  ],
  ['HTML that is also PDF', ['a.pdf', 'application/pdf', `${page}\n%PDF-1.7\n`], null, refused],
  [
    'PDF with a script',
    ['a.pdf', 'application/pdf', '%PDF-1.7\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj'],
    'application/pdf',
    refused,
  ],
  [
    'a program that claims to be PNG',
    ['a.png', 'image/png', Buffer.from('\x7fELF\x02\x01\x01\x00\x00', 'latin1')],
    null,
    refused,
  ],
];

const named: readonly HostileEntry[] = [
  [
    'a path upwards',
    ['../../../../etc/passwd.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'a path of Windows',
    ['..\\..\\windows\\system.ini', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'an absolute path',
    ['/etc/cron.d/a.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'an encoded path',
    ['%2e%2e%2f%2e%2e%2fa.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'a name with control and direction characters',
    ['a\u0000b\u0007\u202egpj.exe', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'a name with a header',
    ['a"\r\nSet-Cookie: a=b\r\n.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  ['a name of a device', ['CON.csv', 'text/csv', 'name\r\na\r\n'], 'text/plain; charset=utf-8', rows(['a', null])],
  [
    'a name of half a character',
    ['a\ud800.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
];

const bombs: readonly HostileEntry[] = [
  ['a sheet that unpacks to 3 GB', ['a.xlsx', xlsx, makeZipBomb(3000)], null, tooLarge],
  ['a sheet that unpacks to more than its directory says', ['a.xlsx', xlsx, makeZipBomb(3000, 1000)], null, refused],
  ['an archive whose parts overlap', ['a.xlsx', xlsx, makeOverlappingZip()], null, refused],
  [
    'archives in an archive',
    ['a.xlsx', xlsx, zipParts({ '0.zip': makeZipBomb(100), '1.zip': makeZipBomb(100) })],
    null,
    refused,
  ],
  [
    'a compressed text of a gigabyte',
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
    tooLarge,
  ],
  ['XML that is nested deeply', ['a.xlsx', xlsx, makeChanged('xl/workbook.xml', '<a>'.repeat(100_000))], null, refused],
  [
    'JSON that is nested deeply',
    ['a.json', 'application/json', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    'text/plain; charset=utf-8',
    refused,
  ],
  [
    'a million columns',
    ['a.csv', 'text/csv', `name${',b'.repeat(1_000_000)}\r\n`],
    'text/plain; charset=utf-8',
    tooLarge,
  ],
  [
    'a million cells in a row of two columns',
    ['a.csv', 'text/csv', `name,note\r\na${',b'.repeat(1_000_000)}\r\n`],
    'text/plain; charset=utf-8',
    tooLarge,
  ],
  [
    'a cell in column ZZZZZZ',
    ['a.xlsx', xlsx, makeSheet('<row r="2"><c r="ZZZZZZ2"><v>1</v></c></row>')],
    null,
    tooLarge,
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
    tooLarge,
  ],
  [
    'a quote without an end',
    ['a.csv', 'text/csv', `name,note\r\na,"${'x\r\n'.repeat(4_000_000)}`],
    'text/plain; charset=utf-8',
    tooLarge,
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
    'formulas that fetch',
    [
      'a.xlsx',
      xlsx,
      makeSheet(
        `<row><c t="str"><f>WEBSERVICE("http://127.0.0.1:9/")</f><v>=1+1</v></c><c><f>cmd|'/C calc'!A0</f></c></row>`,
      ),
    ],
    null,
    rows(['=1+1', null]),
  ],
  ['a workbook with macros', ['a.xlsm', xlsx, makeChanged('xl/vbaProject.bin', 'Sub Auto_Open()')], null, rows()],
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
    rows(['a', null]),
  ],
  [
    'equal names',
    ['a.csv', 'text/csv', 'name,name,note\r\na,b,c\r\n'],
    'text/plain; charset=utf-8',
    { code: 'PARAMETER_INVALID' },
  ],
  [
    'a number beyond all numbers',
    ['a.json', 'application/json', '[{"name":1e999,"note":"x"}]'],
    'text/plain; charset=utf-8',
    unreadable,
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

/** All files; the workbooks are made first. */
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
