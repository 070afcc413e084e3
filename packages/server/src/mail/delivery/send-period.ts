import { mailLimits } from '../../protocol/mail-limits.ts';

/**
 * Whether a time is too far ahead for a message or campaign, or in the past. A time that has just passed is accepted, because clients
 * whose clock is slow send it for "now".
 */
export function isOutsideSendPeriod(time: string, now: number): boolean {
  const ahead = Date.parse(time) - now;
  return ahead > mailLimits.sendAheadMilliseconds || ahead < -mailLimits.sendLateMilliseconds;
}
