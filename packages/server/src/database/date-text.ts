import type { DateFormat } from '../protocol/query-request.ts';

type Local = Temporal.PlainDate | Temporal.PlainDateTime;

const two = (number: number): string => String(number).padStart(2, '0');
const four = (number: number): string => String(number).padStart(4, '0');

const forms: Readonly<Record<DateFormat, (at: Local) => string>> = {
  YYYY: (at) => four(at.year),
  YYYYQ: (at) => `${four(at.year)}Q${Math.ceil(at.month / 3)}`,
  'YYYY-MM': (at) => `${four(at.year)}-${two(at.month)}`,
  YYYYW: (at) => `${four(at.yearOfWeek!)}W${two(at.weekOfYear!)}`,
  'YYYY-MM-DD': (at) => `${four(at.year)}-${two(at.month)}-${two(at.day)}`,
  'YYYY-MM-DD HH': (at) => `${four(at.year)}-${two(at.month)}-${two(at.day)} ${two('hour' in at ? at.hour : 0)}`,
};

const first = Temporal.PlainDateTime.from('0001-01-01');
const last = Temporal.PlainDateTime.from('9999-12-31T23:59:59.999');

/**
 * The period in which a day (without a zone) or a moment lies, as the other engine's to_char writes it. What lies outside
 * of the years 0001–9999 in the zone belongs to their first or last day.
 */
export function dateText(value: string, format: DateFormat, zone: string | null): string {
  if (zone === null) return forms[format](Temporal.PlainDate.from(value));
  const local = Temporal.Instant.from(value).toZonedDateTimeISO(zone).toPlainDateTime();
  if (Temporal.PlainDateTime.compare(local, first) < 0) return forms[format](first);
  return forms[format](Temporal.PlainDateTime.compare(local, last) > 0 ? last : local);
}
