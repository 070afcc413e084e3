/**
 * Writes a table as an XLSX workbook while its records are read. Neither the rows nor the file are in memory as a whole, and
 * there are no temporary files: texts are inside the cells instead of a shared table, and the list of sheets follows them.
 */
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { ExportedRecord } from './export-columns.ts';
import { readColumnValue } from './export-columns.ts';
import { type ExportTable, readHeader } from './export-table.ts';
import { columnLetters, type RowShape, writeHeaderRow, writeRow } from './xlsx-cells.ts';
import { sheetEnd, sheetPath, writeSheetStart, writeWorkbookParts } from './xlsx-parts.ts';

/** Limits of a worksheet. A file with more rows, or with more text, has further sheets. */
export interface SheetLimits {
  /** Rows with the header. */
  readonly rows: number;
  /** UTF-16 code units of XML. A longer part would need ZIP64 headers, which some programs cannot read. */
  readonly length: number;
}

const defaultLimits: SheetLimits = { rows: 1_048_576, length: 1_000_000_000 };
const widths = { min: 8, max: 60, text: 20 } as const;
/** A fast level: XML of tables compresses well at any level. */
const zipOptions = { compressionLevel: 3, mtime: new Date('2020-01-01T00:00:00Z') };

export async function* writeXlsx(
  table: ExportTable,
  sheetLimits: SheetLimits = defaultLimits,
): AsyncGenerator<Uint8Array> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  const rows = new SheetRows(table, sheetLimits);
  let sheet: Readable | null = null;
  const addSheet = (number: number): void => {
    sheet = Readable.from(rows.writeSheet(), { objectMode: false });
    sheet.once('error', fail).once('end', () => {
      if (rows.hasMore) return addSheet(number + 1);
      for (const [path, text] of Object.entries(writeWorkbookParts(table.title, number)))
        zip.addBuffer(Buffer.from(text), path, zipOptions);
      zip.end();
    });
    zip.addReadStream(sheet, sheetPath(number), zipOptions);
  };
  addSheet(1);
  try {
    for await (const piece of output) yield piece as Uint8Array;
  } finally {
    (sheet as Readable | null)?.destroy();
    await table.batches.return(undefined);
  }
}

/** The rows of all sheets, one sheet after another. */
class SheetRows {
  readonly #table: ExportTable;
  readonly #limits: SheetLimits;
  readonly #shape: RowShape;
  readonly #header: readonly string[];
  /** Records that have been read and not written. */
  #pending: readonly ExportedRecord[] = [];
  #widths: readonly number[] | null = null;
  hasMore = true;

  constructor(table: ExportTable, sheetLimits: SheetLimits) {
    this.#table = table;
    this.#limits = sheetLimits;
    this.#header = readHeader(table);
    const letters = table.columns.map((_, index) => columnLetters(index));
    this.#shape = { columns: table.columns, letters, zone: table.zone };
  }

  /** The XML of one sheet. Afterwards, `hasMore` says whether records are left for the next one. */
  async *writeSheet(): AsyncGenerator<string> {
    await this.#fill();
    this.#widths ??= this.#measureWidths();
    yield writeSheetStart(this.#widths) + writeHeaderRow(this.#header, this.#shape.letters);
    let row = 2;
    let length = 0;
    while (this.hasMore && row <= this.#limits.rows && length < this.#limits.length) {
      const records = this.#pending.slice(0, this.#limits.rows + 1 - row);
      this.#pending = this.#pending.slice(records.length);
      const xml = records.map((record, index) => writeRow(record, row + index, this.#shape)).join('');
      row += records.length;
      length += xml.length;
      yield xml;
      await this.#fill();
    }
    yield sheetEnd;
  }

  /** Reads records unless some are pending. */
  async #fill(): Promise<void> {
    while (this.#pending.length === 0 && this.hasMore) {
      const { done, value } = await this.#table.batches.next();
      if (done) this.hasMore = false;
      else this.#pending = value;
    }
  }

  /** Widths that fit the header and the first records. */
  #measureWidths(): number[] {
    return this.#table.columns.map((column, index) => {
      const lengths = this.#pending.map((record) => measureText(readColumnValue(column, record)));
      const length = Math.max(this.#header[index]!.length, ...lengths);
      return Math.min(widths.max, Math.max(widths.min, length + 2));
    });
  }
}

function measureText(value: unknown): number {
  if (value === null) return 0;
  return typeof value === 'object' ? widths.text : String(value).length;
}
