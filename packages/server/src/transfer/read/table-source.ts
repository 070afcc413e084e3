/**
 * What an import reads: a file as rows of cells, in the same form for every format. Nothing here knows a database.
 *
 * Enters: the bytes of a file, in pieces. Leaves: batches of rows, with bounded memory. Refuses, with an `ApiError` whose
 * message names the line and the cure: files that are damaged, too large, encrypted, or of another kind.
 */

/** The formats of files that can be imported. */
export type SourceFormat = 'csv' | 'xlsx' | 'json' | 'ndjson';

/**
 * How a value was written, if the file says more than a text:
 *
 * - `number`: exact digits, such as `12.50` or `9007199254740993`, of a JSON file.
 * - `double`: a number of a spreadsheet, with the shortest digits of its 64-bit value. Spreadsheets show 15 of them.
 * - `date` (`2026-11-23`), `datetime` (`2026-11-23T16:10:00.000`, without a zone), `time` (`16:10:00`): a formatted number of a
 *   spreadsheet.
 * - `json`: the JSON text of a list, an object, or any value of a member that {@link TableOptions} names.
 * - `error`: a cell without a usable value, such as `#N/A`; the text is for messages.
 */
export type TypedCellKind = 'number' | 'double' | 'date' | 'datetime' | 'time' | 'json' | 'error';

export interface TypedCell {
  readonly kind: TypedCellKind;
  readonly text: string;
}

/**
 * One cell. Null is an empty cell, and in JSON null; `''` is the empty text. In texts of CSV files, the
 * apostrophe before formulas is already removed (see cell-text.ts), so every cell can be used and shown as it is.
 */
export type SourceCell = string | boolean | TypedCell | null;

/** A cell of a row. Undefined: the record of a JSON file does not have this member. */
export type RowCell = SourceCell | undefined;

/** A row with the place where it begins. */
export interface SourceRow {
  /**
   * From 1, with the header: the line of a CSV or NDJSON file, the row of a sheet, or the number of the record in a JSON list. On the
   * further sheets of an export, the rows of the sheets before are added.
   */
  readonly line: number;
  /** Can be longer or shorter than the columns. The cells that a shorter row lacks are empty. */
  readonly cells: readonly RowCell[];
}

/** An opened file. */
export interface TableSource {
  readonly format: SourceFormat;
  /** A label such as `utf-8`, `utf-16le` or `windows-1252`; null for XLSX. */
  readonly encoding: string | null;
  /** `,` `;` `|` or a tab; null for other formats than CSV. */
  readonly delimiter: string | null;
  /** Whether the first row has the names of the columns. */
  readonly hasHeader: boolean;
  /** The names of the sheets of an XLSX file, in their order; otherwise empty. */
  readonly sheets: readonly string[];
  /** The name of the sheet that is read; null for other formats than XLSX. */
  readonly sheet: string | null;
  /** The texts of the header; `Column 1` and so on without one. They can be empty and equal. For JSON, names with dots. */
  readonly columns: readonly string[];
  /**
   * The rows after the header, in batches of at most 500 rows. Each call reads the file from the beginning.
   *
   * @throws ApiError `FILE_INVALID` or `LIMIT_EXCEEDED` where the file cannot be read; some of the rows before it may have been delivered.
   */
  rows(): AsyncGenerator<readonly SourceRow[]>;
}

/** What the caller says about a file; the rest is detected. */
export interface TableOptions {
  /** Default: detected from the bytes. */
  readonly format?: SourceFormat;
  /** A label that iconv-lite knows. Default: detected. For CSV, JSON and NDJSON. */
  readonly encoding?: string;
  /** `,` `;` `|` or a tab. Default: detected. */
  readonly delimiter?: string;
  /** Default: detected. For CSV and XLSX. */
  readonly header?: boolean;
  /** A name, or a 0-based index. Default: the first sheet; of an export with further sheets, all of them. */
  readonly sheet?: string | number;
  /**
   * JSON and NDJSON: names of members whose cells are `json`, whatever they hold. These are the fields of the collection that store
   * JSON (`type.storage === 'json'`), and its relations to many records.
   * Other objects become columns with dots, such as `author.name`, unless a record has another value there.
   */
  readonly wholeMembers?: ReadonlySet<string>;
}

/** Limits of files. They bound the memory of reading. */
export const sourceLimits = {
  /** UTF-16 code units of one cell, and of all cells of one row or record. */
  cellLength: 10_000_000,
  rowLength: 32_000_000,
  columns: 16_384,
  /** Rows of one batch, and the UTF-16 code units after which a batch ends. */
  batchRows: 500,
  batchLength: 256 * 1024,
} as const;
