/** When a user is reminded of a conversation that nobody answers. */

/** The offered numbers of days. */
export const followUpDays = [1, 2, 3, 7, 14] as const;

/** A number of days after the time of sending, ISO 8601. @param sendAt ISO 8601; null: as soon as possible. */
export function getFollowUpTime(days: number, sendAt: string | null): string {
  const time = sendAt === null ? new Date() : new Date(sendAt);
  time.setDate(time.getDate() + days);
  return time.toISOString();
}
