/** Writes a table as CSV (RFC 4180): UTF-8, lines end with CRLF, cells by the rules of cell-text.ts. */
import { escapeFormula, quoteCell } from './cell-text.ts';
import { type ExportColumn, readColumnValue } from './export-columns.ts';
import { type ExportTable, formatZonedTime, readHeader } from './export-table.ts';

const lineEnd = '\r\n';
const byteOrderMark = '\uFEFF';

export interface CsvOptions {
  readonly delimiter: string;
  readonly bom: boolean;
}

/** The lines of some records in each piece. */
export async function* writeCsv(table: ExportTable, { delimiter, bom }: CsvOptions): AsyncGenerator<string> {
  const toLine = (cells: readonly (string | null)[]): string =>
    cells.map((cell) => quoteCell(cell, delimiter)).join(delimiter) + lineEnd;
  yield (bom ? byteOrderMark : '') + toLine(readHeader(table).map(escapeFormula));
  for await (const batch of table.batches)
    yield batch
      .map((record) =>
        toLine(table.columns.map((column) => formatCell(column, readColumnValue(column, record), table.zone))),
      )
      .join('');
}

/** The text of a value before it is quoted; null for null. */
function formatCell({ kind }: ExportColumn, value: unknown, zone: string | null): string | null {
  if (value === null) return null;
  if (kind === 'datetime' && zone !== null) return formatZonedTime(value as string, zone);
  if (kind === 'json') return escapeFormula(JSON.stringify(value));
  return kind === 'text' ? escapeFormula(value as string) : String(value);
}
