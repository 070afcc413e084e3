import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { canonicalDatetime } from '../schema/types/datetime.ts';

/** The present, and the time zone in which days begin. */
export interface Calendar {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** IANA name or offset, known to exist. */
  readonly zone: string;
}

/** A range of days, without the end, or one moment. */
type Period =
  | { readonly kind: 'days'; readonly start: Temporal.PlainDate; readonly end: Temporal.PlainDate }
  | { readonly kind: 'moment'; readonly instant: string };

/** Names of periods around the current day, by `{type}` and by `{{$date.<type>}}`. */
export const relativePeriods: ReadonlySet<string> = new Set([
  'today',
  'yesterday',
  'tomorrow',
  ...['Week', 'Month', 'Quarter', 'Year'].flatMap((unit) => ['this', 'last', 'next'].map((which) => which + unit)),
]);

const units = ['day', 'week', 'month', 'quarter', 'year'] as const;
type Unit = (typeof units)[number];
const maxUnits = 100_000;

/** The identifier of a time zone that a client names; null if it does not exist. */
export function findZone(name: string): string | null {
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId;
  } catch {
    return null;
  }
}

/**
 * The half-open range of a `$date…` value, `[start, end]`, as a field of days or of moments compares it.
 *
 * A value is a year, month, quarter, ISO week or day (`2026`, `2026-11`, `2026Q4`, `2026W47`, `2026-11-20`), a moment with
 * its zone, or `{type}`: one of {@link relativePeriods}, or `past` and `next` with `number` and `unit`, which mean the whole
 * units before and after the current one.
 *
 * @throws ApiError `FILTER_INVALID`.
 */
export function toRange(value: unknown, isDays: boolean, calendar: Calendar): readonly [string, string] {
  const period = parsePeriod(value, calendar);
  if (period.kind === 'moment') return toInstantRange(period.instant, isDays, calendar);
  if (isDays) return [formatDay(period.start), formatDay(period.end)];
  return [formatStartOfDay(period.start, calendar), formatStartOfDay(period.end, calendar)];
}

/** The range from the start of the first value to the end of the second; a single value is both. */
export function toRangeBetween(value: unknown, isDays: boolean, calendar: Calendar): readonly [string, string] {
  if (!Array.isArray(value)) return toRange(value, isDays, calendar);
  return [toRange(value[0], isDays, calendar)[0], toRange(value[1], isDays, calendar)[1]];
}

function toInstantRange(instant: string, isDays: boolean, { zone }: Calendar): readonly [string, string] {
  if (!isDays) return [instant, formatInstant(Date.parse(instant) + 1)];
  const day = Temporal.Instant.from(instant).toZonedDateTimeISO(zone).toPlainDate();
  return [formatDay(day), formatDay(day.add({ days: 1 }))];
}

function parsePeriod(value: unknown, calendar: Calendar): Period {
  const period =
    typeof value === 'string' ? parseWrittenPeriod(value) : isObject(value) ? resolveRelative(value, calendar) : null;
  if (period === null)
    throw new ApiError(
      'FILTER_INVALID',
      'A date condition takes 2026, 2026-11, 2026Q4, 2026W47, 2026-11-20, a time with its time zone, or an object such as {"type": "today"}.',
    );
  return period;
}

const periodPattern = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?|Q([1-4])|W(\d{2}))?$/;

function parseWrittenPeriod(text: string): Period | null {
  const match = periodPattern.exec(text.trim());
  if (!match) {
    const instant = /[Tt ]\d/.test(text) ? canonicalDatetime(text.trim()) : null;
    return instant === null ? null : { kind: 'moment', instant };
  }
  const [, year, month, day, quarter, week] = match;
  try {
    if (Number(year) < 1) return null;
    const from = (start: Temporal.PlainDate, more: Temporal.DurationLike): Period => daysPeriod(start, start.add(more));
    const date = (m: number, d: number): Temporal.PlainDate =>
      Temporal.PlainDate.from({ year: Number(year), month: m, day: d }, { overflow: 'reject' });
    if (week !== undefined) return toIsoWeek(date(1, 4), Number(week));
    if (quarter !== undefined) return from(date(Number(quarter) * 3 - 2, 1), { months: 3 });
    if (day !== undefined) return from(date(Number(month), Number(day)), { days: 1 });
    return month === undefined ? from(date(1, 1), { years: 1 }) : from(date(Number(month), 1), { months: 1 });
  } catch {
    return null;
  }
}

/** ISO 8601: the first week of a year is the one with 4 January. */
function toIsoWeek(fourth: Temporal.PlainDate, week: number): Period | null {
  const start = fourth.subtract({ days: fourth.dayOfWeek - 1 }).add({ weeks: week - 1 });
  return week >= 1 && start.yearOfWeek === fourth.year ? daysPeriod(start, start.add({ weeks: 1 })) : null;
}

function resolveRelative({ type, number, unit }: Record<string, unknown>, { now, zone }: Calendar): Period | null {
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate();
  if (type === 'past' || type === 'next') {
    const count = typeof number === 'string' && /^\d{1,6}$/.test(number) ? Number(number) : number;
    const isKnownUnit = units.includes(unit as Unit);
    if (!isKnownUnit || !Number.isInteger(count) || (count as number) < 1 || (count as number) > maxUnits) return null;
    const [start, end] = periodAround(today, unit as Unit);
    const length = toDuration(unit as Unit, count as number);
    return type === 'past' ? extendPeriod(start, length, -1) : extendPeriod(end, length, 1);
  }
  if (typeof type !== 'string' || !relativePeriods.has(type)) return null;
  if (type === 'today') return daysPeriod(today, today.add({ days: 1 }));
  if (type === 'yesterday') return daysPeriod(today.subtract({ days: 1 }), today);
  if (type === 'tomorrow') return daysPeriod(today.add({ days: 1 }), today.add({ days: 2 }));
  const which = type.slice(0, 4);
  const named = type.slice(4).toLowerCase() as Unit;
  const [start, end] = periodAround(today, named);
  const one = toDuration(named, 1);
  if (which === 'last') return daysPeriod(start.subtract(one), start);
  return which === 'next' ? daysPeriod(end, end.add(one)) : daysPeriod(start, end);
}

/** The unit that contains a day. Weeks begin on Monday. */
function periodAround(day: Temporal.PlainDate, unit: Unit): [Temporal.PlainDate, Temporal.PlainDate] {
  const starts: Readonly<Record<Unit, () => Temporal.PlainDate>> = {
    day: () => day,
    week: () => day.subtract({ days: day.dayOfWeek - 1 }),
    month: () => day.with({ day: 1 }),
    quarter: () => day.with({ month: Math.floor((day.month - 1) / 3) * 3 + 1, day: 1 }),
    year: () => day.with({ month: 1, day: 1 }),
  };
  const start = starts[unit]();
  return [start, start.add(toDuration(unit, 1))];
}

function toDuration(unit: Unit, count: number): Temporal.DurationLike {
  return unit === 'quarter' ? { months: 3 * count } : { [`${unit}s`]: count };
}

function extendPeriod(from: Temporal.PlainDate, length: Temporal.DurationLike, direction: 1 | -1): Period {
  return direction > 0 ? daysPeriod(from, from.add(length)) : daysPeriod(from.subtract(length), from);
}

function daysPeriod(start: Temporal.PlainDate, end: Temporal.PlainDate): Period {
  return { kind: 'days', start, end };
}

const latest = Date.parse('9999-12-31T23:59:59.999Z');
const earliest = Date.parse('0001-01-01T00:00:00.000Z');

/** Fields hold the years 0001–9999, so ranges are clamped to these. */
function formatDay(day: Temporal.PlainDate): string {
  if (day.year > 9999) return '9999-12-31~'; // after every day
  return day.year < 1 ? '0001-01-01' : day.toString();
}

function formatStartOfDay(day: Temporal.PlainDate, { zone }: Calendar): string {
  return formatInstant(day.toZonedDateTime(zone).epochMilliseconds);
}

function formatInstant(instant: number): string {
  if (instant > latest) return 'infinity'; // after every time: a special value of PostgreSQL, which also sorts after all digits as text
  return new Date(Math.max(earliest, instant)).toISOString();
}
