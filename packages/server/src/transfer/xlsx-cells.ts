/** Cells of a worksheet (ECMA-376, part 1, 18.3.1.4). A cell never contains a formula. */
import { type ExportColumn, type ExportedRecord, readColumnValue } from './export-columns.ts';
import { toZonedTime } from './export-table.ts';

/** The longest text of a cell, in UTF-16 code units. */
export const maxCellLength = 32_767;
/** Spreadsheets show and calculate 15 digits. Exact numbers with more digits are written as text. */
const maxDigits = 15;
const dayMilliseconds = 86_400_000;
/** The serial number of 1970-01-01. */
const epochSerial = 25_569;
/** The serial numbers of earlier days are off by one, because Excel counts 1900 as a leap year. Such days are written as text. */
const minSerial = 61;
/** The serial number after 9999-12-31, the last day of spreadsheets. A time zone can move a date-time past it. */
const endSerial = 2_958_466;

/** Indexes of the cell formats in styles.xml. Decimals follow, by their number of digits after the point. */
export const styles = { header: 1, text: 2, integer: 3, date: 4, datetime: 5, time: 6, decimals: 7 } as const;
/** Digits after the point of a decimal, at most. */
export const maxScale = 18;

/** The letters of a column: 0 is A, 26 is AA. */
export function columnLetters(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest > 0 ? columnLetters(rest - 1) : '') + String.fromCharCode(65 + (index % 26));
}

export interface RowShape {
  readonly columns: readonly ExportColumn[];
  readonly letters: readonly string[];
  readonly zone: string | null;
}

/** @param row from 1. */
export function writeRow(record: ExportedRecord, row: number, { columns, letters, zone }: RowShape): string {
  let cells = '';
  for (const [index, column] of columns.entries()) {
    const value = readColumnValue(column, record);
    if (value !== null) cells += writeCell(column, value, `${letters[index]}${row}`, zone);
  }
  return `<row r="${row}">${cells}</row>`;
}

export function writeHeaderRow(titles: readonly string[], letters: readonly string[]): string {
  const cells = titles.map((title, index) => writeText(`${letters[index]}1`, title, styles.header));
  return `<row r="1">${cells.join('')}</row>`;
}

function writeCell({ kind, scale }: ExportColumn, value: unknown, name: string, zone: string | null): string {
  const text = kind === 'json' ? JSON.stringify(value) : String(value);
  if (kind === 'boolean') return `<c r="${name}" t="b"><v>${value === true ? 1 : 0}</v></c>`;
  if (kind === 'number') return `<c r="${name}"><v>${text}</v></c>`;
  const number = readNumber(kind, text, zone);
  if (number === null) return writeText(name, text, styles.text);
  const style = kind === 'decimal' ? styles.decimals + scale : styles[kind as 'integer' | 'date' | 'datetime' | 'time'];
  return `<c r="${name}" s="${style}"><v>${number}</v></c>`;
}

/** The number of a cell; null for text, and for values that a cell cannot hold as a number. */
function readNumber(kind: ExportColumn['kind'], text: string, zone: string | null): string | number | null {
  if (kind === 'integer' || kind === 'decimal') {
    const digits = text.replace(/^-?[0.]*/, '').replace('.', '');
    return digits.length > maxDigits ? null : text;
  }
  if (kind === 'time') return Date.parse(`1970-01-01T${text}Z`) / dayMilliseconds;
  if (kind !== 'date' && kind !== 'datetime') return null;
  const offset = kind === 'datetime' && zone !== null ? toZonedTime(text, zone).offsetMilliseconds : 0;
  const serial = (Date.parse(text) + offset) / dayMilliseconds + epochSerial;
  return serial < minSerial || serial >= endSerial ? null : serial;
}

function writeText(name: string, text: string, style: number): string {
  const content = escapeXml(limitText(text));
  return `<c r="${name}" t="inlineStr" s="${style}"><is><t xml:space="preserve">${content}</t></is></c>`;
}

/** A text that is too long for a cell ends with the number of its characters. */
export function limitText(text: string): string {
  if (text.length <= maxCellLength) return text;
  const marker = ` [cut off: ${text.length} characters]`;
  return text.slice(0, maxCellLength - marker.length).replace(/[\uD800-\uDBFF]$/, '') + marker;
}

/**
 * Text of an XML document. Characters that XML cannot contain are written as `_x0007_`, and the first
 * character of texts that look like that as `_x005F_` (ECMA-376, part 1, 22.9.2.19). A CR would otherwise be read as a line feed.
 */
export function escapeXml(text: string): string {
  return text.toWellFormed().replace(escapedForm, (found) => {
    const code = found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return entities[found] ?? `_x${code}_`;
  });
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML cannot contain.
const escapedForm = /[&<>"]|_(?=x[0-9A-Fa-f]{4}_)|[\u0000-\u0008\u000B-\u001F\uFFFE\uFFFF]/g;
