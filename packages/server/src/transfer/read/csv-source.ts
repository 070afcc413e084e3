/** CSV files: detects the delimiter and the header, and reads the rows. */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { OpenBlob } from '../../base/blob-store.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { CsvRows } from './csv-rows.ts';
import { detectHeader } from './detect-header.ts';
import { openText, type SourceText } from './source-text.ts';
import { type RowCell, type SourceRow, sourceLimits, type TableOptions, type TableSource } from './table-source.ts';

/** If several delimiters fit equally, the first one is taken. A comma also separates decimals, so it is the last. */
const delimiters = ['\t', ';', '|', ','] as const;
const sampleLength = 128 * 1024;
const sampleRows = 100;
/** Code units that are parsed between two pauses. */
const pieceLength = 32 * 1024;
/** Excel writes the delimiter into the first line: `sep=;`. */
const delimiterLine = /^sep=([,;|\t])(?:\r\n|\n|\r)/i;

interface CsvShape {
  readonly delimiter: string;
  /** Characters of the line `sep=;`, and its number of lines. */
  readonly skipped: number;
}

export async function openCsv(bytes: OpenBlob, options: TableOptions): Promise<TableSource> {
  const text = await openText(bytes, options.encoding);
  const { sample, isWhole } = await readSample(text);
  const shape = await detectShape(sample, isWhole, options.delimiter);
  const rows = await parseSample(sample.slice(shape.skipped), shape.delimiter, isWhole);
  const hasHeader = options.header ?? detectHeader(rows.map(({ cells }) => cells));
  const columns = nameColumns(rows, hasHeader);
  return {
    format: 'csv',
    encoding: text.encoding,
    delimiter: shape.delimiter,
    hasHeader,
    sheets: [],
    sheet: null,
    columns,
    rows: () => readRows(text, shape, { hasHeader, columnCount: columns.length }),
  };
}

/** The texts of the header, or `Column 1` and so on for as many columns as there are in the sample. */
export function nameColumns(rows: readonly SourceRow[], hasHeader: boolean): string[] {
  const width = rows.reduce((widest, { cells }) => Math.max(widest, cells.length), 0);
  if (!hasHeader) return Array.from({ length: width }, (_, index) => `Column ${index + 1}`);
  return (rows[0]?.cells ?? []).map((cell) => (typeof cell === 'string' ? cell : toHeaderText(cell)));
}

function toHeaderText(cell: RowCell): string {
  return cell === undefined || cell === null ? '' : typeof cell === 'object' ? cell.text : String(cell);
}

async function readSample(text: SourceText): Promise<{ sample: string; isWhole: boolean }> {
  let sample = '';
  let hasLineBreak = false;
  for await (const piece of text.pieces()) {
    // A long header must be complete.
    if (sample.length >= sampleLength && (hasLineBreak || sample.length > sourceLimits.rowLength))
      return { sample, isWhole: false };
    sample += piece;
    hasLineBreak ||= /[\r\n]/.test(piece);
  }
  return { sample, isWhole: true };
}

async function detectShape(sample: string, isWhole: boolean, given: string | undefined): Promise<CsvShape> {
  if (given !== undefined && !(delimiters as readonly string[]).includes(given))
    throw new ApiError('PARAMETER_INVALID', '"delimiter" must be a comma, a semicolon, a vertical bar or "tab".');
  const declared = delimiterLine.exec(sample);
  const skipped = declared?.[0].length ?? 0;
  const delimiter = given ?? declared?.[1];
  if (delimiter !== undefined) return { delimiter, skipped };
  let best = { delimiter: ',', score: 0.5 };
  for (const each of delimiters) {
    const score = await scoreDelimiter(sample, each, isWhole);
    if (score > best.score) best = { delimiter: each, score };
  }
  return { delimiter: best.delimiter, skipped };
}

/** The share of rows that have as many cells as the first one; 0 for a single column. */
async function scoreDelimiter(sample: string, delimiter: string, isWhole: boolean): Promise<number> {
  let rows: readonly SourceRow[];
  try {
    rows = await parseSample(sample.slice(0, sampleLength), delimiter, isWhole);
  } catch {
    return 0;
  }
  const width = rows[0]?.cells.length ?? 0;
  return width < 2 ? 0 : rows.filter(({ cells }) => cells.length === width).length / rows.length;
}

async function parseSample(sample: string, delimiter: string, isWhole: boolean): Promise<SourceRow[]> {
  const parser = new CsvRows(delimiter);
  const rows: SourceRow[] = [];
  for (let from = 0; from < sample.length; from += pieceLength) {
    for (const row of parser.push(sample.slice(from, from + pieceLength))) rows.push(row);
    await yieldToOthers();
  }
  // The last row of a piece may be incomplete, unless it is the only one.
  if (isWhole || rows.length === 0) rows.push(...parser.end());
  return withoutBlankLines(
    rows,
    rows.some(({ cells }) => cells.length > 1),
  ).slice(0, sampleRows);
}

interface RowShape {
  readonly hasHeader: boolean;
  readonly columnCount: number;
}

async function* readRows(
  text: SourceText,
  { delimiter, skipped }: CsvShape,
  { hasHeader, columnCount }: RowShape,
): AsyncGenerator<readonly SourceRow[]> {
  const parser = new CsvRows(delimiter, skipped > 0 ? 2 : 1);
  let toSkip = skipped;
  let isHeader = hasHeader;
  function* toBatches(found: SourceRow[]): Generator<readonly SourceRow[]> {
    const rows = withoutBlankLines(found, columnCount > 1);
    if (isHeader && rows.length > 0) {
      rows.shift();
      isHeader = false;
    }
    for (let from = 0; from < rows.length; from += sourceLimits.batchRows)
      yield rows.slice(from, from + sourceLimits.batchRows);
  }
  for await (const piece of text.pieces()) {
    const start = Math.min(toSkip, piece.length);
    toSkip -= start;
    yield* toBatches(parser.push(piece.slice(start)));
  }
  yield* toBatches(parser.end());
}

/** With a single column, an empty line is a null; otherwise, it is ignored. */
function withoutBlankLines(rows: SourceRow[], hasSeveralColumns: boolean): SourceRow[] {
  return hasSeveralColumns ? rows.filter(({ cells }) => cells.length > 1 || cells[0] !== null) : rows;
}
