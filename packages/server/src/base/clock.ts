/** The only source of time. Tests inject their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** Milliseconds of a day. */
export const dayMilliseconds = 86_400_000;

export const systemClock: Clock = { now: () => Date.now() };

/** ISO 8601 UTC with milliseconds, years 0001–9999. */
export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
