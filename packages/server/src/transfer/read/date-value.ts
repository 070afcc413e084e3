/** Dates and times in texts: ISO 8601, and the forms of countries. */
import { canonicalDate } from '../../schema/types/date.ts';
import { canonicalDatetime } from '../../schema/types/datetime.ts';
import { canonicalTime } from '../../schema/types/time.ts';
import type { DateOrder } from './cell-format.ts';

const localForm = /^(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:(?:,? |T)(.+))?$/;
const offsetForm = /(?:[Zz]|[+-]\d{2}:?\d{2})$/;
const clockForm = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?: ?([ap])\.?m\.?)?$/i;

/** Either a value, or why there is none. */
export type DateResult = { readonly value: string } | { readonly reason: string };

/** The orders that a text can have; empty if it is no date of this kind. Dots are always day, month, year. */
export function findDateOrders(text: string): DateOrder[] {
  const match = localForm.exec(text.trim());
  if (!match) return [];
  const sign = match[2];
  const orders: readonly DateOrder[] = sign === '.' ? ['dmy', 'ymd'] : ['dmy', 'mdy', 'ymd'];
  return orders.filter((order) => orderDate(match, order) !== null);
}

/** `YYYY-MM-DD`. @param order null reads only dates that cannot mean two days. */
export function readDateText(given: string, order: DateOrder | null): DateResult {
  const text = given.trim();
  const iso = canonicalDate(text);
  if (iso !== null) return { value: iso };
  const found = splitLocal(text, order);
  if ('reason' in found) return found;
  return found.clock === undefined
    ? { value: found.date }
    : { reason: 'The value has a time. Give a date such as 2026-12-31.' };
}

/**
 * `YYYY-MM-DDTHH:mm:ss.SSSZ`.
 *
 * @param zone the time zone of texts without an offset; null for UTC.
 */
export function readDatetimeText(given: string, order: DateOrder | null, zone: string | null): DateResult {
  const text = given.trim();
  const iso = canonicalDatetime(text);
  if (iso !== null) return offsetForm.test(text) && text.length > 10 ? { value: iso } : toInstant(iso, zone);
  const found = splitLocal(text, order);
  if ('reason' in found) return found;
  const clock = found.clock === undefined ? '00:00:00' : readClock(found.clock);
  const local = clock === null ? null : canonicalDatetime(`${found.date}T${clock}`);
  return local === null ? { reason: datetimeExpected } : toInstant(local, zone);
}

/** `HH:mm:ss`, with `.SSS` if there are milliseconds. */
export function readTimeText(given: string): DateResult {
  const text = given.trim();
  const value = canonicalTime(text) ?? canonicalTime(readClock(text) ?? '');
  return value === null ? { reason: 'The value is not a time. Give one such as 16:30 or 16:30:15.' } : { value };
}

const dateExpected = 'The value is not a date. Give one such as 2026-12-31.';
const datetimeExpected = 'The value is not a date and time. Give one such as 2026-12-31T16:30:00Z.';

function splitLocal(
  text: string,
  order: DateOrder | null,
): { readonly date: string; readonly clock: string | undefined } | { readonly reason: string } {
  const match = localForm.exec(text);
  if (!match) return { reason: /:/.test(text) ? datetimeExpected : dateExpected };
  const possible = findDateOrders(text).filter((each) => order === null || each === order);
  const dates = new Set(possible.map((each) => orderDate(match, each)).filter((date) => date !== null));
  const [date] = dates;
  if (date === undefined) return { reason: `${dateExpected} Years need four digits.` };
  if (dates.size > 1) return { reason: 'The date can be read as day/month or month/day. Give it as 2026-12-31.' };
  return { date, clock: match[5] };
}

/**
 * The date if the parts of a text are in this order; null if it does not exist or its year does not have four digits.
 */
function orderDate([, first = '', , second = '', third = '']: RegExpExecArray, order: DateOrder): string | null {
  const [year, month, day] =
    order === 'dmy' ? [third, second, first] : order === 'mdy' ? [third, first, second] : [first, second, third];
  if (year.length !== 4) return null;
  return canonicalDate(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`);
}

function readClock(text: string): string | null {
  const match = clockForm.exec(text.trim());
  if (!match) return null;
  const [, hours = '', minutes = '', seconds = '00', fraction = '', half] = match;
  const hour = Number(hours);
  if (half !== undefined && (hour < 1 || hour > 12)) return null;
  const full = half === undefined ? hour : (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  return `${String(full).padStart(2, '0')}:${minutes}:${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}`;
}

/** @param local a canonical date-time that is meant in the zone. */
function toInstant(local: string, zone: string | null): DateResult {
  if (zone === null || zone === 'UTC') return { value: local };
  const instant = Temporal.PlainDateTime.from(local.slice(0, -1)).toZonedDateTime(zone).toInstant();
  const value = canonicalDatetime(instant.toString({ fractionalSecondDigits: 3 }));
  return value === null ? { reason: 'The date is outside of the years 1 to 9999.' } : { value };
}
