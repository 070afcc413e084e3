/** XLSX files: chooses the sheet, finds the header, and reads the rows. */
import type { OpenBlob } from '../../base/blob-store.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { nameColumns } from './csv-source.ts';
import { detectHeader } from './detect-header.ts';
import { invalidFile } from './source-error.ts';
import type { SourceRow, TableOptions, TableSource } from './table-source.ts';
import { readSheetRows, type TextBudget } from './xlsx-rows.ts';
import { readWorkbook, type SheetPart, type Workbook } from './xlsx-workbook.ts';
import { openZip, type ZipArchive } from './zip-archive.ts';

const sampleRows = 100;

interface Spreadsheet {
  readonly zip: ZipArchive;
  readonly workbook: Workbook;
}

export async function openXlsx(bytes: OpenBlob, options: TableOptions): Promise<TableSource> {
  const zip = await openZip(bytes);
  checkContent(zip);
  const file: Spreadsheet = { zip, workbook: await readWorkbook(zip) };
  const { sheets } = file.workbook;
  const chosen = findSheet(sheets, options.sheet);
  const rows = await readFirstRows(file, chosen);
  const hasHeader = options.header ?? detectHeader(rows.map(({ cells }) => cells));
  const columns = nameColumns(rows, hasHeader);
  const parts = options.sheet === undefined && hasHeader ? await findParts(file, chosen, columns) : [chosen];
  return {
    format: 'xlsx',
    encoding: null,
    delimiter: null,
    hasHeader,
    sheets: sheets.map(({ name }) => name),
    sheet: chosen.name,
    columns,
    rows: () => readRows(file, parts, hasHeader),
  };
}

/** @throws ApiError for the ZIP archives of other programs, with the cure. */
function checkContent(zip: ZipArchive): void {
  const paths = zip.paths();
  const hasFolder = (folder: string): boolean => paths.some((path) => path.startsWith(folder));
  if (zip.has('xl/workbook.bin'))
    throw invalidFile('The file is a binary Excel workbook (.xlsb). Save it as an Excel workbook (.xlsx).');
  if (zip.has('[Content_Types].xml') && (hasFolder('xl/') || !(hasFolder('word/') || hasFolder('ppt/')))) return;
  if (zip.has('content.xml') && zip.has('mimetype'))
    throw invalidFile('The file is an OpenDocument file (.ods). Save it as an Excel workbook (.xlsx) or as CSV.');
  if (hasFolder('Index/'))
    throw invalidFile('The file is a Numbers document. Export it as an Excel workbook (.xlsx) or as CSV.');
  if (hasFolder('word/') || hasFolder('ppt/'))
    throw invalidFile(
      'The file is a text document or a presentation. Save its table as an Excel workbook (.xlsx) or as CSV.',
    );
  throw invalidFile('The file is a ZIP archive without a workbook. Unpack it and import the file in it.');
}

function findSheet(sheets: readonly SheetPart[], wanted: string | number | undefined): SheetPart {
  const byIndex = typeof wanted === 'number' ? wanted : /^\d+$/.test(wanted ?? '0') ? Number(wanted ?? 0) : -1;
  const found = sheets.find(({ name }) => name === wanted) ?? sheets[byIndex];
  if (found) return found;
  const names = sheets.slice(0, 20).map(({ name }) => `"${name}"`);
  throw new ApiError(
    'PARAMETER_INVALID',
    `"sheet" names no sheet of the file. Give one of ${names.join(', ')}, or its index from 0.`,
  );
}

async function readFirstRows({ zip, workbook }: Spreadsheet, sheet: SheetPart): Promise<SourceRow[]> {
  const rows: SourceRow[] = [];
  for await (const batch of readSheetRows(zip, workbook, sheet, { remaining: zip.maxTextLength })) {
    rows.push(...batch);
    if (rows.length >= sampleRows) break;
  }
  return rows.slice(0, sampleRows);
}

/** The further sheets of an export of more rows than a sheet can have: `Orders (2)` after `Orders`, with an equal header. */
async function findParts(file: Spreadsheet, first: SheetPart, columns: readonly string[]): Promise<SheetPart[]> {
  const parts = [first];
  for (const sheet of file.workbook.sheets.slice(file.workbook.sheets.indexOf(first) + 1)) {
    const suffix = ` (${parts.length + 1})`;
    const start = sheet.name.slice(0, -suffix.length);
    if (!sheet.name.endsWith(suffix) || !first.name.startsWith(start)) break;
    const rows = await readFirstRows(file, sheet);
    if (nameColumns(rows.slice(0, 1), true).join('\n') !== columns.join('\n')) break;
    parts.push(sheet);
  }
  return parts;
}

async function* readRows(
  { zip, workbook }: Spreadsheet,
  parts: readonly SheetPart[],
  hasHeader: boolean,
): AsyncGenerator<readonly SourceRow[]> {
  let linesBefore = 0;
  const budget: TextBudget = { remaining: zip.maxTextLength };
  for (const part of parts) {
    let isHeader = hasHeader;
    let lastLine = 0;
    for await (const batch of readSheetRows(zip, workbook, part, budget)) {
      lastLine = batch.at(-1)?.line ?? lastLine;
      const rows = isHeader ? batch.slice(1) : batch;
      isHeader = false;
      if (rows.length > 0)
        yield linesBefore === 0 ? rows : rows.map(({ line, cells }) => ({ line: line + linesBefore, cells }));
    }
    linesBefore += lastLine;
  }
}
