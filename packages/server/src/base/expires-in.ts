import { invalidDefinition } from '../protocol/api-error.ts';

const durationPattern = /^([1-9]\d{0,3})([hdwmy])$/;
/** The latest time at which a key may expire. */
export const maxExpiryTime = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const hourMilliseconds = 3_600_000;

/**
 * Turns an `expiresIn` duration into the time from which a key is refused (`now >= expiresAt`).
 *
 * Months and years follow the UTC calendar and clamp to the last day: 31 January + `1m` is 28 or 29 February.
 *
 * @param expiresIn `<n>h|d|w|m|y` with n from 1 to 9999, or `never`. `m` is months, not minutes.
 * @param now milliseconds since the Unix epoch.
 * @param member the property of the body that an error names.
 * @returns milliseconds since the Unix epoch, or null for `never`.
 * @throws ApiError `DEFINITION_INVALID` with `details.expiresIn` for another form, or a time after the year 9999.
 * Source: specification, "Authentication" item 8.
 */
export function parseExpiry(expiresIn: unknown, now: number, member = 'expiresIn'): number | null {
  if (expiresIn === 'never') return null;
  const [, count, unit] = (typeof expiresIn === 'string' && durationPattern.exec(expiresIn)) || [];
  if (count === undefined || unit === undefined)
    throw invalidDefinition({ [member]: 'Give <n>h, <n>d, <n>w, <n>m, <n>y with n from 1 to 9999, or never.' });
  const end = addDuration(now, Number(count), unit);
  if (!(end <= maxExpiryTime))
    throw invalidDefinition({ [member]: 'The key would expire after the year 9999. Give a shorter time, or never.' });
  return end;
}

function addDuration(now: number, count: number, unit: string): number {
  if (unit === 'h') return now + count * hourMilliseconds;
  if (unit === 'd') return now + count * 24 * hourMilliseconds;
  if (unit === 'w') return now + count * 7 * 24 * hourMilliseconds;
  return addMonths(now, unit === 'm' ? count : count * 12);
}

function addMonths(now: number, months: number): number {
  const date = new Date(now);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date.getTime();
}
