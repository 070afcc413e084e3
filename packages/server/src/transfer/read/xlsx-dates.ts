/** Dates and times of spreadsheets: numbers whose format shows a date (ECMA-376, part 1, 18.8.30 and 18.17.4). */
import type { TypedCell } from './table-source.ts';

/** What a number format shows. `elapsed` is a duration such as `[h]:mm`. */
export type SheetDateKind = 'date' | 'datetime' | 'time' | 'elapsed';

const dayMilliseconds = 86_400_000;
/** The serial numbers of 1970-01-01 with the first day in 1900, and in 1904. */
const epochSerial = 25_569;
const epochSerial1904 = 24_107;
/** 29 February 1900, which Excel counts although it did not exist. Earlier serial numbers are one too small. */
const missingDay = 60;
/** 9999-12-31 */
const endSerial = 2_958_466;

/** Built-in formats, also those of Japanese, Chinese and Korean versions. */
const builtInFormats: readonly (readonly [from: number, to: number, SheetDateKind])[] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'datetime'],
  [27, 31, 'date'],
  [32, 35, 'time'],
  [36, 36, 'date'],
  [45, 45, 'time'],
  [46, 46, 'elapsed'],
  [47, 47, 'time'],
  [50, 54, 'date'],
  [55, 56, 'time'],
  [57, 58, 'date'],
];

/** @returns null for a format that shows no date. */
export function findBuiltInFormat(id: number): SheetDateKind | null {
  return builtInFormats.find(([from, to]) => id >= from && id <= to)?.[2] ?? null;
}

const maxCodeLength = 1000;

/** What a format code such as `yyyy\-mm\-dd hh:mm` shows; null for numbers. Only its first section is for positive numbers. */
export function readFormatCode(code: string): SheetDateKind | null {
  const signs = code
    .slice(0, maxCodeLength)
    .replace(/"[^"]*"|\\.|[_*]./gs, '')
    .toLowerCase()
    .split(';', 1)[0]
    ?.replace(/general/g, '');
  if (signs === undefined) return null;
  if (/\[(?:h+|m+|s+)\]/.test(signs)) return 'elapsed';
  const plain = signs.replace(/\[[^\]]*\]/g, '');
  const hasTime = /[hs]|am\/pm|a\/p/.test(plain);
  const hasDate = /[yd]/.test(plain) || (plain.includes('m') && !hasTime);
  if (hasDate) return hasTime ? 'datetime' : 'date';
  return hasTime ? 'time' : null;
}

/**
 * The date or time of a serial number. A date with a time of day is a date-time, whatever its format shows. Times of more than a day
 * are a number if they are durations.
 *
 * @param text the number as the file has it.
 */
export function readSerial(text: string, format: SheetDateKind, is1904: boolean): TypedCell {
  const serial = Number(text);
  if (format === 'elapsed' && (serial < 0 || serial >= 1)) return { kind: 'double', text: String(serial) };
  if ((format === 'time' || format === 'elapsed') && serial >= 0 && serial < 1) return readTime(serial);
  const days = is1904 ? serial - epochSerial1904 : serial - epochSerial + (serial >= 0 && serial < missingDay ? 1 : 0);
  const isMissing = !is1904 && Math.floor(serial) === missingDay;
  if (!Number.isFinite(serial) || isMissing || serial >= endSerial || days < -719_162)
    return { kind: 'error', text: `${text} is not a date` };
  const iso = new Date(Math.round(days * dayMilliseconds)).toISOString().slice(0, -1);
  const isWholeDay = iso.endsWith('T00:00:00.000');
  return isWholeDay && format === 'date' ? { kind: 'date', text: iso.slice(0, 10) } : { kind: 'datetime', text: iso };
}

function readTime(serial: number): TypedCell {
  const milliseconds = Math.min(dayMilliseconds - 1, Math.round(serial * dayMilliseconds));
  const iso = new Date(milliseconds).toISOString().slice(11, -1);
  return { kind: 'time', text: iso.endsWith('.000') ? iso.slice(0, 8) : iso };
}
