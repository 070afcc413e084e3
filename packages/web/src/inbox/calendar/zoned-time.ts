/**
 * The instant of a local time in a time zone of the IANA database, for calendars that name a zone and do not define it.
 *
 * @param local a date and time without a zone, such as `2026-03-01T09:00:00`.
 * @returns ISO 8601 in UTC; null if the zone is not known.
 */
export function zonedTime(local: string, zone: string): string | null {
  const wanted = Date.parse(`${local}Z`);
  if (zone === '' || Number.isNaN(wanted)) return null;
  try {
    const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset', year: 'numeric' });
    const readOffset = (time: number): number => {
      const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? '';
      const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
      return sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
    };
    // The offset at the first estimate is wrong near a change of the clocks, so it is read again at the result.
    const estimate = wanted - readOffset(wanted);
    return new Date(wanted - readOffset(estimate)).toISOString();
  } catch {
    return null;
  }
}
