/** Files for the readers of imports. */
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import type { OpenBlob } from '../../src/base/blob-store.ts';
import { openTable } from '../../src/transfer/read/open-table.ts';
import type { RowCell, SourceRow, TableOptions, TableSource } from '../../src/transfer/read/table-source.ts';

/** Bytes that are read in pieces of a certain size. */
export function toBlob(content: string | Uint8Array, pieceSize = 65_536): OpenBlob {
  const bytes = Buffer.from(content as Uint8Array);
  return {
    size: bytes.length,
    async *read(from, to) {
      for (let start = from; start <= to; start += pieceSize)
        yield bytes.subarray(start, Math.min(to + 1, start + pieceSize));
    },
  };
}

export async function readRows(source: TableSource): Promise<SourceRow[]> {
  const rows: SourceRow[] = [];
  for await (const batch of source.rows()) rows.push(...batch);
  return rows;
}

/** Reads the header and the cells of a file. */
export async function readTable(
  content: string | Uint8Array,
  options?: TableOptions,
  pieceSize?: number,
): Promise<{
  readonly source: TableSource;
  readonly columns: readonly string[];
  readonly rows: readonly SourceRow[];
  readonly cells: readonly (readonly RowCell[])[];
}> {
  const source = await openTable(toBlob(content, pieceSize), options);
  const rows = await readRows(source);
  return { source, columns: source.columns, rows, cells: rows.map(({ cells }) => cells) };
}

export async function zipParts(parts: Readonly<Record<string, string | Uint8Array>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [path, content] of Object.entries(parts)) zip.addBuffer(Buffer.from(content as Uint8Array), path);
  zip.end();
  return buffer(zip.outputStream);
}

const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

export interface WorkbookContent {
  /** The XML within `<sheetData>`, by the names of the sheets. */
  readonly sheets: Readonly<Record<string, string>>;
  /** The XML within `<sst>`. */
  readonly texts?: string;
  /** Format codes of the styles 1, 2 and so on; a number is the id of a built-in format. */
  readonly formats?: readonly (string | number)[];
  /** Attributes of `<workbookPr>`. */
  readonly properties?: string;
}

/** The parts of a small workbook. */
export function makeWorkbookParts({
  sheets,
  texts = '',
  formats = [],
  properties = '',
}: WorkbookContent): Record<string, string> {
  const names = Object.keys(sheets);
  const relation = (id: string, kind: string, target: string): string =>
    `<Relationship Id="${id}" Type="${relations}/${kind}" Target="${target}"/>`;
  const wrap = (list: string): string => `<Relationships xmlns="urn:r">${list}</Relationships>`;
  const ids = formats.map((format, index) => (typeof format === 'number' ? format : 200 + index));
  return {
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': wrap(relation('a', 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml': `<workbook ${main} xmlns:r="${relations}"><workbookPr ${properties}/><sheets>${names
      .map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="r${index}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': wrap(
      names.map((_, index) => relation(`r${index}`, 'worksheet', `worksheets/s${index}.xml`)).join('') +
        relation('s', 'styles', 'styles.xml') +
        relation('t', 'sharedStrings', '/xl/sharedStrings.xml'),
    ),
    'xl/styles.xml': `<styleSheet ${main}><numFmts>${formats
      .map(
        (format, index) =>
          `<numFmt numFmtId="${200 + index}" formatCode="${String(format).replaceAll('"', '&quot;')}"/>`,
      )
      .join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${ids
      .map((id) => `<xf numFmtId="${id}"/>`)
      .join('')}</cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': `<sst ${main}>${texts}</sst>`,
    ...Object.fromEntries(
      names.map((name, index) => [
        `xl/worksheets/s${index}.xml`,
        `<?xml version="1.0"?><worksheet ${main}><sheetData>${sheets[name]}</sheetData></worksheet>`,
      ]),
    ),
  };
}

export function makeWorkbook(content: WorkbookContent): Promise<Buffer> {
  return zipParts(makeWorkbookParts(content));
}
