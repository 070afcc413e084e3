/** Turns a cell into the value that a JSON body would have for a field. It is then validated as in any other write. */

import { ApiError } from '../../protocol/api-error.ts';
import { exactNumber, JsonNumber } from '../../protocol/exact-json.ts';
import { parseJson } from '../../protocol/json-text.ts';
import type { FieldType } from '../../schema/field-type.ts';
import type { CellFormat } from './cell-format.ts';
import { readDateText, readDatetimeText, readTimeText } from './date-value.ts';
import { readNumberText } from './number-value.ts';
import type { RowCell, SourceCell, TypedCell } from './table-source.ts';

/** A value, or a sentence that says why the cell has none and what to give instead. */
export type CellResult = { readonly value: unknown } | { readonly reason: string };

export interface CellContext {
  /** The form of the column, from {@link deriveColumns}. */
  readonly format: CellFormat;
  /**
   * The time zone of date-times without an offset, from X-Timezone; null for UTC.
   *
   * Date-times of a sheet never have an offset. XLSX exports are in UTC, so they are read without X-Timezone; those with `localTimes` are
   * read with the X-Timezone of the export. Of the hour that occurs twice when summer time ends, the first one is taken, because a sheet
   * cannot tell them apart; CSV and JSON exports can.
   */
  readonly zone: string | null;
}

type PresentCell = Exclude<SourceCell, null>;
/** What a value is read as. */
type CellReader = (cell: PresentCell, context: CellContext, type: FieldType) => CellResult;

const truthWords: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'yes', 'y', '1', 'on', 'ja', 'j', 'wahr', 'oui', 'vrai', 'si', 'sí', 'x', '✓'].map(
    (word) => [word, true] as const,
  ),
  ...['false', 'no', 'n', '0', 'off', 'nein', 'falsch', 'non', 'faux'].map((word) => [word, false] as const),
]);
/** Types that can hold the empty text. Many programs write it for no value, so it is null for other types. */
const emptyTextTypes: ReadonlySet<string> = new Set(['string', 'text', 'password']);
/** Digits that a spreadsheet shows. */
const shownDigits = 15;

/**
 * @param type the type of the field, adapted to its definition.
 * @returns null as the value of an empty cell.
 */
export function parseCell(cell: SourceCell, type: FieldType, context: CellContext): CellResult {
  if (cell === null) return { value: null };
  if (typeof cell === 'object' && cell.kind === 'error')
    return { reason: `The cell has no usable value: ${cell.text}.` };
  if (typeof cell === 'string' && cell.trim() === '' && !emptyTextTypes.has(type.name)) return { value: null };
  return findReader(type)(cell, context, type);
}

/** The text of a cell for previews, messages and refused rows. */
export function showCell(cell: RowCell): string | null {
  if (cell === undefined || cell === null || typeof cell === 'string') return cell ?? null;
  return typeof cell === 'boolean' ? String(cell) : cell.text;
}

/** The boolean that a text means in one of several languages, or null. */
export function readTruth(text: string): boolean | null {
  return truthWords.get(text.trim().toLowerCase()) ?? null;
}

function findReader({ name, storage, relation }: FieldType): CellReader {
  if (storage === 'json') return name === 'select' ? readChoices : readJson;
  if (relation) return readJson;
  if (storage === 'boolean') return readBoolean;
  if (name === 'time') return readTime;
  // A datetime with `dateOnly` is stored as text.
  if (name === 'date' || (name === 'datetime' && storage === 'text')) return readDate;
  if (storage === 'datetime') return readDatetime;
  return storage === 'text' || storage === 'uuid' ? readText : readNumber;
}

function readText(cell: PresentCell): CellResult {
  if (typeof cell !== 'object') return { value: String(cell) };
  if (cell.kind === 'json') return { reason: 'The value is a list or an object. Give a text.' };
  return { value: cell.kind === 'double' ? roundToShownDigits(cell.text) : cell.text };
}

function readNumber(cell: PresentCell, { format }: CellContext, { storage }: FieldType): CellResult {
  const read = storage === 'double' ? readDouble : exactNumber;
  if (typeof cell === 'object' && cell.kind === 'number') return { value: read(cell.text) };
  if (typeof cell === 'object' && cell.kind === 'double')
    return { value: read(storage === 'double' ? cell.text : roundToShownDigits(cell.text)) };
  const digits = typeof cell === 'string' ? readNumberText(cell, format.numbers) : null;
  return digits === null
    ? { reason: 'The value is not a number. Give digits with a decimal point, such as 1234.5.' }
    : { value: read(digits) };
}

/**
 * Exports write the shortest digits that mean a 64-bit value. From 2^53 on, these can be another whole number: 132666446322702816 is
 * written as 132666446322702820, and read as the former. Other digits that a double cannot represent stay exact, to be refused.
 */
function readDouble(digits: string): number | JsonNumber {
  const number = exactNumber(digits);
  if (!(number instanceof JsonNumber) || !Number.isFinite(number.nearest)) return number;
  return new JsonNumber(String(number.nearest)).text === number.text ? number.nearest : number;
}

/** Spreadsheets calculate with more digits than they show: 0.1 + 0.2 is shown as 0.3. */
function roundToShownDigits(text: string): string {
  const number = Number(text);
  return text.replace(/\D/g, '').length > shownDigits ? String(Number(number.toPrecision(shownDigits))) : text;
}

function readBoolean(cell: PresentCell): CellResult {
  if (typeof cell === 'boolean') return { value: cell };
  const value = readTruth(typeof cell === 'string' ? cell : cell.text);
  return value === null ? { reason: 'The value is not true or false. Give true, false, yes or no.' } : { value };
}

function readDate(cell: PresentCell, { format }: CellContext): CellResult {
  if (typeof cell === 'string') return readDateText(cell, format.dates);
  if (typeof cell === 'object' && cell.kind === 'date') return { value: cell.text };
  if (typeof cell === 'object' && cell.kind === 'datetime')
    return cell.text.endsWith('T00:00:00.000')
      ? { value: cell.text.slice(0, 10) }
      : { reason: 'The value has a time. Give a date such as 2026-12-31.' };
  return { reason: 'The value is not a date. Give one such as 2026-12-31.' };
}

function readDatetime(cell: PresentCell, { format, zone }: CellContext): CellResult {
  if (typeof cell === 'string') return readDatetimeText(cell, format.dates, zone);
  if (typeof cell === 'object' && (cell.kind === 'datetime' || cell.kind === 'date'))
    return readDatetimeText(cell.text, null, zone);
  return { reason: 'The value is not a date and time. Give one such as 2026-12-31T16:30:00Z.' };
}

function readTime(cell: PresentCell): CellResult {
  if (typeof cell === 'string') return readTimeText(cell);
  if (typeof cell === 'object' && cell.kind === 'time') return { value: cell.text };
  return { reason: 'The value is not a time. Give one such as 16:30 or 16:30:15.' };
}

function readJson(cell: PresentCell): CellResult {
  if (typeof cell === 'boolean') return { value: cell };
  if (typeof cell === 'object' && cell.kind !== 'json') return readScalar(cell);
  try {
    const text = typeof cell === 'string' ? cell : cell.text;
    return {
      value: parseJson(text, () => new ApiError('BODY_INVALID', 'The value is not JSON. Give one such as ["a", "b"].')),
    };
  } catch (error) {
    if (error instanceof ApiError) return { reason: error.message };
    throw error;
  }
}

function readScalar({ kind, text }: TypedCell): CellResult {
  return { value: kind === 'number' || kind === 'double' ? exactNumber(text) : text };
}

/** A JSON list, or texts that are separated by semicolons or commas. */
function readChoices(cell: PresentCell): CellResult {
  if (typeof cell !== 'string')
    return typeof cell === 'object' && cell.kind === 'json' ? readJson(cell) : readText(cell);
  if (cell.trim().startsWith('[')) return readJson(cell);
  const parts = cell.split(cell.includes(';') ? ';' : ',').map((part) => part.trim());
  return { value: parts.filter((part) => part !== '') };
}
