/** Times at which a message can be sent later, in the local time zone. */

export interface SuggestedTime {
  readonly name: 'evening' | 'morning' | 'monday';
  readonly at: Date;
}

/** Milliseconds. The server accepts times of about a year. */
const maxAhead = 365 * 86_400_000;

/** This evening if it is not evening yet, tomorrow morning, and Monday morning if that is another day. */
export function suggestTimes(now: Date): readonly SuggestedTime[] {
  const atHour = (days: number, hour: number): Date =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour);
  const evening = atHour(0, 18);
  const daysToMonday = (8 - now.getDay()) % 7 || 7;
  return [
    ...(evening > now ? [{ name: 'evening' as const, at: evening }] : []),
    { name: 'morning', at: atHour(1, 8) },
    ...(daysToMonday > 1 ? [{ name: 'monday' as const, at: atHour(daysToMonday, 8) }] : []),
  ];
}

/** The value of an input of type `datetime-local`, to the minute. */
export function toLocalText(time: Date): string {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** @returns the time, or what is wrong with it. */
export function parseLocalTime(text: string, now: number): Date | 'invalid' | 'past' | 'tooLate' {
  const time = new Date(text);
  if (text === '' || Number.isNaN(time.getTime())) return 'invalid';
  if (time.getTime() <= now) return 'past';
  return time.getTime() > now + maxAhead ? 'tooLate' : time;
}
