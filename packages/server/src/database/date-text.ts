import type { DateFormat } from '../protocol/query-request.ts';

type LocalTime = Temporal.PlainDate | Temporal.PlainDateTime;

const pad2 = (number: number): string => String(number).padStart(2, '0');
const pad4 = (number: number): string => String(number).padStart(4, '0');

const formatters: Readonly<Record<DateFormat, (time: LocalTime) => string>> = {
  YYYY: (time) => pad4(time.year),
  YYYYQ: (time) => `${pad4(time.year)}Q${Math.ceil(time.month / 3)}`,
  'YYYY-MM': (time) => `${pad4(time.year)}-${pad2(time.month)}`,
  YYYYW: ({ yearOfWeek = 0, weekOfYear = 0 }) => `${pad4(yearOfWeek)}W${pad2(weekOfYear)}`, // the ISO calendar has both
  'YYYY-MM-DD': (time) => `${pad4(time.year)}-${pad2(time.month)}-${pad2(time.day)}`,
  'YYYY-MM-DD HH': (time) =>
    `${pad4(time.year)}-${pad2(time.month)}-${pad2(time.day)} ${pad2('hour' in time ? time.hour : 0)}`,
};

const minLocalTime = Temporal.PlainDateTime.from('0001-01-01');
const maxLocalTime = Temporal.PlainDateTime.from('9999-12-31T23:59:59.999');

/**
 * The period of a day (zone null) or of a moment, in the same format as PostgreSQL's to_char. Moments outside of the years
 * 0001–9999 in the zone belong to the first or last day of these.
 */
export function formatDateText(value: string, format: DateFormat, zone: string | null): string {
  if (zone === null) return formatters[format](Temporal.PlainDate.from(value));
  const local = Temporal.Instant.from(value).toZonedDateTimeISO(zone).toPlainDateTime();
  if (Temporal.PlainDateTime.compare(local, minLocalTime) < 0) return formatters[format](minLocalTime);
  return formatters[format](Temporal.PlainDateTime.compare(local, maxLocalTime) > 0 ? maxLocalTime : local);
}
