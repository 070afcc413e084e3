import type { EventTime } from './invitation.ts';

const dayOptions = { weekday: 'short', day: 'numeric', month: 'long', year: 'numeric' } as const;
// Days are those of the calendar, wherever the reader is.
const dayFormat = new Intl.DateTimeFormat(undefined, { ...dayOptions, timeZone: 'UTC' });
const timeFormat = new Intl.DateTimeFormat(undefined, {
  ...dayOptions,
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
});

/** The time of an event in the time zone of the reader. */
export function formatEventTime(start: EventTime, end: EventTime | null): string {
  const format = start.isDay ? dayFormat : timeFormat;
  const from = new Date(start.iso);
  const to = end && end.isDay === start.isDay ? new Date(end.iso) : null;
  if (Number.isNaN(from.getTime())) return start.iso;
  return to && to > from ? format.formatRange(from, to) : format.format(from);
}
