const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const clock = String.raw`(?<hour>\d{1,2})[:.](?<minute>\d{1,2})(?:[:.](?<second>\d{1,2})(?:[.,]\d{1,9})?)?(?:\s*(?<meridiem>[ap])\.?m\.?(?![a-z]))?`;
const weekday = String.raw`(?:[a-z]{2,10}\.?(?:\s*,\s*|\s+))?`;
const offset = String.raw`[+-]\d{1,2}:?\d{2}\b|(?:gmt|utc?)\s?[+-]\d{1,2}:?\d{2}\b|[a-z]{1,5}\b`;
const zone = `(?<zone>${offset})`;
/** RFC 5322 with its obsolete forms: `Wed,29 May 02 17:51 +0800`. */
const dayFirst = new RegExp(
  String.raw`^${weekday}(?<day>\d{1,2})[\s.,/-]*(?<month>[a-z]{3})[a-z]*\.?[\s.,/-]*(?<year>\d{2,4})[\s,]+(?:at\s+)?${clock}\s*${zone}?`,
  'i',
);
/** asctime and similar forms: `Wed May 29 17:51:47 [PDT] 2002 [+0800]`, `May 29, 2002 5:51 pm`. */
const timeBeforeYear = new RegExp(
  String.raw`^${weekday}(?<month>[a-z]{3})[a-z]*\.?\s+(?<day>\d{1,2}),?\s+${clock}\s+(?:(?<zoneBeforeYear>${offset})\s+)?(?<year>\d{4})\b\s*${zone}?`,
  'i',
);
const yearBeforeTime = new RegExp(
  String.raw`^${weekday}(?<month>[a-z]{3})[a-z]*\.?\s+(?<day>\d{1,2}),?\s+(?<year>\d{4})[\s,]+(?:at\s+)?${clock}\s*${zone}?`,
  'i',
);
const iso = new RegExp(String.raw`^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[T ]\s?${clock}\s*${zone}?`, 'i');

/**
 * Offsets in hours by zone name: those of RFC 5322, section 4.3, and other unambiguous names. Unknown names count as
 * UTC.
 */
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

/** The parts of a date as they are written, by the names of the groups in the patterns. */
type DateParts = Readonly<Record<string, string | undefined>>;

/**
 * Parses a Date header: RFC 5322 with its obsolete forms, asctime, ISO 8601, and other spellings that can be read in only one
 * way. Years before 1970 and after 9999 are refused.
 *
 * @returns ISO 8601 in UTC; null for text that is no date.
 */
export function parseMailDate(value: string): string | null {
  const parts = readDate(withoutComments(value.slice(0, 1000)).replace(/\s+/g, ' ').trim().slice(0, 100));
  const time = parts ? toTimestamp(parts) : null;
  return time === null || time < 0 || time >= Date.UTC(10_000, 0) ? null : new Date(time).toISOString();
}

function readDate(text: string): DateParts | null {
  for (const form of [dayFirst, timeBeforeYear, yearBeforeTime, iso]) {
    const groups = form.exec(text)?.groups;
    if (groups) return groups;
  }
  return null;
}

/** RFC 5322 allows nested comments. A comment that is not closed extends to the end. */
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

/** From 0; -1 for a name of no month. */
function parseMonth(text: string): number {
  return /^\d/.test(text) ? Number(text) - 1 : months.indexOf(text.toLowerCase());
}

/** @returns milliseconds since the Unix epoch; null for a day or time that does not exist. */
function toTimestamp(parts: DateParts): number | null {
  const year = fullYear(parts['year'] ?? '');
  const month = parseMonth(parts['month'] ?? '');
  const day = Number(parts['day']);
  const hour = toHour24(Number(parts['hour']), parts['meridiem']);
  const minute = Number(parts['minute']);
  const second = Number(parts['second'] ?? 0);
  if (month < 0 || month > 11 || day < 1 || hour > 23 || minute > 59 || second > 60) return null;
  if (new Date(Date.UTC(year, month, day)).getUTCMonth() !== month) return null;
  return (
    Date.UTC(year, month, day, hour, minute, second) - offsetMinutes(parts['zone'] ?? parts['zoneBeforeYear']) * 60_000
  );
}

/** The hour from 0 to 23; 24 where `am` or `pm` does not fit the hour. */
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
  // No time zone is more than a day away from UTC.
  return minutes > 24 * 60 ? 0 : digits[1] === '-' ? -minutes : minutes;
}
