/** Moments as a list says them: the time today, the day this year, else the date. */
const time = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const date = new Intl.DateTimeFormat(undefined, { day: '2-digit', month: '2-digit', year: 'numeric' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'short' });

export function shortTime(iso: string | null): string {
  if (iso === null) return '';
  const at = new Date(iso);
  const now = new Date();
  if (at.toDateString() === now.toDateString()) return time.format(at);
  return (at.getFullYear() === now.getFullYear() ? day : date).format(at);
}

export function fullTime(iso: string | null): string {
  return iso === null ? '' : full.format(new Date(iso));
}
