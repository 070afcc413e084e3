/** How the texts of one column are to be read; {@link deriveColumns} finds it, and {@link parseCell} uses it. */

/** The signs of numbers such as `1.234,50`: `,` for the decimals and `.` for the thousands. */
export interface NumberFormat {
  readonly decimal: '.' | ',';
  /** It may be missing in a number. `' '` also means no-break spaces. */
  readonly group: '.' | ',' | ' ' | "'";
}

/** The order of day, month and year: `31.12.2026` is dmy, `12/31/2026` is mdy. ISO 8601 is always read. */
export type DateOrder = 'dmy' | 'mdy' | 'ymd';

export interface CellFormat {
  /** Null: digits with a decimal point. */
  readonly numbers: NumberFormat | null;
  /** Null: only dates that cannot mean two days. */
  readonly dates: DateOrder | null;
}

export const plainFormat: CellFormat = { numbers: null, dates: null };
