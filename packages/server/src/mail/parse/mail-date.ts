const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const clock = String.raw`(\d{1,2})[:.](\d{1,2})(?:[:.](\d{1,2})(?:[.,]\d{1,9})?)?(?:\s*([ap])\.?m\.?(?![a-z]))?`;
const weekday = String.raw`(?:[a-z]{2,10}\.?(?:\s*,\s*|\s+))?`;
const zone = String.raw`([+-]\d{1,2}:?\d{2}\b|(?:gmt|utc?)\s?[+-]\d{1,2}:?\d{2}\b|[a-z]{1,5}\b)`;
/** RFC 5322 with its obsolete forms: `Wed,29 May 02 17:51 +0800`. */
const dayFirst = new RegExp(
  String.raw`^${weekday}(\d{1,2})[\s.,/-]*([a-z]{3})[a-z]*\.?[\s.,/-]*(\d{2,4})[\s,]+(?:at\s+)?${clock}\s*${zone}?`,
  'i',
);
/** asctime and its kin: `Wed May 29 17:51:47 [PDT] 2002 [+0800]`, `May 29, 2002 5:51 pm`. */
const timeBeforeYear = new RegExp(
  String.raw`^${weekday}([a-z]{3})[a-z]*\.?\s+(\d{1,2}),?\s+${clock}\s+(?:${zone}\s+)?(\d{4})\b\s*${zone}?`,
  'i',
);
const yearBeforeTime = new RegExp(
  String.raw`^${weekday}([a-z]{3})[a-z]*\.?\s+(\d{1,2}),?\s+(\d{4})[\s,]+(?:at\s+)?${clock}\s*${zone}?`,
  'i',
);
const iso = new RegExp(String.raw`^(\d{4})-(\d\d)-(\d\d)[T ]\s?${clock}\s*${zone}?`, 'i');

/** Hours that names stand for (RFC 5322, section 4.3, and others that have one meaning); all others are UTC. */
const zones: Readonly<Record<string, number>> = {
  EDT: -4,
  EST: -5,
  CDT: -5,
  CST: -6,
  MDT: -6,
  MST: -7,
  PDT: -7,
  PST: -8,
  AKDT: -8,
  AKST: -9,
  HST: -10,
  WEST: 1,
  BST: 1,
  CET: 1,
  MEZ: 1,
  CEST: 2,
  MESZ: 2,
  EET: 2,
  EEST: 3,
  MSK: 3,
  JST: 9,
  KST: 9,
  AEST: 10,
  AEDT: 11,
  NZST: 12,
  NZDT: 13,
};

/** A date as it is written. */
interface DateParts {
  readonly year: string;
  /** From 0. */
  readonly month: number;
  readonly day: string;
  readonly time: readonly (string | undefined)[];
  readonly zone: string | undefined;
}

/**
 * The Date header as ISO 8601 UTC, or null where it is no date: RFC 5322 with the obsolete forms, asctime, ISO 8601, and what programs write
 * instead as far as it can be read in one way only. Years before 1970 and after 9999 are no dates of mail.
 */
export function parseMailDate(value: string): string | null {
  const parts = readDate(withoutComments(value.slice(0, 1000)).replace(/\s+/g, ' ').trim().slice(0, 100));
  const time = parts ? toTimestamp(parts) : null;
  return time === null || time < 0 || time >= Date.UTC(10_000, 0) ? null : new Date(time).toISOString();
}

function readDate(text: string): DateParts | null {
  let match = dayFirst.exec(text);
  if (match) {
    const [, day, month, year, hour, minute, second, meridiem, offset] = match;
    return { year: year!, month: parseMonth(month!), day: day!, time: [hour, minute, second, meridiem], zone: offset };
  }
  match = timeBeforeYear.exec(text);
  if (match) {
    const [, month, day, hour, minute, second, meridiem, before, year, after] = match;
    return {
      year: year!,
      month: parseMonth(month!),
      day: day!,
      time: [hour, minute, second, meridiem],
      zone: after ?? before,
    };
  }
  match = yearBeforeTime.exec(text);
  if (match) {
    const [, month, day, year, hour, minute, second, meridiem, offset] = match;
    return { year: year!, month: parseMonth(month!), day: day!, time: [hour, minute, second, meridiem], zone: offset };
  }
  match = iso.exec(text);
  if (!match) return null;
  const [, year, month, day, hour, minute, second, meridiem, offset] = match;
  return { year: year!, month: Number(month) - 1, day: day!, time: [hour, minute, second, meridiem], zone: offset };
}

/** RFC 5322 allows comments in comments; one that is not closed goes on to the end. */
function withoutComments(text: string): string {
  let depth = 0;
  let result = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '(') depth += 1;
    else if (character === ')' && depth > 0) depth -= 1;
    else if (depth === 0) result += character;
    if (character === ')') result += ' ';
  }
  return result;
}

const parseMonth = (name: string): number => months.indexOf(name.toLowerCase());

function toTimestamp({ year, month, day, time, zone: offset }: DateParts): number | null {
  const [hour, minute, second, meridiem] = time;
  const fields = [
    fullYear(year),
    month,
    Number(day),
    toHour24(Number(hour), meridiem),
    Number(minute),
    Number(second ?? 0),
  ] as const;
  if (month < 0 || month > 11 || fields[2] < 1 || fields[3] > 23 || fields[4] > 59 || fields[5] > 60) return null;
  if (new Date(Date.UTC(fields[0], month, fields[2])).getUTCMonth() !== month) return null;
  return Date.UTC(...fields) - offsetMinutes(offset) * 60_000;
}

/** Beyond any hour where morning or afternoon does not fit it. */
function toHour24(hour: number, meridiem: string | undefined): number {
  if (meridiem === undefined) return hour;
  if (hour < 1 || hour > 12) return 24;
  return (hour % 12) + (meridiem.toLowerCase() === 'p' ? 12 : 0);
}

/** RFC 5322, section 4.3: 00–49 are 20xx, 50–99 and three digits count from 1900. */
function fullYear(text: string): number {
  const year = Number(text);
  if (text.length === 4) return year;
  return text.length === 2 && year < 50 ? 2000 + year : 1900 + year;
}

function offsetMinutes(text: string | undefined): number {
  if (text === undefined) return 0;
  const digits = /([+-])(\d{1,2}):?(\d\d)$/.exec(text);
  if (!digits) return (zones[text.toUpperCase()] ?? 0) * 60;
  const minutes = Number(digits[2]) * 60 + Number(digits[3]);
  // More than a day is no offset that anybody lives in.
  return minutes > 24 * 60 ? 0 : digits[1] === '-' ? -minutes : minutes;
}
