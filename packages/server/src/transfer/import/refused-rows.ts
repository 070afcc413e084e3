/** The refused rows of an import as a file: correct it, and import it again. */
import type { Database } from '../../database/database.ts';
import { readRefusedRows } from '../../database/import-rows.ts';
import { writeCsv } from '../csv-writer.ts';
import type { ExportColumn, ExportedRecord } from '../export-columns.ts';
import type { TableFormat } from '../export-records.ts';
import type { ExportTable } from '../export-table.ts';
import { refusedRowColumns } from './import-plan.ts';

const batchRows = 200;

/** Which rows, and in what form. */
export interface RefusedRowsFile {
  readonly importId: number;
  /** The names of the columns of the source. */
  readonly columns: readonly string[];
  readonly format: TableFormat;
}

/** The bytes of the file: line and reason, then the columns of the source. Formulas are neutralised as in exports. */
export async function writeRefusedRows(
  database: Database,
  { importId, columns, format }: RefusedRowsFile,
): Promise<AsyncGenerator<string | Uint8Array>> {
  const [line, reason] = refusedRowColumns;
  const table: ExportTable = {
    columns: [
      makeColumn('line', line, 'integer'),
      makeColumn('reason', reason, 'text'),
      ...columns.map((name, index) => makeColumn(`cell ${index}`, name, 'text')),
    ],
    header: 'titles',
    zone: null,
    title: 'Refused rows',
    batches: readBatches(database, importId, columns.length),
  };
  if (format === 'csv') return writeCsv(table, { delimiter: ',', bom: true });
  const { writeXlsx } = await import('../xlsx-writer.ts'); // loads a library that only this format needs
  return writeXlsx(table);
}

function makeColumn(member: string, title: string, kind: ExportColumn['kind']): ExportColumn {
  return { path: [member], name: title, title, kind, scale: 0 };
}

async function* readBatches(
  database: Database,
  importId: number,
  columnCount: number,
): AsyncGenerator<readonly ExportedRecord[]> {
  for (let after = '0'; ; ) {
    const rows = await readRefusedRows(database, importId, after, batchRows);
    if (rows.length > 0)
      yield rows.map(({ line, reason, cells }) => {
        const record: Record<string, unknown> = { line, reason };
        for (let index = 0; index < columnCount; index += 1) record[`cell ${index}`] = cells[index] ?? null;
        return record;
      });
    if (rows.length < batchRows) return;
    after = rows.at(-1)?.position ?? after;
  }
}
