/** The current time and the time zone that days are computed with. */
export interface Calendar {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly zone: string;
}

type Day = Temporal.PlainDate;
/** The first day, and the day after the last one. */
type Days = readonly [Day, Day];
type Unit = 'day' | 'week' | 'month' | 'quarter' | 'year';

/** The periods around the current day by their names. */
export const relativeDays: ReadonlyMap<string, (calendar: Calendar) => Days> = new Map([
  ['today', near('day', 0)],
  ['yesterday', near('day', -1)],
  ['tomorrow', near('day', 1)],
  ...(['Week', 'Month', 'Quarter', 'Year'] as const).flatMap((name) => {
    const unit = name.toLowerCase() as Unit;
    return [
      [`this${name}`, near(unit, 0)],
      [`last${name}`, near(unit, -1)],
      [`next${name}`, near(unit, 1)],
    ] as const;
  }),
]);

/**
 * Compares a day or a time with a period: before (-1), in it (0), or after it (1).
 *
 * A time is compared as its day in the zone; it is only compared exactly if the period is a time too.
 */
export function compareWithPeriod(value: string, isMoment: boolean, period: unknown, calendar: Calendar): number {
  if (typeof period === 'string' && period.includes('T') && isMoment)
    return Math.sign(Date.parse(value) - Date.parse(period));
  const day = isMoment ? toDay(value, calendar) : Temporal.PlainDate.from(value);
  const [start, end] = listPeriodDays(period, calendar);
  if (Temporal.PlainDate.compare(day, start) < 0) return -1;
  return Temporal.PlainDate.compare(day, end) < 0 ? 0 : 1;
}

function toDay(moment: string, { zone }: Calendar): Day {
  return Temporal.Instant.from(moment).toZonedDateTimeISO(zone).toPlainDate();
}

function listPeriodDays(period: unknown, calendar: Calendar): Days {
  if (typeof period === 'string') return writtenDays(period, calendar);
  const { type, number = 1, unit } = period as { type: string; number?: number; unit?: Unit };
  if (type === 'past') return [near(unit!, -number)(calendar)[0], near(unit!, 0)(calendar)[0]];
  if (type === 'next') return [near(unit!, 1)(calendar)[0], near(unit!, number)(calendar)[1]];
  return relativeDays.get(type)!(calendar);
}

function writtenDays(text: string, calendar: Calendar): Days {
  if (text.includes('T')) return whole('day', toDay(text, calendar));
  const year = text.slice(0, 4);
  if (text.includes('Q')) return whole('quarter', Temporal.PlainDate.from(`${year}-${two(Number(text[5]) * 3)}-01`));
  if (text.includes('W')) {
    const inFirst = Temporal.PlainDate.from(`${year}-01-04`);
    return whole('week', inFirst.add({ weeks: Number(text.slice(5)) - 1 }));
  }
  const [, month, day] = text.split('-');
  return whole(
    day ? 'day' : month ? 'month' : 'year',
    Temporal.PlainDate.from(`${year}-${month ?? '01'}-${day ?? '01'}`),
  );
}

/** The unit that is `steps` units away from the current one. */
function near(unit: Unit, steps: number): (calendar: Calendar) => Days {
  return ({ now, zone }) => {
    const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate();
    const [start] = whole(unit, today);
    return whole(unit, start.add(length(unit, steps)));
  };
}

/** The unit that contains a day; weeks begin on Monday. */
function whole(unit: Unit, day: Day): Days {
  const start =
    unit === 'day'
      ? day
      : unit === 'week'
        ? day.subtract({ days: day.dayOfWeek - 1 })
        : day.with({ day: 1, month: { month: day.month, quarter: day.month - ((day.month - 1) % 3), year: 1 }[unit] });
  return [start, start.add(length(unit, 1))];
}

function length(unit: Unit, count: number): Temporal.DurationLike {
  return unit === 'quarter' ? { months: 3 * count } : { [`${unit}s`]: count };
}

const two = (number: number): string => String(number).padStart(2, '0');

/** The period that contains a day or time, in the `format` of a dimension; limited to the years 0001–9999. */
export function formatPeriod(value: string, isMoment: boolean, format: string, { zone }: Calendar): string {
  const local = isMoment
    ? Temporal.Instant.from(value).toZonedDateTimeISO(zone).toPlainDateTime()
    : Temporal.PlainDateTime.from(value);
  const outside = local.year < 1 ? '0001-01-01' : local.year > 9999 ? '9999-12-31T23:00' : null;
  const at = outside === null ? local : Temporal.PlainDateTime.from(outside);
  if (format === 'YYYYQ') return `${four(at.year)}Q${Math.ceil(at.month / 3)}`;
  if (format === 'YYYYW') return `${four(at.yearOfWeek!)}W${two(at.weekOfYear!)}`;
  return at.toString({ smallestUnit: 'minute' }).replace('T', ' ').slice(0, format.length);
}

const four = (number: number): string => String(number).padStart(4, '0');
