const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const form =
  /^(?:[a-z]{2,9}\.?,?\s+)?(\d{1,2})[\s-]+([a-z]{3})[a-z]*\.?[\s-]+(\d{4}|\d{2,3})[\s,]+(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\.\d{1,9})?\s*([+-]\d{4}|[a-z]{1,5})?/i;
/** Hours that the names of RFC 5322, section 4.3, stand for; all others are UTC. */
const zones: Readonly<Record<string, number>> = {
  EDT: -4,
  EST: -5,
  CDT: -5,
  CST: -6,
  MDT: -6,
  MST: -7,
  PDT: -7,
  PST: -8,
  BST: 1,
  CET: 1,
  CEST: 2,
};

/**
 * The Date header as ISO 8601 UTC, or null where it is no date: RFC 5322 with the obsolete forms (two digits of a year, names of zones, no
 * seconds), and what else `Date` reads without doubt (ISO 8601). Years before 1970 and after 9999 are no dates of mail.
 */
export function parseMailDate(value: string): string | null {
  const text = value
    .replace(/\([^()]*\)/g, ' ')
    .trim()
    .slice(0, 100);
  const time = rfcTime(text) ?? (/^\d{4}-\d\d-\d\d[T ]/.test(text) ? Date.parse(text) : Number.NaN);
  if (!Number.isFinite(time) || time < 0 || time >= Date.UTC(10_000, 0)) return null;
  return new Date(time).toISOString();
}

function rfcTime(text: string): number | null {
  const match = form.exec(text);
  if (!match) return null;
  const [, day, name, year, hour, minute, second] = match;
  const month = months.indexOf(name!.toLowerCase());
  const fields = [fullYear(year!), month, Number(day), Number(hour), Number(minute), Number(second ?? 0)] as const;
  if (month < 0 || fields[2] < 1 || fields[2] > 31 || fields[3] > 23 || fields[4] > 59 || fields[5] > 60)
    return Number.NaN;
  const time = Date.UTC(...fields);
  if (new Date(Date.UTC(fields[0], month, fields[2])).getUTCMonth() !== month) return Number.NaN;
  return time - offsetMinutes(match[7]) * 60_000;
}

/** RFC 5322, section 4.3: 00–49 are 20xx, 50–99 and three digits count from 1900. */
function fullYear(text: string): number {
  const year = Number(text);
  if (text.length === 4) return year;
  return text.length === 2 && year < 50 ? 2000 + year : 1900 + year;
}

function offsetMinutes(zone: string | undefined): number {
  if (zone === undefined) return 0;
  const digits = /^([+-])(\d\d)(\d\d)$/.exec(zone);
  if (!digits) return (zones[zone.toUpperCase()] ?? 0) * 60;
  const minutes = Number(digits[2]) * 60 + Number(digits[3]);
  // More than a day is no offset that anybody lives in.
  return minutes > 24 * 60 ? 0 : digits[1] === '-' ? -minutes : minutes;
}
