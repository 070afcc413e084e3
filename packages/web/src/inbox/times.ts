/** Formats timestamps for a list: the time for today, the day for this year, else the date. */
const timeFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const dayFormat = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const dateFormat = new Intl.DateTimeFormat(undefined, { day: '2-digit', month: '2-digit', year: 'numeric' });
const fullFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'short' });

export function formatShortTime(iso: string | null): string {
  if (iso === null) return '';
  const date = new Date(iso);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return timeFormat.format(date);
  return (date.getFullYear() === now.getFullYear() ? dayFormat : dateFormat).format(date);
}

export function formatFullTime(iso: string | null): string {
  return iso === null ? '' : fullFormat.format(new Date(iso));
}

const momentFormat = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

/** A time in the near future or past, with its day. */
export function formatMoment(iso: string): string {
  return momentFormat.format(new Date(iso));
}
