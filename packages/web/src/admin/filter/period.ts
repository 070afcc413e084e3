/** Parses the periods of date conditions. The rules are those of the server (`packages/server/src/query/period.ts`). */
import { relativePeriods } from './operators.ts';

const relativePattern = /^(past|next)\s+(\d{1,6})\s+(day|week|month|quarter|year)s?$/;
const maxUnits = 100_000;
const calendarPattern = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?|Q[1-4]|W(\d{2}))?$/;
const dateTimePattern =
  /^(\d{4}-\d{2}-\d{2})[Tt ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?$/;

/** A period in the format of the API: `past 3 months` is `{"type": "past", "number": 3, "unit": "month"}`. */
export function parsePeriod(text: string): unknown {
  const [, type, number, unit] = relativePattern.exec(text) ?? [];
  if (type) return { type, number: Number(number), unit };
  return (relativePeriods as readonly string[]).includes(text) ? { type: text } : text;
}

/**
 * Whether a text is a period: `2026`, `2026-11`, `2026Q4`, `2026W47`, `2026-11-20`, a timestamp, `today`, `past 3
 * months`.
 */
export function isPeriod(text: string): boolean {
  const [, , number] = relativePattern.exec(text) ?? [];
  if (number) return Number(number) >= 1 && Number(number) <= maxUnits;
  if ((relativePeriods as readonly string[]).includes(text)) return true;
  const day = dateTimePattern.exec(text)?.[1];
  if (day) return isDay(day);
  const [, year, month, date, week] = calendarPattern.exec(text) ?? [];
  if (year === undefined || Number(year) < 1) return false;
  if (week !== undefined) return Number(week) >= 1 && Number(week) <= countWeeks(Number(year));
  return month === undefined || isDay(`${year}-${month}-${date ?? '01'}`);
}

/** Whether a text is an existing day in the form `YYYY-MM-DD`. */
export function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && Number(text.slice(0, 4)) >= 1 && new Date(time).toISOString().startsWith(text);
}

/** The number of ISO weeks: 53 in years that begin on a Thursday, or on a Wednesday in a leap year; else 52. */
function countWeeks(year: number): number {
  const start = new Date(0);
  start.setUTCFullYear(year, 0, 1);
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return start.getUTCDay() === 4 || (isLeap && start.getUTCDay() === 3) ? 53 : 52;
}
