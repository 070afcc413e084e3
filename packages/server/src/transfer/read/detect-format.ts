/** Detects the format of a file from its first bytes. Its name says nothing. */
import type { OpenBlob } from '../../base/blob-store.ts';
import { invalidFile } from './source-error.ts';
import { detectUtf16, readRange } from './source-text.ts';
import type { SourceFormat } from './table-source.ts';

const headBytes = 8192;
/** The first bytes of files without a table, in Latin-1, and what they are. */
const foreignFiles: readonly (readonly [start: string, name: string])[] = [
  ['\x89PNG', 'a PNG image'],
  ['\xff\xd8\xff', 'a JPEG image'],
  ['GIF8', 'a GIF image'],
  ['%PDF-', 'a PDF document'],
  ['\x7fELF', 'a program'],
  ['MZ\x90', 'a program'],
  ['\x1f\x8b', 'a gzip archive'],
  ['BZh', 'a bzip2 archive'],
  ['7z\xbc\xaf\x27\x1c', 'a 7-Zip archive'],
  ['Rar!\x1a', 'a RAR archive'],
  ['\xfd7zXZ', 'an xz archive'],
  ['\x28\xb5\x2f\xfd', 'a Zstandard archive'],
  ['SQLite format 3', 'an SQLite database'],
  ['PAR1', 'a Parquet file'],
  ['{\\rtf', 'an RTF document'],
];
const zipStarts = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08'];
const compoundStart = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1';
/** Workbooks of Excel 2 to 4, without a container. */
const oldWorkbookStarts = ['\x09\x00', '\x09\x02', '\x09\x04', '\x09\x08'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: files of text contain none of them.
const controls = /[\x00-\x08\x0e-\x19\x1b-\x1f]/g;
const minControls = 10;
/** A list or object of JSON. A header of CSV can begin with `[name]`. */
const jsonStart = /^\s*(?:\[\s*[[{\]"\d-]|\{\s*["}])/;

/** @throws ApiError for an empty file, and for one that contains no table; the message says what it is. */
export async function detectFormat(bytes: OpenBlob): Promise<Exclude<SourceFormat, 'ndjson'>> {
  const head = await readRange(bytes, 0, headBytes - 1);
  const start = head.toString('latin1');
  if (head.length === 0) throw invalidFile('The file is empty.');
  if (zipStarts.includes(start.slice(0, 4))) return 'xlsx';
  if (start.startsWith(compoundStart)) throw invalidFile(await describeCompoundFile(bytes, head));
  const foreign = foreignFiles.find(([bytesOfKind]) => start.startsWith(bytesOfKind));
  if (foreign) throw invalidFile(`The file is ${foreign[1]}. Give a CSV, XLSX, JSON or NDJSON file.`);
  const text = decodeStart(head);
  if (text.trim() === '' && bytes.size <= head.length) throw invalidFile('The file is empty.');
  if (oldWorkbookStarts.includes(start.slice(0, 2)) || isBinary(text))
    throw invalidFile('The file is binary and of an unknown kind. Give a CSV, XLSX, JSON or NDJSON file.');
  if (/^\s*<(?:!doctype|!--|html|\?xml|svg|table|head|body|script)/i.test(text))
    throw invalidFile('The file is an HTML or XML document. Save its table as an Excel workbook (.xlsx) or as CSV.');
  return jsonStart.test(text) ? 'json' : 'csv';
}

/** Enough of the text to recognise its kind. */
function decodeStart(head: Buffer): string {
  if (head[0] === 0xff && head[1] === 0xfe) return new TextDecoder('utf-16le').decode(head);
  if (head[0] === 0xfe && head[1] === 0xff) return new TextDecoder('utf-16be').decode(head);
  return new TextDecoder(detectUtf16(head) ?? 'utf-8').decode(head);
}

/** Whether there are too many control characters for a text. A few can be the content of cells. */
function isBinary(text: string): boolean {
  const count = text.match(controls)?.length ?? 0;
  return count >= minControls && count * 20 > text.length;
}

/** The container of old workbooks, and of encrypted ones: its directory names the streams in UTF-16. */
async function describeCompoundFile(bytes: OpenBlob, head: Buffer): Promise<string> {
  const sectorSize = 2 ** Math.min(16, head.length > 52 ? head.readUInt16LE(30) : 9);
  const directory = head.length > 52 ? (head.readUInt32LE(48) + 1) * sectorSize : 0;
  const names = directory < bytes.size ? await readRange(bytes, directory, directory + 4 * sectorSize) : head;
  const contains = (name: string): boolean => names.includes(Buffer.from(name, 'utf16le'));
  if (contains('EncryptedPackage'))
    return 'The file is encrypted. Open it in a spreadsheet program and save it without a password.';
  if (contains('Workbook') || contains('Book'))
    return 'The file is a workbook of an old Excel version (.xls). Save it as an Excel workbook (.xlsx) or as CSV.';
  return 'The file is a document of an old Office version. Save its table as an Excel workbook (.xlsx) or as CSV.';
}
