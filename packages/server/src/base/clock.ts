/** The only source of time. Tests inject their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** Milliseconds of a day. */
export const dayMilliseconds = 86_400_000;

export const systemClock: Clock = { now: () => Date.now() };

let lastTime = { milliseconds: 0, text: '1970-01-01T00:00:00.000Z' };

/** ISO 8601 UTC with milliseconds, years 0001–9999. The records of one write have the same time, so the last one is cached. */
export function isoTime(milliseconds: number): string {
  if (milliseconds !== lastTime.milliseconds) lastTime = { milliseconds, text: new Date(milliseconds).toISOString() };
  return lastTime.text;
}
